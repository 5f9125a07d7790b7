"""Two families in one index: neither loses or sees a point of the other, whatever is done to either."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import anyio
import numpy as np
import pytest

from actors.kernel import RestartPolicy, Supervisor
from actors.owners.index_host import IndexHost, OnOpen
from elf.core.errors import IndexUnavailable
from elf.db.database import Database
from elf.families.notes.keeping.queries import note_queries
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.port import IndexPoint, VectorIndex
from elf.indexing import drift
from elf.indexing.indexed import IndexedCorpus, IndexingPace
from elf.indexing.rebuild import RebuildReport
from elf.outbox.leases import Job
from elf.outbox.queue import Queue
from tests.conftest import VECTOR_DIM
from tests.db.notes.conftest import House
from tests.index_kit import ADAPTERS, TALKS, emptied, opener_of

from .conftest import Talks

pytestmark = pytest.mark.anyio

PATIENCE_S = 60.0  # a bound on hanging, never a measure
LOOK_AGAIN_S = 0.05
NOTHING = {"missing_count": 0, "stale_count": 0, "orphaned_count": 0, "moving_count": 0, "given_up_count": 0}


@dataclass
class Kept:
    """One of the two, with its worker."""

    indexed: IndexedCorpus
    queue: Queue

    async def index_all(self) -> Sequence[Job]:
        """Do what is due; while the index is away, it is given back."""
        jobs = await self.queue.outbox.lease(1000)
        try:
            if jobs:
                await self.queue.handle(jobs)
        except IndexUnavailable:
            await self.queue.outbox.release(jobs)
        return jobs

    async def chunks(self) -> set[UUID]:
        async with self.indexed.database.connection() as connection:
            rows = await connection.fetch(f"SELECT chunk_id FROM {self.indexed.corpus.tables.chunks}")
        return {row["chunk_id"] for row in rows}

    async def is_right(self) -> bool:
        points = await self.indexed.index.scan(after=None, limit=1000)
        return {point.point_id for point in points} == await self.chunks()

    async def rebuilt(self) -> RebuildReport:
        runs = self.indexed.runs
        async with anyio.create_task_group() as group:
            await group.start(runs.serve)
            report = await runs.ask()
            group.cancel_scope.cancel()
        return report


class Process:
    """Notes and talks in one process, each with its space of one index."""

    def __init__(self, database: Database, notes_index: VectorIndex, talks_index: VectorIndex) -> None:
        self.house = House(database, note_queries(), index=notes_index)  # type: ignore[arg-type]  # only the port is used
        self.talks = Talks(database, talks_index)
        house = self.house
        notes = IndexedCorpus(
            corpus=house.corpus, index=notes_index, database=database, clock=house.clock, ring=house.ring,
            fresh=house.fresh, texts=house.texts, fleet=house.fleet, pace=IndexingPace(),
        )  # fmt: skip
        self.kept = {"notes": Kept(notes, notes.queue()), "talks": Kept(self.talks.indexed, self.talks.queue)}

    async def fill(self) -> None:
        """Write four notes and three entries, and index them."""
        for number in range(4):
            await self.house.add_one(f"Fact: {number}.", key=str(number))
        for number in range(3):
            await self.talks.say(f"Entry {number}.")
        for kept in self.kept.values():
            await kept.index_all()
        assert await self.is_right()

    def both_ways(self) -> list[tuple[Kept, Kept]]:
        notes, talks = self.kept.values()
        return [(notes, talks), (talks, notes)]

    async def is_right(self) -> bool:
        return all([await kept.is_right() for kept in self.kept.values()])


@pytest.fixture(params=ADAPTERS)
async def process(
    request: pytest.FixtureRequest, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Process]:
    monkeypatch.setattr(drift, "REPAIR_WAIT_S", 0.0)  # the jobs are done by the test
    opener = opener_of(request.param, request, vector_dim=VECTOR_DIM)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
        async with opener(tmp_path) as open_space:
            process = Process(database, await open_space(NOTES), await open_space(TALKS))
            await process.fill()
            yield process


def stray(kept: Kept, point_id: UUID) -> IndexPoint:
    """A point that is no chunk."""
    moments = dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00+00:00")
    payload = dict.fromkeys(kept.indexed.corpus.space.keyword_fields, "x") | moments
    return IndexPoint(point_id, uuid4(), np.ones(VECTOR_DIM, np.float32), "a stray", payload)


async def test_a_rebuild_writes_and_removes_its_own_points_only(process: Process) -> None:
    for one, other in process.both_ways():
        chunks = await one.chunks()
        await one.indexed.index.delete_points([min(chunks)])
        await one.indexed.index.upsert(
            [stray(one, min(await other.chunks()))]
        )  # with the id of a point of the other
        report = await one.rebuilt()
        assert (report.rebuilt_count, report.removed_count) == (len(chunks), 1)
        assert await process.is_right()


async def test_what_one_lost_is_no_drift_of_the_other_and_only_it_is_repaired(process: Process) -> None:
    for one, other in process.both_ways():
        await emptied(one.indexed.index)
        assert await other.is_right()
        assert (await other.indexed.drift.look(most_examples=0)).counted() == NOTHING
        repair = await one.indexed.drift.repair()
        count = len(await one.chunks())
        assert (repair.found.counted(), repair.jobs) == (NOTHING | {"missing_count": count}, count)
        assert await other.index_all() == [], "the jobs are in the outbox of the one"
        assert len(await one.index_all()) == count
        assert await process.is_right()


async def test_after_a_restart_both_have_their_points_and_nothing_is_done_again(
    tmp_path: Path, database: Database, request: pytest.FixtureRequest
) -> None:
    opener = opener_of("edge", request, vector_dim=VECTOR_DIM)
    async with opener(tmp_path) as open_space:
        await Process(database, await open_space(NOTES), await open_space(TALKS)).fill()
    async with opener(tmp_path) as open_space:
        again = Process(database, await open_space(NOTES), await open_space(TALKS))
        assert await again.is_right()
        for kept in again.kept.values():
            await kept.indexed.bring_up_to_date(clean=True)
            await kept.indexed.bring_up_to_date(clean=False)
            assert await kept.index_all() == []


# Two processes over one folder


@asynccontextmanager
async def hosted(database: Database, folder: Path) -> AsyncIterator[Process]:
    """A process with the actor that keeps the index, under its supervisor."""
    async with AsyncExitStack() as stack:
        indexes = [EdgeIndex(folder, space) for space in (NOTES, TALKS)]
        for index in indexes:
            stack.push_async_callback(index.aclose)
        process = Process(database, *indexes)

        def on_open(kept: Kept) -> OnOpen:
            return lambda info: kept.indexed.bring_up_to_date(clean=info.clean)

        spaces = {kept.indexed.corpus.space: on_open(kept) for kept in process.kept.values()}
        supervisor = Supervisor(policy=RestartPolicy(initial_s=0.01, max_s=0.1))
        supervisor.add(
            IndexHost(folder, spaces, vector_dim=VECTOR_DIM, ping_interval_s=0.05), stop_timeout_s=8
        )
        group = await stack.enter_async_context(anyio.create_task_group())
        await group.start(supervisor.run)
        yield process
        group.cancel_scope.cancel()


async def test_a_folder_that_is_deleted_while_two_processes_serve_is_filled_again_for_both_families(
    tmp_path: Path, database: Database
) -> None:
    folder = tmp_path / "index"
    with anyio.fail_after(PATIENCE_S):
        async with hosted(database, folder) as first, hosted(database, folder) as second:
            await first.fill()
            assert await second.is_right()
            jobs = await job_count(second)
            shutil.rmtree(folder)
            await until_right(first, second, after=jobs)
            for process in (first, second):
                for kept in process.kept.values():
                    assert (await kept.indexed.drift.look(most_examples=0)).counted() == NOTHING
            assert first.house.model.texts == [f"Fact: {number}." for number in range(4)]
            assert second.house.model.texts == second.talks.model.texts == [], "and no text embedded again"


async def until_right(*processes: Process, after: int) -> None:
    """Let the workers of all work until there are more than so many jobs, and each has the right points."""
    while True:
        try:
            for process in processes:
                for kept in process.kept.values():
                    await kept.index_all()
            is_found = await job_count(processes[0]) > after
            if is_found and all([await process.is_right() for process in processes]):
                return
        except IndexUnavailable:
            pass  # it is on its way
        await anyio.sleep(LOOK_AGAIN_S)


async def job_count(process: Process) -> int:
    async with process.talks.database.connection() as connection:
        count: int = await connection.fetchval(
            "SELECT (SELECT count(*) FROM indexing_outbox) + (SELECT count(*) FROM talks_indexing_outbox)"
        )
    return count
