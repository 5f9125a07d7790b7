"""Another embedding model, whose vectors have another length: on an empty database, and on one that holds vectors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat, running_chat
from tests.system.fake_model import point_embedding
from tests.system.fork_server import run_elf
from tests.system.service import RunningService, note, search_body, wait_for, write_config

TENANT = "harbour"


def of_length(length: int) -> Any:
    """A model whose vectors are bags of words of this length."""

    def vector(text: str) -> list[float]:
        words = [
            np.random.default_rng(list(word.encode())).standard_normal(length)
            for word in re.findall(r"\w+", text.lower())
        ]
        return list(map(float, np.sum(words or [np.ones(length)], axis=0)))

    def embed(body: dict[str, Any]) -> tuple[int, Any]:
        data = [{"index": place, "embedding": vector(text)} for place, text in enumerate(body["input"])]
        return 200, {"object": "list", "data": data}

    return embed


def change(config: Path, model: FakeChat, length: int) -> None:
    model.script(of_length(length))
    text = config.read_text(encoding="utf-8")
    for key in ("vector_dim", "dimensions"):
        text = re.sub(rf"(?m)^{key} = \d+", f"{key} = {length}", text)
    config.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("url", ['"edge:.elf/index"', '"pgvector:"'])
def test_an_empty_database_takes_another_length_and_one_with_vectors_refuses_it(url: str) -> None:
    with fresh_folder() as folder, running_chat() as model:
        config = write_config(folder, url=url)
        point_embedding(config, model.api_base, timeout_ms=10_000)
        for length in (384, 1024):
            change(config, model, length)
            with RunningService(config, name=f"of-{length}") as service:
                assert service.client.get("/ready").status_code == 200
        with RunningService(config, name="filled") as service:
            service.add(TENANT, note("The ferry leaves at noon", key="ferry"))
            body = {"tenant_id": TENANT, "subject": "Ana", "predicate": "home", "content": "Oslo"}
            assert service.client.post("/v1/knowledge/facts", json=body).status_code == 200
            asked = {"tenant_id": TENANT, "query": "Oslo", "mode": "semantic"}
            found = service.client.post("/v1/knowledge/search", json=asked).json()
            assert [one["content"] for one in found["items"]] == ["Oslo"]
            assert found["degraded"] == []
            wait_for(
                lambda: service.post("search", search_body(TENANT, "ferry at noon")).json()["items"],
                "the note is found",
            )
        change(config, model, 384)
        refused = run_elf("up", "-c", config, timeout=120)
        assert refused.returncode != 0
        assert "the database holds vectors of 1024 dimensions" in refused.stderr
