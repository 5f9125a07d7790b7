"""Rebuilds as they are asked for: one at a time, watched while they run, and none ends with its asker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from actors.workers.index_rebuilder import IndexRebuilder
from elf.core.errors import IndexUnavailable, InternalError, InvalidRequest, Unavailable
from elf.families.notes.keeping.space import NOTES
from elf.indexing.rebuild import RebuildReport, Tally
from elf.indexing.rebuild_runs import RebuildRuns
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

REPORT = RebuildReport(3, 0, 0, 0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Steered:
    """A rebuild that ends when the test lets it."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.may_end = anyio.Event()
        self.failure: Exception | None = None
        self.runs = RebuildRuns(self._rebuild, progress_path="/progress", clock=TurnedClock())

    async def _rebuild(self, tally: Tally) -> RebuildReport:
        tally.total = 3
        tally.rebuilt = 1
        self.begun.set()
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        tally.rebuilt = 3
        return REPORT

    async def ask_in_vain(self, kind: type[Exception], match: str) -> None:
        with pytest.raises(kind, match=match):
            await self.runs.ask()


@asynccontextmanager
async def served(steered: Steered) -> AsyncIterator[anyio.abc.TaskGroup]:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            await group.start(
                lambda *, task_status: IndexRebuilder(NOTES, steered.runs).run(task_status=task_status)
            )
            await anyio.lowlevel.checkpoint()
            yield group
            group.cancel_scope.cancel()


async def test_a_rebuild_is_watched_while_it_runs_and_reported_in_the_end() -> None:
    steered = Steered()
    async with served(steered) as group:
        reports: list[RebuildReport] = []

        async def ask() -> None:
            reports.append(await steered.runs.ask())

        group.start_soon(ask)
        await steered.begun.wait()
        run = steered.runs.latest
        assert run is not None
        assert (run.state, run.tally.done, run.tally.total, run.report) == ("running", 1, 3, None)
        steered.may_end.set()
        await run.ended.wait()
        await anyio.wait_all_tasks_blocked()
        assert reports == [REPORT]
        assert (run.state, run.report, run.finished_at is None) == ("done", REPORT, False)


async def test_a_second_one_is_refused_while_one_runs_and_taken_afterwards() -> None:
    steered = Steered()
    async with served(steered) as group:
        group.start_soon(steered.runs.ask)
        await steered.begun.wait()
        await steered.ask_in_vain(InvalidRequest, "being rebuilt already")
        steered.may_end.set()
        assert steered.runs.latest is not None
        await steered.runs.latest.ended.wait()
        assert await steered.runs.ask() == REPORT


async def test_it_goes_on_when_the_asker_goes_away() -> None:
    steered = Steered()
    async with served(steered):
        async with anyio.create_task_group() as asking:
            asking.start_soon(steered.runs.ask)
            await steered.begun.wait()
            asking.cancel_scope.cancel()
        run = steered.runs.latest
        assert run is not None
        assert run.state == "running"
        steered.may_end.set()
        await run.ended.wait()
        assert run.report == REPORT


async def test_a_failure_reaches_the_asker_and_the_next_one_may_succeed() -> None:
    steered = Steered()
    steered.failure = IndexUnavailable("the index is away")
    steered.may_end.set()
    async with served(steered):
        await steered.ask_in_vain(IndexUnavailable, "away")
        assert steered.runs.latest is not None
        assert steered.runs.latest.state == "failed"
        steered.failure = None
        assert await steered.runs.ask() == REPORT


async def test_a_rebuild_that_is_cut_off_says_so() -> None:
    steered = Steered()
    async with anyio.create_task_group() as asking, served(steered):
        asking.start_soon(steered.ask_in_vain, Unavailable, "cut off")
        await steered.begun.wait()
    assert steered.runs.latest is not None
    assert steered.runs.latest.state == "failed"


async def test_nobody_waits_for_a_rebuild_that_nobody_serves() -> None:
    steered = Steered()
    await steered.ask_in_vain(Unavailable, "Postgres is away")
    assert steered.runs.latest is None


async def test_a_fault_of_the_code_is_not_hidden_and_its_words_stay_in_the_log() -> None:
    steered = Steered()
    steered.failure = LookupError("a note's text")
    steered.may_end.set()
    async with anyio.create_task_group() as asking:
        asking.start_soon(steered.ask_in_vain, InternalError, "the log has the details")
        with pytest.raises(LookupError):
            await steered.runs.serve()
