"""Vectors of memories: one each, of the model that is configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from pgvector import Vector

from elf.core.errors import Unavailable
from elf.families.knowledge.rules.searchable_text import without_nul
from elf.indexing.embedding import TextEmbedder

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of texts in their order, None for one that got none. `is_away` when the model did not answer."""

    vectors: Sequence[Vector | None]
    is_away: bool

    @property
    def degraded(self) -> list[str]:
        return ["embedding"] if self.is_away else []


class MemoryEmbedder:
    """Embeds whole memories: a long one is cut into windows, and its vector is their mean, scaled to length 1."""

    def __init__(self, texts: TextEmbedder) -> None:
        self._texts = texts

    @property
    def version(self) -> str:
        """The model as `provider:model:dimensions`."""
        return self._texts.version

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector for each text, None where the model gave none that counts. Raises as the provider does."""
        found = await self._texts.embed_in_turn([without_nul(text) or " " for text in texts], {})
        pooled = [None if one is None else one.unit_pooled for one in found]
        return [None if vector is None else Vector(vector) for vector in pooled]

    async def embed_if_there(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of texts that are to be stored in any case: none when the model is away."""
        try:
            return Embedded(await self.embed(texts), is_away=False)
        except Unavailable as error:
            log.warning("knowledge.embedding_away", texts=len(texts), error=type(error).__name__)
            return Embedded([None] * len(texts), is_away=True)
