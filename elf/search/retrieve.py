"""Finding candidates: the query, or several wordings of it, embedded, looked up in the index, and fused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol
from uuid import UUID

import structlog

from elf.core.errors import IndexUnavailable, ProviderUnavailable, ServiceError
from elf.index.port import IndexFilter, IndexQuery, QueryResult, Vector
from elf.providers.port import Embedder
from elf.providers.vectors import have_direction
from elf.search.expand import QueryExpander, folded
from elf.search.fuse import Candidate, FusionRules, fuse
from elf.search.stages import Stages
from elf.search.trace import DropReason

EMBEDDING = "embedding"
EXPANSION = "expansion"
INDEX = "index"
EXACT = "exact"
# What a stage may take of the time that is left, so that its stand-in has time too.
EXPANSION_SHARE = 0.5
EMBEDDING_SHARE = 0.5
INDEX_SHARE = 0.5
EXACT_SHARE = 0.5
SECOND_PASS = 0.5  # of these shares: what remains after a first search is little already

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRules:
    """When queries are reworded, how lists are fused, and how many candidates the reranker sees, and of one subject.

    Of both numbers, 0 is all.
    """

    expansion: Literal["off", "always", "dynamic"]
    fusion: FusionRules
    prefilter: int
    points_per_subject: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a search looks for, among which points, and how many candidates it wants.

    `where` is all that may be seen, None for nothing; the version of the embeddings need not be in it. `settled` waits
    for a moment until the index has what was written just now. `exactly` answers queries as the index would, from the
    truth itself, while the index is away.
    """

    query: str
    where: IndexFilter | None
    limit: int
    settled: Callable[[], Awaitable[object]]
    exactly: Callable[[Sequence[IndexQuery]], Awaitable[list[QueryResult]]]


@dataclass(slots=True)
class Retrieved:
    """The wordings searched for, the candidates, best first, those cut and why, and the parts that could not help.

    `asked` is what the index was asked, and `is_all` whether it named every note that it was asked for.
    """

    queries: Sequence[str]
    candidates: Sequence[Candidate] = ()
    cut: Sequence[tuple[Candidate, DropReason]] = ()
    degraded: list[str] = field(default_factory=list)
    asked: Sequence[IndexQuery] = ()
    is_all: bool = True

    def without(self, part: str) -> None:
        """Note that a part could not help."""
        if part not in self.degraded:
            self.degraded.append(part)


class Lookup(Protocol):
    """The part of a VectorIndex that a search uses."""

    @property
    def is_away(self) -> bool:
        """Whether it is known not to answer at the moment."""
        ...

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        """Run queries in one call to the engine. Raises IndexUnavailable when it is away."""
        ...


