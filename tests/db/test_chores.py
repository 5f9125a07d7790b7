"""Chores over Postgres: one run for each subject and time, over two processes' worth of runners."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.signals.outbox_wake import OutboxListener
from actors.workers.chores import ChoreRunner
from actors.workers.leased_work import Caution
from elf.core.clock import SystemClock
from elf.core.errors import ProviderUnavailable
from elf.db.database import Database
from elf.outbox.chores import KEPT, LAST_KEPT, Chore, ChoreRuns, Due, every
from elf.outbox.leased import LeasedOutbox, LeaseLost, Retries
from elf.outbox.leases import Job
from tests.db.conftest import until

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENANTS = tuple(f"tenant {number}" for number in range(12))
SOON = Retries(first_s=0.01, longest_s=0.01)
YEAR = timedelta(days=365)


class Toy:
    """A chore of two processes. `runs` are those that ended, `at_work` those that have begun, by subject."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.at_work: Counter[str] = Counter()
        self.most_at_work: Counter[str] = Counter()
        self.fails: Counter[str] = Counter()
        self.hangs = False
        self.begun = anyio.Event()

    def chore(self, subjects: Sequence[str] = TENANTS) -> Chore:
        async def read() -> Sequence[str]:
            await anyio.lowlevel.checkpoint()
            return subjects

        return Chore(family="toys", name="tidy", when=every(YEAR), subjects=read, run=self.run)

    async def run(self, due: Due) -> None:
        self.at_work[due.subject] += 1
        self.most_at_work |= self.at_work
        self.begun.set()
        try:
            if self.hangs:
                await anyio.sleep_forever()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            if self.fails[due.subject] >= due.attempt:
                raise ProviderUnavailable("the model sleeps")
            self.runs[due.subject] += 1
        finally:
            self.at_work[due.subject] -= 1


@asynccontextmanager
async def process(dsn: str, *chores: Chore, lease_seconds: float = 60) -> AsyncIterator[None]:
    """What a process runs of these chores."""
    database = Database(max_conns=3)
    await database.open(dsn)
    runs = ChoreRuns(database, chores, lease_seconds=lease_seconds, retries=SOON)
    listener = OutboxListener(lambda: dsn)
    listener.tell(runs.outbox.presence)
    async with anyio.create_task_group() as group:
        await group.start(listener.run)
        await group.start(ChoreRunner(runs, clock=SystemClock(), caution=Caution()).run)
        yield
        group.cancel_scope.cancel()
    await database.close()


@pytest.fixture
async def runs(database: Database) -> ChoreRuns:
    return ChoreRuns(database, [Toy().chore()])


async def all_ended(database: Database) -> bool:
    rows = await rows_of(database, "SELECT status FROM chore_runs")
    return bool(rows) and {row["status"] for row in rows} == {"DONE"}


async def rows_of(database: Database, statement: str, *values: Any) -> list[Any]:
    async with database.connection() as connection:
        return list(await connection.fetch(statement, *values))


async def test_over_two_processes_each_subject_runs_once(database: Database, database_dsn: str) -> None:
    toy = Toy()
    async with process(database_dsn, toy.chore()), process(database_dsn, toy.chore()):
        await until(lambda: all_ended(database))
    assert toy.runs == dict.fromkeys(TENANTS, 1)
    assert max(toy.most_at_work.values()) == 1


async def test_what_fails_is_tried_again_until_it_is_done(database: Database, database_dsn: str) -> None:
    toy = Toy()
    toy.fails.update({TENANTS[0]: 2, TENANTS[5]: 1})
    async with process(database_dsn, toy.chore()), process(database_dsn, toy.chore()):
        await until(lambda: all_ended(database))
    assert toy.runs == dict.fromkeys(TENANTS, 1)
    rows = await rows_of(database, "SELECT subject, attempts FROM chore_runs WHERE attempts > 0")
    assert {row["subject"]: row["attempts"] for row in rows} == {TENANTS[0]: 2, TENANTS[5]: 1}


async def test_what_a_stopped_process_was_at_another_runs(database: Database, database_dsn: str) -> None:
    first, second = Toy(), Toy()
    first.hangs = True
    async with process(database_dsn, first.chore()):
        await first.begun.wait()
    async with process(database_dsn, second.chore()):
        await until(lambda: all_ended(database))
    assert second.runs == dict.fromkeys(TENANTS, 1)


async def test_what_a_dead_process_was_at_another_runs(
    database: Database, database_dsn: str, runs: ChoreRuns
) -> None:
    toy = Toy()
    (chore,) = runs.chores.values()
    await runs.plan(chore, TENANTS, chore.when(datetime.now(UTC)))
    assert len(await runs.outbox.lease(5)) == 5  # and nothing more is heard of it
    async with process(database_dsn, toy.chore()):
        await until(lambda: all_ended(database))
    assert toy.runs == dict.fromkeys(TENANTS, 1)


async def test_a_run_longer_than_its_lease_stays_with_its_process(
    database: Database, database_dsn: str
) -> None:
    toy = Toy()
    toy.hangs = True
    subject = TENANTS[:1]
    async with process(database_dsn, toy.chore(subject), lease_seconds=1):
        await toy.begun.wait()
        before = await rows_of(database, "SELECT available_at FROM chore_runs")
        async with process(database_dsn, toy.chore(subject), lease_seconds=1):

            async def renewed() -> bool:
                (row,) = await rows_of(database, "SELECT available_at FROM chore_runs")
                return bool(row["available_at"] > before[0]["available_at"] + timedelta(seconds=2))

            await until(renewed)
        assert toy.most_at_work == {TENANTS[0]: 1}


