"""What the toy family of stories does; how they get into the index, and stay as they are, is said nowhere here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from elf.api.operation import for_anyone
from elf.core.errors import NotFound, Unavailable
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.family import Opened
from elf.ground import Ground, indexed
from elf.index.port import IndexFilter, IndexQuery, QueryResult
from elf.indexing.chunks import Document
from elf.indexing.corpus import Corpus, CorpusTables
from elf.search.fuse import Candidate
from elf.search.retrieve import Ask, Retrieved
from elf.search.stages import Stages
from elf.search.trace import SearchTrace, TraceItem
from tests.families.toy_corpus import manifest as m

NAME: Final = m.STORIES.name
TABLES: Final = CorpusTables.of(
    NAME, kind="story", rows="stories", key="story_id", fields=("tenant_id", "project_id")
)


def open_stories(ground: Ground) -> Opened:
    teller = Teller(ground)
    by_name = {m.TELL: teller.tell, m.RETELL: teller.retell, m.END: teller.end}
    by_name |= {m.FIND: teller.find, m.EXPLAIN: teller.explain}
    return Opened(
        handlers={operation.name: for_anyone(do) for operation, do in by_name.items()},
        corpora=[teller.indexed],
        garbage=[GarbageStep(NAME, "stories_over", teller.collect)],
        needed_to_read=("stories",),
    )


def _corpus(ground: Ground) -> Corpus:
    return Corpus(
        family=NAME,
        name=NAME,
        space=m.STORIES,
        tables=TABLES,
        queries=TABLES.queries(Queries.load(m.TOY_CORPUS.sql_folder)),
        document=lambda row: Document({name: row[name] for name in TABLES.fields}),
        embedding_version=ground.config.embedding_version,
        queue="toy_indexing",
    )


class Teller:
    """Carries the operations out."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.keep = timedelta(days=ground.config.of(m.ToyCorpusTable).keep_days)
        self.indexed = indexed(ground, _corpus(ground))
        self.sql = self.indexed.corpus.queries
        self.retrieval = ground.search and ground.search.retrieval(self.indexed.index, m.STORIES)

    async def tell(self, request: m.TellStory) -> m.Story:
        story_id, place = uuid4(), (request.tenant_id, request.project_id)
        async with self.ground.database.transaction() as connection:
            version = self.indexed.corpus.embedding_version
            await connection.execute(self.sql["tell_story"], story_id, *place, request.text, version)
            await self.indexed.writes.wrote(connection, place, [story_id])
        return m.Story(story_id=story_id, text=request.text)

    async def retell(self, request: m.Retell) -> m.Story:
        return await self._changed(request, request.text)

    async def end(self, request: m.OneStory) -> m.Story:
        return await self._changed(request, None)

    async def _changed(self, request: m.OneStory, text: str | None) -> m.Story:
        place = (request.tenant_id, request.project_id)
        async with self.ground.database.transaction() as connection:
            told = await connection.fetchval(self.sql["retell_story"], request.story_id, *place, text)
            if told is None:
                raise NotFound(f"there is no story {request.story_id} in this project", fields=["$.story_id"])
            await self.indexed.writes.wrote(connection, place, [request.story_id])
        return m.Story(story_id=request.story_id, text=told)

    async def find(self, request: m.FindStories) -> m.Stories:
        assert self.retrieval is not None
        place, stages = (request.tenant_id, request.project_id), Stages(5.0)
        where = IndexFilter(must={"tenant_id": request.tenant_id, "project_id": request.project_id})
        settled = partial(self.ground.fresh.settled, NAME, place)
        ask = Ask(query=request.query, where=where, limit=100, settled=settled, exactly=_no_stand_in)
        retrieved = await self.retrieval.retrieve(ask, stages)
        points = [candidate.point_id for candidate in retrieved.candidates]
        async with self.ground.database.connection() as connection:
            rows = await connection.fetch(self.sql["read_stories"], points, *place)
        found = _best(retrieved.candidates, rows)[: request.limit]
        trace_id = uuid4()
        self._leave_trace(trace_id, request, retrieved, found, stages)
        stories = [m.Story(story_id=row["story_id"], text=row["text"], score=one.score) for one, row in found]
        return m.Stories(trace_id=trace_id, stories=stories)

    def _leave_trace(
        self,
        trace_id: UUID,
        request: m.FindStories,
        retrieved: Retrieved,
        found: Sequence[tuple[Candidate, Mapping[str, Any]]],
        stages: Stages,
    ) -> None:
        assert self.ground.search is not None
        now = self.ground.clock.now()
        trace = SearchTrace(
            trace_id=trace_id, family=NAME, tenant_id=request.tenant_id, project_id=request.project_id,
            agent_id=request.agent_id, read_profile="", query=request.query, expansion_mode="off",
            expanded_queries=retrieved.queries, allowed_scopes=(), filters={}, top_k=request.limit,
            candidate_count=len(retrieved.candidates), config_snapshot={}, created_at=now,
            expires_at=now + timedelta(days=1), dropped=(), degraded=retrieved.degraded, stages=stages.timings,
            items=[_item(one, row, rank) for rank, (one, row) in enumerate(found, start=1)],
        )  # fmt: skip
        self.ground.search.trace(trace)

    async def explain(self, request: m.OneSearch) -> m.Explained:
        found = await self.ground.traces.trace(NAME, request.trace_id, now=self.ground.clock.now())
        place = (request.tenant_id, request.project_id)
        if found is None or (found[0]["tenant_id"], found[0]["project_id"]) != place:
            raise NotFound(f"there is no search {request.trace_id} in this project", fields=["$.trace_id"])
        trace, items = found
        stages = [name for name, _ in trace["stages"]]
        ids = [item["note_id"] for item in items]
        return m.Explained(query=trace["query"], story_ids=ids, stages=stages, degraded=trace["degraded"])

    async def collect(self, now: datetime, limit: int) -> int:
        async with self.ground.database.connection() as connection:
            return len(await connection.fetch(self.sql["drop_stories"], now - self.keep, limit))


def _best(
    candidates: Sequence[Candidate], rows: Sequence[Mapping[str, Any]]
) -> list[tuple[Candidate, Mapping[str, Any]]]:
    """Return what is still there of the candidates, each story once."""
    by_point = {row["chunk_id"]: row for row in rows}
    best: dict[UUID, tuple[Candidate, Mapping[str, Any]]] = {}
    for one in candidates:
        if (row := by_point.get(one.point_id)) is not None:
            best.setdefault(row["story_id"], (one, row))
    return list(best.values())


def _item(candidate: Candidate, row: Mapping[str, Any], rank: int) -> TraceItem:
    return TraceItem(
        item_id=uuid4(), subject_id=row["story_id"], point_id=candidate.point_id, rank=rank,
        retrieval_score=candidate.score, retrieval_rank=candidate.rank, rerank_score=0.0, tie_breaker_score=0.0,
        final_score=candidate.score, relevance=None, boosts=(), matched_terms=(), matched_fields=(),
    )  # fmt: skip


async def _no_stand_in(queries: Sequence[IndexQuery]) -> list[QueryResult]:
    raise Unavailable("the index of the stories is away")
