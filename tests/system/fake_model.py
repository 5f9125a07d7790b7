"""An embedding model behind a real socket: a `FakeChat` that is scripted with `embed`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tests.system.fake_chat import FakeChat

DIMENSIONS = 384
# What a model answers that is away. A call is not tried again after a pause that long: none goes on until the model is
# back, when it might be cut off and its texts be asked for twice.
AWAY = (503, {"error": {"message": "overloaded"}}, {"Retry-After": "60"})


def embedding(text: str) -> list[float]:
    """A bag of words: texts that share words are close, and every text has a vector of length 1."""
    vector = np.zeros(DIMENSIONS)
    for word in re.findall(r"\w+", text.lower()):
        vector += np.random.default_rng(list(word.encode())).standard_normal(DIMENSIONS)
    return list((vector / np.linalg.norm(vector)).tolist())


def embed(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer a request for embeddings."""
    data = [{"index": place, "embedding": embedding(text)} for place, text in enumerate(body["input"])]
    return 200, {"object": "list", "data": data}


def embedded_texts(model: FakeChat) -> list[str]:
    """What the model was asked to embed since it was scripted."""
    return [text for body in model.asked for text in body["input"]]


def point_embedding(config: Path, api_base: str, *, timeout_ms: int = 10_000) -> None:
    """Make the embedding model of a config file that of `api_base`."""
    head, table, rest = config.read_text(encoding="utf-8").partition("[providers.embedding]\n")
    changes = {"api_base": f'"{api_base}"', "path": '"/embeddings"', "timeout_ms": str(timeout_ms)}
    for key, value in changes.items():
        rest, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", rest, count=1, flags=re.MULTILINE)
        assert count == 1
    config.write_text(head + table + rest, encoding="utf-8")