# The rows


async def test_a_run_is_made_once_however_often_it_is_planned(runs: ChoreRuns) -> None:
    (chore,) = runs.chores.values()
    assert await runs.plan(chore, ["a", "b"], NOON) == 2
    assert await runs.plan(chore, ["a", "b", "c"], NOON) == 1
    jobs = await runs.outbox.lease(10)
    await runs.outbox.finish(jobs)
    assert await runs.plan(chore, ["a", "b", "c"], NOON) == 0
    assert await runs.plan(chore, ["a"], NOON + YEAR) == 1


async def test_a_run_that_is_not_done_is_the_only_one_of_its_subject(runs: ChoreRuns) -> None:
    (chore,) = runs.chores.values()
    await runs.plan(chore, ["a", "b"], NOON)
    first, _ = await runs.outbox.lease(10)
    _, due = await runs.read(first)
    assert await runs.plan(chore, ["a", "b"], NOON + YEAR) == 0
    await runs.outbox.finish([first])
    assert await runs.plan(chore, ["a", "b"], NOON + YEAR) == 1
    (job,) = await runs.outbox.lease(10)
    assert (await runs.read(job))[1] == Due(due.subject, NOON + YEAR, 1)


async def test_who_lost_a_run_does_not_end_it_and_what_the_transaction_did_is_undone(
    database: Database, runs: ChoreRuns
) -> None:
    (chore,) = runs.chores.values()
    await runs.plan(chore, ["a"], NOON)
    slow = await runs.outbox.lease(1)
    await rows_of(database, "UPDATE chore_runs SET available_at = now()")
    other = ChoreRuns(database, [chore])
    quick = await other.outbox.lease(1)

    async def end(outbox: LeasedOutbox, jobs: Sequence[Job], mark: str) -> None:
        async with database.transaction() as connection:
            await connection.execute(
                "INSERT INTO chore_runs (family, chore, subject, due_at) VALUES ('toys', $1, '', now())", mark
            )
            await outbox.finish(jobs, connection)

    for _ in range(2):  # before the other one has ended it, and after
        with pytest.raises(LeaseLost):
            await end(runs.outbox, slow, "slow")
        with pytest.raises(LeaseLost):
            await runs.outbox.finish(slow)
        if not await rows_of(database, "SELECT FROM chore_runs WHERE status = 'DONE'"):
            await end(other.outbox, quick, "quick")
    await other.outbox.finish(quick)  # whoever did not hear the answer may ask again
    rows = await rows_of(database, "SELECT chore, status FROM chore_runs ORDER BY chore")
    assert [tuple(row) for row in rows] == [("quick", "PENDING"), ("tidy", "DONE")]


async def test_only_who_has_a_chore_leases_its_runs(database: Database, runs: ChoreRuns) -> None:
    (chore,) = runs.chores.values()
    await runs.plan(chore, ["a"], NOON)
    others = [
        Chore(family=family, name=name, when=every(YEAR), run=Toy().run)
        for family, name in (("toys", "sweep"), ("others", "tidy"))
    ]
    assert await ChoreRuns(database, others).outbox.lease(10) == []
    assert len(await runs.outbox.lease(10)) == 1


async def test_states_tell_what_waits_what_fails_and_when_one_was_done(runs: ChoreRuns) -> None:
    (chore,) = runs.chores.values()
    assert await runs.states() == []
    await runs.plan(chore, ["a", "b", "c"], NOON)
    done, failed = await runs.outbox.lease(2)
    await runs.outbox.finish([done])
    await runs.outbox.fail([failed], "no")
    (state,) = await runs.states()
    assert state[:4] == ("toys", "tidy", 1, 1)
    assert state.last_done is not None


async def test_old_runs_are_dropped_but_the_last_of_each_subject_which_stays_longer(
    database: Database, runs: ChoreRuns
) -> None:
    (chore,) = runs.chores.values()
    now = datetime.now(UTC)
    for year in range(2):
        await runs.plan(chore, ["a"], NOON + year * YEAR)
        await runs.outbox.finish(await runs.outbox.lease(1))
    await runs.plan(chore, ["b"], NOON)
    drop = runs.garbage().collect
    assert await drop(now, 10) == 0
    assert await drop(now + KEPT + timedelta(hours=1), 10) == 1
    assert await drop(now + LAST_KEPT + timedelta(hours=1), 10) == 1
    rows = await rows_of(database, "SELECT subject FROM chore_runs")
    assert [row["subject"] for row in rows] == ["b"], "it is not done"


# When


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.timedeltas(timedelta(seconds=1), timedelta(days=400)),
    st.timedeltas(timedelta(0), timedelta(days=1)),
)
def test_the_latest_time_is_on_the_grid_and_no_more_than_an_interval_ago(
    moment: datetime, interval: timedelta, at: timedelta
) -> None:
    when = every(interval, at=at)
    due = when(moment)
    assert timedelta(0) <= moment - due < interval
    assert when(due) == due
    assert when(due + interval) == due + interval


def test_daily_at_three_is_at_three() -> None:
    when = every(timedelta(days=1), at=timedelta(hours=3))
    assert when(NOON) == NOON.replace(hour=3)
    assert when(NOON.replace(hour=2)) == NOON.replace(hour=3) - timedelta(days=1)


@pytest.mark.parametrize("interval", [timedelta(0), timedelta(seconds=-1)])
def test_an_interval_is_above_nothing(interval: timedelta) -> None:
    with pytest.raises(ValueError, match="above 0"):
        every(interval)


def test_two_chores_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        ChoreRuns(Database(max_conns=1), [Toy().chore(), Toy().chore()])
