"""Reranking by the token vectors that are kept: what is missing is made now, and written behind the search's back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import anyio
import structlog

from elf.core.batches import batches
from elf.providers.port import LateInteraction, LateScore
from elf.providers.token_vectors import TokenVectors
from elf.search.token_store import LONG_WORDS, TokenRow

# Missing token vectors are made so many texts, or about so many words, at a time, until half of the time is over.
PART_TEXTS: Final = 16
PART_WORDS: Final = 1000
SHARE: Final = 0.5

log = structlog.get_logger()


class LateDocument(NamedTuple):
    """A chunk to compare with a query, its token vectors if they are kept, and its handicap: see LateInteraction."""

    chunk_id: UUID
    text: str
    words: int
    handicap: float
    kept: TokenVectors | None


class LateReranker:
    """Scores chunks by the token vectors of their own texts, within a budget of words.

    It goes to those of up to LONG_WORDS words and then to longer ones, each from the best on, as they are read.
    `later` is handed token vectors that were missing and must not wait for their being stored.
    """

    def __init__(
        self,
        *,
        late: LateInteraction,
        max_words: int,
        later: Callable[[Sequence[TokenRow]], object],
    ) -> None:
        self._late = late
        self._max_words = max_words
        self._later = later

    async def scores(self, query: str, documents: Sequence[LateDocument]) -> list[LateScore | None] | None:
        """Return a score for each document, None for those beyond the budget or the time; None when there is none."""
        if not documents:
            return []
        wanted = list(self._within_budget(documents))
        vectors = {one.chunk_id: one.kept for one in wanted if one.kept is not None}
        vectors |= await self._made([one for one in wanted if one.kept is None])
        compared = [one for one in wanted if one.chunk_id in vectors]
        if not compared:
            return None
        scores = await self._late.score(
            query, [vectors[one.chunk_id] for one in compared], [one.handicap for one in compared]
        )
        by_chunk = dict(zip((one.chunk_id for one in compared), scores, strict=True))
        return [by_chunk.get(one.chunk_id) for one in documents]

    def _within_budget(self, documents: Sequence[LateDocument]) -> Iterator[LateDocument]:
        words = 0
        for one in sorted(documents, key=lambda one: one.words > LONG_WORDS):
            if words >= self._max_words:
                return
            yield one
            words += one.words

    async def _made(self, missing: Sequence[LateDocument]) -> dict[UUID, TokenVectors]:
        """Make token vectors for as long as there is time, and hand them on to be stored."""
        if not missing:
            return {}
        made: list[TokenRow] = []
        now = anyio.current_time()
        until = now + (anyio.current_effective_deadline() - now) * SHARE
        for part in batches(missing, lambda one: one.words, most_size=PART_WORDS, most=PART_TEXTS):
            if anyio.current_time() >= until:
                log.warning("token_vectors_missing", documents=len(missing) - len(made))
                break
            found = await self._late.encode([one.text for one in part])
            made += [
                TokenRow(one.chunk_id, one.text, vectors) for one, vectors in zip(part, found, strict=True)
            ]
        if made:
            self._later(made)
        return {row.chunk_id: row.vectors for row in made}
