"""Late interaction for tests: a token a word, whose vector is its own, so that a word is like itself alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio
import numpy as np
from blake3 import blake3

from elf.providers.local.rerank import QueryTokens, calibrated, likeness
from elf.providers.port import LateScore
from elf.providers.token_vectors import TokenVectors, pack

DIMENSIONS = 64


def tokens_of(text: str) -> TokenVectors:
    words = text.lower().replace("?", " ").replace(".", " ").split()
    rows = [
        np.random.default_rng(int.from_bytes(blake3(word.encode()).digest(8))).standard_normal(DIMENSIONS)
        for word in words
    ]
    hidden = np.array([rows], dtype=np.float32).reshape(1, len(rows), DIMENSIONS)
    return pack(hidden, [list(range(len(rows)))])[0]


class FakeLate:
    """The LateInteraction port; remembers every text that it encoded."""

    version = "fake:1"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.before_answer: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint

    async def encode(self, texts: Sequence[str]) -> list[TokenVectors]:
        self.texts += texts
        await self.before_answer()
        return [tokens_of(text) for text in texts]

    async def score(
        self, query: str, documents: Sequence[TokenVectors], handicaps: Sequence[float]
    ) -> list[LateScore]:
        await anyio.lowlevel.checkpoint()
        words = tokens_of(query).unpack()
        found = likeness(QueryTokens(words, np.ones(len(words), dtype=np.float32)), documents)
        apart = found.told_apart
        scores = calibrated(apart), calibrated(apart - np.asarray(handicaps, dtype=np.float32))
        return [LateScore(*map(float, row)) for row in zip(*scores, found.plain, strict=True)]
