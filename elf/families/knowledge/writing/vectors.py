"""Vectors of memories: one each, of the model that is configured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio
import structlog
from pgvector import Vector

from elf.core.errors import ProviderUnavailable, Unavailable
from elf.families.knowledge.rules.searchable_text import without_nul
from elf.indexing.embedding import TextEmbedder
from elf.providers.port import Embedder, Matrix

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
    """Embeds whole memories: a long one is cut into windows, and its vector is their mean, scaled to length 1.

    `patience_s` tells how long what is stored in any case waits for a call of the model; None: as long as it takes.
    """

    def __init__(self, texts: TextEmbedder, *, patience_s: Callable[[], float | None] = lambda: None) -> None:
        self._texts = texts
        self._patience_s = patience_s

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
        """Return the vectors of texts that are to be stored in any case: none when the model is away, or too slow."""
        hasty = replace(self._texts, embedder=_Hasty(self._texts.embedder, self._patience_s))
        try:
            return Embedded(await MemoryEmbedder(hasty).embed(texts), is_away=False)
        except Unavailable as error:
            log.warning("knowledge.embedding_away", texts=len(texts), error=type(error).__name__)
            return Embedded([None] * len(texts), is_away=True)


class _Hasty:
    """The Embedder port around another one, which gives each call so many seconds."""

    def __init__(self, inner: Embedder, patience_s: Callable[[], float | None]) -> None:
        self._inner = inner
        self._patience_s = patience_s

    @property
    def version(self) -> str:
        return self._inner.version

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts as the other one does. Raises ProviderUnavailable when that takes too long."""
        try:
            with anyio.fail_after(self._patience_s()):
                return await self._inner.embed(texts)
        except TimeoutError:
            raise ProviderUnavailable("the embedding model is too slow to be waited for") from None
