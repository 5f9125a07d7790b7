"""Finding entries for somebody else who compares them: as they were found, by a vector that was made already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from elf.families.conversations.finding.by_words import WordSearch
from elf.families.conversations.finding.candidates import Candidates
from elf.families.conversations.finding.hits import MOST
from elf.families.conversations.finding.passages import Passages
from elf.families.conversations.finding.ranking import MOST_WAITING, Found, found_waiting
from elf.families.conversations.finding.reach import Reach, widened
from elf.index.port import Vector
from elf.search.fuse import Candidate
from elf.search.retrieve import CandidateRetrieval
from elf.search.stages import Stages

Embedded: TypeAlias = Callable[[], Awaitable[Vector | None]]
"""Returns the vector of a query as soon as it is there."""

WIDER: Final = 2  # times as many candidates are read each time that those read before were too few


class BareSearch:
    """Ranks entries by the score of their best passage, which is how well the index or Postgres found it."""

    def __init__(
        self, *, retrieval: CandidateRetrieval, passages: Passages, words: WordSearch, candidates: int
    ) -> None:
        self._retrieval = retrieval
        self._passages = passages
        self._words = words
        self._candidates = Candidates(passages, words)
        self._depth = candidates

    async def best(self, reach: Reach, query: str, embedded: Embedded, *, limit: int) -> list[Found]:
        """Return up to `limit` entries, each by its best passage, best first. Raises Unavailable."""
        # Before the index is asked: what gets there meanwhile is then found twice, not never.
        unknown = await self._words.waiting(reach, query, limit=MOST_WAITING)
        found = await self._found(reach, query, embedded, limit)
        known = {one.row["entry_id"] for one in found}
        found += [found_waiting(row) for row in unknown if row["entry_id"] not in known]
        return sorted(found, key=_order, reverse=True)[:limit]

    async def _found(self, reach: Reach, query: str, embedded: Embedded, limit: int) -> list[Found]:
        """Return what the index names, with a deeper look where the first has too little that may be found."""
        where, found = await self._passages.where(reach), list[Found]()
        look = partial(self._retrieval.retrieve_by, await embedded())
        for asked, depth in ((widened(where) or where, max(self._depth, limit)), (where, MOST)):
            named = await self._candidates.named(reach, query, asked, look, Stages(), limit=depth)
            found = await self._vouched(reach, _best_of_each(named.candidates), limit)
            if len(found) >= limit or named.is_all:
                break
        return found

    async def _vouched(self, reach: Reach, named: Sequence[Candidate], limit: int) -> list[Found]:
        """Return the first so many that may be found, and read not many more."""
        found: list[Found] = []
        portion = limit
        while named and len(found) < limit:
            found += await self._candidates.vouched(reach, named[:portion], with_tokens=False)
            named, portion = named[portion:], WIDER * portion
        return found[:limit]


def _best_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the first candidate of each entry."""
    best: dict[object, Candidate] = {}
    for one in candidates:
        best.setdefault(one.owner_id, one)
    return list(best.values())


def _order(found: Found) -> tuple[object, ...]:
    """The greater, the better; equal scores are in favour of what was said later."""
    return found.retrieval, found.row["said_at"], found.row["entry_id"]
