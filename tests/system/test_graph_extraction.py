"""A chat model in the config reads the files that are dropped for the graph, and the rules do while it is away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat, point_extractor, running_chat, saying
from tests.system.service import RunningService, wait_for, write_config

PLACE = {"tenant_id": "acme", "orchestrator_id": "planner"}
QUOTE = "Contoso will be billed by the hour from now on."


@pytest.fixture(scope="module")
def chat() -> Iterator[FakeChat]:
    with running_chat() as chat:
        yield chat


@pytest.fixture(scope="module")
def service(chat: FakeChat, model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        point_extractor(config, chat.api_base, timeout_ms=5000)
        with RunningService(config) as service:
            yield service


def dropped(service: RunningService, name: str, text: str) -> dict[str, Any]:
    """Drop a file, and return its manifest."""
    said = {**PLACE, "message_id": "m", "conversation_id": "c", "text": "Hello."}
    assert service.client.post("/v1/graph/writeback/transcript", json=said).is_success
    ingest = service.config.parent / ".elf" / "graph" / "acme" / "planner" / "memory" / "ingest"
    (ingest / name).write_text(text)
    manifest = ingest / "processed" / f"{name}.processed.json"
    wait_for(
        lambda: service.client.post("/v1/graph/ingest/run", json=PLACE).is_success and manifest.exists(),
        "the file is taken in",
    )
    told: dict[str, Any] = json.loads(manifest.read_text())
    return told


def test_what_a_model_quotes_is_kept_and_what_it_makes_up_is_skipped(
    service: RunningService, chat: FakeChat
) -> None:
    proposed = [{"type": "Decision", "quote": QUOTE}, {"type": "Fact", "quote": "Contoso is rich."}]
    chat.script(lambda body: saying(json.dumps({"statements": proposed})))
    manifest = dropped(service, "a.md", f"{QUOTE} Nobody objected.")
    assert (manifest["extractor"], len(manifest["skipped"])) == ("chat", 1)
    assert len(chat.asked) == 1
    listed = service.client.get("/v1/graph/memories", params=PLACE | {"source_type": "ingest_file"}).json()
    assert {one["type"]: one["content"] for one in listed["items"]} == {
        "Decision": QUOTE, "Observation": f"{QUOTE} Nobody objected.",
    }  # fmt: skip


def test_while_the_model_is_away_the_rules_go_on(service: RunningService, chat: FakeChat) -> None:
    chat.script(lambda body: (503, {"error": {"message": "overloaded"}}))
    manifest = dropped(service, "b.md", "We decided to use Postgres.")
    assert manifest["extractor"] == "rules"
    assert manifest["memoriesWritten"] == 2
