"""Vectors of queries, made as those of memories are."""

from __future__ import annotations

from typing import Final

import structlog

from elf.core.errors import Unavailable
from elf.families.graph.recall.place import Vector
from elf.indexing.embedding import TextEmbedder

EMBEDDED_CHARS: Final = 4_096
"""How much of a query is embedded: a message may be long, and who asks waits for it."""

log = structlog.get_logger()


class EmbeddedQueries:
    """Embeds queries; a long one is cut into windows, and its vector is their mean."""

    def __init__(self, texts: TextEmbedder) -> None:
        self._texts = texts

    is_quick = False
    """The model may be another's, and a thread is not to wait for it."""

    @property
    def version(self) -> str:
        return self._texts.version

    async def of(self, query: str) -> Vector | None:
        """Return the vector of a query; None where the model is away or finds no direction."""
        try:
            (embedded,) = await self._texts.embed([query[:EMBEDDED_CHARS]])
        except Unavailable as error:
            log.warning("graph.query_not_embedded", error=type(error).__name__)
            return None
        return None if embedded is None else embedded.unit_pooled
