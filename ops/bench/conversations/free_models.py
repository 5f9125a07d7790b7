"""Models that cost next to nothing, behind a socket in a process of their own: a bag of words, and a reranker that
leaves everything in its order.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import hypercorn
import hypercorn.asyncio
import numpy as np
import numpy.typing as npt

from elf.providers.local.wire import JsonApp

DIMENSIONS = 384
_WORD = re.compile(r"\w+")


@cache
def _direction(word: str) -> npt.NDArray[np.float32]:
    return np.random.default_rng(list(word.encode())).standard_normal(DIMENSIONS).astype(np.float32)


@cache  # whoever measures with vectors that are there already asks for each once before
def _vector(text: str) -> str:
    total = np.sum([_direction(word) for word in _WORD.findall(text.lower())], axis=0)
    return base64.b64encode((total / np.linalg.norm(total)).astype("<f4").tobytes()).decode()


async def _embeddings(content: bytes) -> object:
    texts = json.loads(content)["input"]
    return {"data": [{"index": place, "embedding": _vector(text)} for place, text in enumerate(texts)]}


async def _rerank(content: bytes) -> object:
    """Leave documents in their order."""
    count = len(json.loads(content)["documents"])
    return {"results": [{"index": place, "relevance_score": 1.0 - place / count} for place in range(count)]}


def _serve(listening: socket.socket) -> None:
    config = hypercorn.Config()
    config.bind = [f"fd://{listening.fileno()}"]
    app = JsonApp({"/v1/embeddings": _embeddings, "/v1/rerank": _rerank})
    asyncio.run(hypercorn.asyncio.serve(app, config))  # type: ignore[arg-type]


@contextmanager
def free_models() -> Iterator[str]:
    """Start them and yield their address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        process = get_context("fork").Process(target=_serve, args=(listening,))
        process.start()
    try:
        yield address
    finally:
        process.terminate()
        process.join()


def point(config: Path, address: str) -> Path:
    """Make a config embed and rerank with the models at an address."""
    text = config.read_text(encoding="utf-8")
    for table in ("embedding", "rerank"):
        head, name, rest = text.partition(f"[providers.{table}]\n")
        assert name, f"the config has no model for {table}"
        text = head + name + rest.replace('api_base = "local:"', f'api_base = "{address}"', 1)
    config.write_text(text, encoding="utf-8")
    return config
