"""Late interaction with a local model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elf.providers.local.encoder import Encoder
from elf.providers.local.rerank import calibrated, likeness
from elf.providers.port import LateScore
from elf.providers.token_vectors import TokenVectors


class LocalLateInteraction:
    """The LateInteraction port over an Encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def version(self) -> str:
        return self._encoder.model.tokens_version(self._encoder.words_per_text)

    async def encode(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of each text."""
        return await self._encoder.tokens(texts)

    async def score(
        self, query: str, documents: Sequence[TokenVectors], handicaps: Sequence[float]
    ) -> list[LateScore]:
        """Score documents, in their order; see the port."""
        (tokens,) = await self._encoder.tokens([query])
        return await self._encoder.run(lambda: self._score(query, tokens, documents, handicaps))

    def _score(
        self,
        query: str,
        tokens: TokenVectors,
        documents: Sequence[TokenVectors],
        handicaps: Sequence[float],
    ) -> list[LateScore]:
        found = likeness(self._encoder.words(query, tokens), documents)
        handicapped = found.told_apart - np.asarray(handicaps, dtype=np.float32)
        columns = (calibrated(found.told_apart), calibrated(handicapped), found.plain)
        return [LateScore(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
