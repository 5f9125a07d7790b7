"""What may answer a search: what the index names, as far as Postgres vouches for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from elf.families.conversations.finding.by_words import WordSearch
from elf.families.conversations.finding.passages import Passages
from elf.families.conversations.finding.ranking import Found
from elf.families.conversations.finding.reach import Reach
from elf.families.conversations.rules.words import telling_words_of
from elf.index.port import IndexFilter, IndexQuery, LegHit, QueryResult
from elf.search.fuse import Candidate
from elf.search.retrieve import Ask, Retrieved
from elf.search.stages import Stages

Look: TypeAlias = Callable[[Ask, Stages], Awaitable[Retrieved]]
"""One of the ways in which a CandidateRetrieval looks."""


class Candidates:
    """Has candidates named, and reads them. While the index is away words of Postgres name them."""

    def __init__(self, passages: Passages, words: WordSearch) -> None:
        self._passages = passages
        self._words = words

    async def named(
        self, reach: Reach, query: str, where: IndexFilter, look: Look, stages: Stages, *, limit: int
    ) -> Retrieved:
        """Return what the index names. Raises Unavailable, and TimeoutError for its stages."""

        async def by_words(queries: Sequence[IndexQuery]) -> list[QueryResult]:
            words = {word: None for one in queries for word in telling_words_of(one.text or "")}
            found = await self._words.best(reach, list(words), joined="|", limit=limit)
            # No chunks: each stands for its entry, and is read as one.
            return [QueryResult([], [LegHit(hit.entry_id, hit.entry_id, hit.score) for hit in found])]

        return await look(
            Ask(query=query, where=where, limit=limit, settled=_not_waiting, exactly=by_words), stages
        )

    async def vouched(
        self, reach: Reach, candidates: Sequence[Candidate], *, with_tokens: bool
    ) -> list[Found]:
        """Return those of the candidates that may be found, in their order."""
        chunks = [one.point_id for one in candidates if one.point_id != one.owner_id]
        entries = [one.point_id for one in candidates if one.point_id == one.owner_id]
        rows: Mapping[UUID, Mapping[str, Any]] = {
            **await self._passages.read(reach, chunks, with_tokens=with_tokens),
            **await self._passages.beginnings(reach, entries),
        }
        return [
            Found(one.point_id, row, one.score)
            for one in candidates
            if (row := rows.get(one.point_id)) is not None
        ]


async def _not_waiting() -> None:
    """What the index does not know yet is found in Postgres."""
