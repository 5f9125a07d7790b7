"""A local model as a reranker of any texts, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio

from elf.config.model import RerankProvider
from elf.core.errors import ProviderUnavailable
from elf.providers.calls import Calls
from elf.providers.local.embedder import check_characters
from elf.providers.local.encoder import Encoder
from elf.providers.local.rerank import calibrated, likeness
from elf.providers.token_vectors import TokenVectors


class LocalReranker:
    """The Reranker port over an Encoder; each text whose tokens it has not seen lately costs a pass of the model."""

    def __init__(self, config: RerankProvider, encoder: Encoder, calls: Calls) -> None:
        self._timeout_s = config.timeout_ms / 1000
        self._encoder = encoder
        self._calls = calls

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score of 0 to 1 a document, aligned to `documents`."""
        if not documents:
            return []
        check_characters([query, *documents])
        with self._calls.measured():
            with anyio.move_on_after(self._timeout_s):
                tokens, *others = await self._encoder.tokens([query, *documents])
                return await self._encoder.run(partial(self._scores, query, tokens, others))
            raise ProviderUnavailable(f"{self._calls.label} gave no answer: out of time")

    def _scores(self, query: str, tokens: TokenVectors, documents: Sequence[TokenVectors]) -> list[float]:
        found = likeness(self._encoder.words(query, tokens), documents)
        scores: list[float] = calibrated(found.told_apart).tolist()
        return scores
