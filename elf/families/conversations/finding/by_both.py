"""Finding entries by words and by meaning, through the stages that all searches share.

The best candidates are compared with the query; behind them come those of a deeper look, as they were found, where a
page needs more. What the index does not have yet is looked for in Postgres, so that nothing waits to be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from elf.families.conversations.finding.by_words import WordSearch
from elf.families.conversations.finding.candidates import Candidates
from elf.families.conversations.finding.hits import MOST, Hit, Hits, best_of_each
from elf.families.conversations.finding.passages import Passages
from elf.families.conversations.finding.ranking import MOST_WAITING, Found, RankingRules, found_waiting
from elf.families.conversations.finding.reach import Reach, widened
from elf.index.port import IndexFilter
from elf.search.reranking import Reranking, RerankScore, scores_in_time
from elf.search.retrieve import CandidateRetrieval, Retrieved
from elf.search.stages import Stages

WIDER: Final = 2  # times as many candidates, where some are those of others


class BothWays:
    """Ranks what the index finds by words and meaning."""

    def __init__(
        self,
        *,
        retrieval: CandidateRetrieval,
        passages: Passages,
        words: WordSearch,
        reranking: Reranking,
        rules: RankingRules,
        candidates: int,
    ) -> None:
        self._retrieval = retrieval
        self._passages = passages
        self._words = words
        self._reranking = reranking
        self._rules = rules
        self._candidates = Candidates(passages, words)
        self._depth = candidates

    async def page(
        self, reach: Reach, query: str, *, grouped: bool, offset: int, limit: int, stages: Stages
    ) -> Hits:
        """Return a page of what fits best. Raises TimeoutError when that takes too long."""
        with stages.stage("waiting"):
            where = await self._passages.where(reach)
            # Before the index is asked: what gets there meanwhile is then found twice, not never.
            waiting = await self._words.waiting(reach, query, limit=MOST_WAITING)
        retrieved, found = await self._candidates_of(reach, query, where, stages)
        ranked = await self._ranked(query, retrieved, found, waiting, stages)
        best = best_of_each(ranked, grouped=grouped)
        is_all = retrieved.is_all and len(waiting) < MOST_WAITING
        if len(best) <= offset + limit and not is_all:
            deeper = await self._deeper(reach, query, where, retrieved, ranked, stages)
            best = best_of_each([*ranked, *deeper], grouped=grouped)
        page = best[offset : offset + limit]
        return Hits(page, has_more=len(best) > offset + limit, degraded=retrieved.degraded)

    async def _candidates_of(
        self, reach: Reach, query: str, where: IndexFilter, stages: Stages
    ) -> tuple[Retrieved, list[Found]]:
        """Return the candidates as they were retrieved, and those of them that may be found.

        One who sees much of a tenant's trees finds enough among the best of all; if not, only these are asked for.
        """
        most = self._depth
        if (wide := widened(where)) is not None:
            retrieved = await self._retrieved(reach, query, wide, WIDER * most, stages)
            found = await self._found(reach, retrieved, stages)
            if retrieved.is_all or len(found) >= most:
                retrieved.is_all = retrieved.is_all and len(found) <= most
                return retrieved, found[:most]
        retrieved = await self._retrieved(reach, query, where, most, stages)
        return retrieved, await self._found(reach, retrieved, stages)

    async def _retrieved(
        self, reach: Reach, query: str, where: IndexFilter, limit: int, stages: Stages
    ) -> Retrieved:
        return await self._candidates.named(
            reach, query, where, self._retrieval.retrieve, stages, limit=limit
        )

    async def _ranked(
        self,
        query: str,
        retrieved: Retrieved,
        found: Sequence[Found],
        waiting: Sequence[Mapping[str, Any]],
        stages: Stages,
    ) -> list[Hit]:
        """Return what was found, and what the index does not know yet, in their order."""
        known = {one.row["entry_id"] for one in found}
        found = [*found, *(found_waiting(row) for row in waiting if row["entry_id"] not in known)]
        return self._rules.hits(found, await self._scores(query, found, retrieved, stages))

    async def _found(self, reach: Reach, retrieved: Retrieved, stages: Stages) -> list[Found]:
        """Return those of the candidates that may be found."""
        with stages.stage("revalidate"):
            return await self._candidates.vouched(reach, retrieved.candidates, with_tokens=True)

    async def _scores(
        self, query: str, found: Sequence[Found], retrieved: Retrieved, stages: Stages
    ) -> list[RerankScore] | None:
        if any(one.point_id == one.row["entry_id"] and "share" not in one.row for one in found):
            return None  # found by words alone while the index is away: to compare all of them takes too long
        passages = [one.passage for one in found]
        return await scores_in_time(self._reranking, query, passages, retrieved, stages)

    async def _deeper(
        self,
        reach: Reach,
        query: str,
        where: IndexFilter,
        retrieved: Retrieved,
        ranked: Sequence[Hit],
        stages: Stages,
    ) -> list[Hit]:
        """Return what else there is, in the order in which it is found, each with less than the last of `ranked`."""
        # Before the index is asked, as above.
        found = [found_waiting(row) for row in await self._words.waiting(reach, query, limit=MOST)]
        if not retrieved.is_all:
            deeper = await self._retrieved(reach, query, where, MOST, stages)
            found += await self._candidates.vouched(reach, deeper.candidates, with_tokens=False)
        known = {hit.entry_id for hit in ranked}
        least = ranked[-1].score if ranked else 1.0
        hits = self._rules.hits([one for one in found if one.row["entry_id"] not in known], None)
        return [hit._replace(score=hit.score * least) for hit in hits]