class CandidateRetrieval:
    """Rewords a query, embeds it, asks the index and fuses. Every part of it may be away and is done without."""

    def __init__(
        self,
        *,
        index: Lookup,
        embedder: Embedder,
        expander: QueryExpander,
        rules: RetrievalRules,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._expander = expander
        self._mode = rules.expansion
        self._rules = rules

    @property
    def index(self) -> Lookup:
        """The index as it is asked, behind its breaker."""
        return self._index

    @property
    def embedding_version(self) -> str:
        return self._embedder.version

    async def retrieve(self, ask: Ask, stages: Stages) -> Retrieved:
        """Find candidates. Raises Unavailable when neither the index nor the truth answers."""
        found = Retrieved([ask.query])
        if ask.where is None:
            return found  # no model need be asked
        if self._mode == "always":
            found.queries = await self._reworded(ask.query, found, stages)
        results = await self._results(ask, found.queries, found, stages)
        candidates = self._fused(results)
        if self._finds_little(candidates[: ask.limit]):
            candidates = self._fused(await self._expanded(ask, results, found, stages))
        self._cut(candidates, ask, found)
        return found

    async def retrieve_by(self, vector: Vector | None, ask: Ask, stages: Stages) -> Retrieved:
        """Find candidates of the query as it is, by a vector that was made already, or by its words alone.

        Raises as `retrieve` does.
        """
        found = Retrieved([ask.query])
        if ask.where is not None:
            self._cut(
                self._fused(await self._looked_up(ask, [ask.query], [vector], found, stages)), ask, found
            )
        return found

    async def retrieve_exactly(self, ask: Ask, found: Retrieved, stages: Stages) -> bool:
        """Find the candidates of the same wordings anew in the truth itself; False when that takes too long.

        Raises Unavailable when it is away.
        """
        try:
            with stages.stage(EXACT, share=EXACT_SHARE):
                results = await ask.exactly(found.asked)
        except TimeoutError:
            log.warning("not_searched_exactly", error="out of time")
            found.without(EXACT)
            return False
        self._cut(self._fused(results), ask, found)
        return True

    def _finds_little(self, candidates: Sequence[Candidate]) -> bool:
        best = candidates[0].score if candidates else 0.0
        return self._mode == "dynamic" and self._expander.wanted_after(len(candidates), best)

    async def _expanded(
        self, ask: Ask, first: Sequence[QueryResult], found: Retrieved, stages: Stages
    ) -> Sequence[QueryResult]:
        """Return the results of all wordings; those of the original are there already, and may have to do."""
        queries = await self._reworded(ask.query, found, stages)
        original = folded(ask.query).casefold()
        others = [query for query in queries if query.casefold() != original]
        if not others:
            return first
        try:
            more = await self._results(ask, others, found, stages, share=SECOND_PASS)
        except TimeoutError:
            log.warning("query_not_expanded", error="out of time")
            found.without(EXPANSION)
            return first
        found.queries = queries
        return [*first, *more] if len(others) < len(queries) else more

    async def _reworded(self, query: str, found: Retrieved, stages: Stages) -> list[str]:
        try:
            with stages.stage("expand", share=EXPANSION_SHARE):
                return await self._expander.expand(query)
        except (ProviderUnavailable, TimeoutError) as error:
            log.warning("query_not_expanded", error=_described(error))
            found.without(EXPANSION)
            return [query]

    async def _results(
        self, ask: Ask, queries: Sequence[str], found: Retrieved, stages: Stages, *, share: float = 1.0
    ) -> list[QueryResult]:
        vectors = await self._embedded(queries, found, stages, share=share)
        return await self._looked_up(ask, queries, vectors, found, stages, share=share)

    async def _looked_up(
        self,
        ask: Ask,
        queries: Sequence[str],
        vectors: Sequence[Vector | None],
        found: Retrieved,
        stages: Stages,
        *,
        share: float = 1.0,
    ) -> list[QueryResult]:
        where = self._where(ask)
        asked = [
            IndexQuery(dense=vector, text=query, where=where, limit=ask.limit)
            for query, vector in zip(queries, vectors, strict=True)
        ]
        found.asked = [*found.asked, *asked]
        try:
            with stages.stage("index", share=INDEX_SHARE * share):
                if not self._index.is_away:
                    await ask.settled()
                results = await self._index.query(asked)
                found.is_all = found.is_all and not any(_is_full(result, ask.limit) for result in results)
                return results
        except (IndexUnavailable, TimeoutError) as error:
            log.warning("index_not_asked", error=_described(error))
            found.without(INDEX)
        with stages.stage(EXACT, share=share):
            return await ask.exactly(asked)

    async def _embedded(
        self, queries: Sequence[str], found: Retrieved, stages: Stages, *, share: float
    ) -> Sequence[Vector | None]:
        """Return a vector for each query; one without is looked for by its words alone."""
        try:
            with stages.stage("embed", share=EMBEDDING_SHARE * share):
                matrix = await self._embedder.embed(queries)
        except (ProviderUnavailable, TimeoutError) as error:
            log.warning("query_not_embedded", error=_described(error))
            found.without(EMBEDDING)
            return [None] * len(queries)
        vectors = [
            row if counts else None for row, counts in zip(matrix, have_direction(matrix), strict=True)
        ]
        if any(vector is None for vector in vectors):
            log.warning("query_not_embedded", error="the model gave a vector without a direction")
            found.without(EMBEDDING)
        return vectors

    def _where(self, ask: Ask) -> IndexFilter:
        assert ask.where is not None, "who may read nothing has been answered"
        version = {"embedding_version": self._embedder.version}
        return replace(ask.where, must={**ask.where.must, **version})

    def _fused(self, results: Sequence[QueryResult]) -> list[Candidate]:
        return fuse(results, rules=self._rules.fusion)

    def _cut(self, fused: list[Candidate], ask: Ask, found: Retrieved) -> None:
        candidates, surplus = self._spread(fused)
        asked_for = ask.limit
        most = min(self._rules.prefilter or asked_for, asked_for)
        found.candidates = candidates[:most]
        found.is_all = found.is_all and len(candidates) <= most
        found.cut = [
            *((candidate, "BEYOND_PREFILTER") for candidate in candidates[most:asked_for]),
            *((candidate, "BEYOND_CANDIDATE_K") for candidate in candidates[asked_for:]),
            *((candidate, "BEYOND_CHUNKS_PER_NOTE") for candidate in surplus),
        ]

    def _spread(self, candidates: list[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Part candidates into as many as there may be of each subject, and the rest."""
        most = self._rules.points_per_subject
        if not most:
            return candidates, []
        kept: list[Candidate] = []
        surplus: list[Candidate] = []
        counts: Counter[UUID] = Counter()
        for candidate in candidates:
            counts[candidate.owner_id] += 1
            (kept if counts[candidate.owner_id] <= most else surplus).append(candidate)
        return kept, surplus


def _is_full(result: QueryResult, limit: int) -> bool:
    return max(len(result.dense), len(result.bm25)) >= limit


def _described(error: Exception) -> str:
    return error.message if isinstance(error, ServiceError) else "out of time"
