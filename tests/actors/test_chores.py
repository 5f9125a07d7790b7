"""The runner of chores on virtual time: what is due runs once, for as long as it takes, and again when it failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from structlog.testing import capture_logs

from actors.workers.chores import FINISH_AGAIN_S, LOOK_EVERY_S, PLAN_AGAIN_S, ChoreRunner
from actors.workers.leased_work import Caution
from elf.core.errors import DatabaseUnavailable, ProviderUnavailable
from elf.outbox.chores import NO_SUBJECT, Chore, ChoreRuns, Due, every
from elf.outbox.leases import Job
from tests.actors.outbox_kit import LEASE_S, FakeOutbox, on_virtual_time, running
from tests.notes_kit import NOW

pytestmark = [pytest.mark.anyio, on_virtual_time]

DAY = timedelta(days=1)


class LoopClock:
    """The wall clock of virtual time."""

    def now(self) -> datetime:
        return NOW + timedelta(seconds=anyio.current_time())


class FakeRuns:
    """Runs in memory, with the one rule that plan keeps: one open run for a subject."""

    def __init__(self, *chores: Chore) -> None:
        self.chores = {(chore.family, chore.name): chore for chore in chores}
        self.outbox = FakeOutbox()
        self.planned: dict[UUID, tuple[Chore, Due]] = {}

    async def plan(self, chore: Chore, subjects: Sequence[str], at: datetime) -> int:
        await anyio.lowlevel.checkpoint()
        done = {job.outbox_id for job in self.outbox.finished}
        for subject in subjects:
            runs = [
                (id, due) for id, (of, due) in self.planned.items() if (of, due.subject) == (chore, subject)
            ]
            if all(id in done and due.at != at for id, due in runs):
                job = Job(uuid4(), uuid4(), 0, NOW)
                self.planned[job.outbox_id] = chore, Due(subject, at, 1)
                self.outbox.due.append(job)
        return 0

    async def read(self, job: Job) -> tuple[Chore, Due]:
        await anyio.lowlevel.checkpoint()
        return self.planned[job.outbox_id]


class Toy:
    """A chore whose runs are remembered with the time, in seconds, at which they began."""

    def __init__(self, **fields: Any) -> None:
        self.seen: list[tuple[float, str]] = []
        self.ended: list[str] = []
        self.does: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
        values: dict[str, Any] = {"family": "toys", "name": "toy", "when": every(DAY), "run": self.run}
        self.chore = Chore(**(values | fields))

    async def run(self, due: Due) -> None:
        self.seen.append((anyio.current_time(), due.subject))
        await self.does()
        self.ended.append(due.subject)


def runner_of(runs: FakeRuns, at_once: int = 2) -> ChoreRunner:
    return ChoreRunner(cast("ChoreRuns", runs), clock=LoopClock(), caution=Caution(), at_once=at_once)


async def test_it_runs_at_the_start_and_whenever_it_is_due() -> None:
    toy = Toy(when=every(timedelta(hours=1), at=timedelta(minutes=30)))
    runs = FakeRuns(toy.chore)
    async with running(runner_of(runs)):
        await anyio.sleep(3 * 3600)
    expected = [0.0, 1800.0, 5400.0, 9000.0]  # it is noon
    assert [at for at, _ in toy.seen] == pytest.approx(expected, abs=2 * LOOK_EVERY_S)
    assert {subject for _, subject in toy.seen} == {NO_SUBJECT}
    assert len(runs.outbox.finished) == 4


async def test_each_subject_has_a_run_of_its_own_and_few_run_at_once() -> None:
    toy = Toy(subjects=lambda: _subjects("a", "b", "c", "d", "e"))
    at_work: list[int] = []

    async def work() -> None:
        at_work.append(len(toy.seen) - len(toy.ended))
        await anyio.sleep(100)

    toy.does = work
    async with running(runner_of(FakeRuns(toy.chore))):
        await anyio.sleep(350)
    assert sorted(toy.ended) == ["a", "b", "c", "d", "e"]
    assert max(at_work) == 2


async def _subjects(*names: str) -> Sequence[str]:
    await anyio.lowlevel.checkpoint()
    return names


async def test_what_takes_hours_is_run_once_with_its_lease_renewed_and_what_was_due_meanwhile_is_one_run() -> (
    None
):
    toy = Toy(when=every(timedelta(hours=1)))

    async def work() -> None:
        await anyio.sleep(3.5 * 3600 if len(toy.seen) == 1 else 1)

    toy.does = work
    runs = FakeRuns(toy.chore)
    async with running(runner_of(runs)):
        await anyio.sleep(3.4 * 3600)
        assert len(toy.seen) == 1
        assert len(runs.outbox.renewals) == pytest.approx(3 * 3.4 * 3600 / LEASE_S, abs=2)
        await anyio.sleep(0.5 * 3600)
        assert [due.at.hour for _, due in runs.planned.values()] == [12, 15]
        assert len(toy.ended) == 2


async def test_a_failure_goes_back_with_its_reason_and_the_log_names_family_and_chore() -> None:
    toy = Toy()

    async def work() -> None:
        raise ProviderUnavailable("the model sleeps")

    toy.does = work
    runs = FakeRuns(toy.chore)
    with capture_logs() as logs:
        async with running(runner_of(runs)):
            await runs.outbox.told.wait()
    assert [why for _, why in runs.outbox.failed] == ["ProviderUnavailable: the model sleeps"]
    assert runs.outbox.finished == []
    (line,) = [line for line in logs if line["event"] == "chore_failed"]
    assert (line["family"], line["chore"], line["attempt"]) == ("toys", "toy", 1)


async def test_a_run_is_given_back_when_the_process_stops() -> None:
    toy = Toy()
    toy.does = anyio.sleep_forever
    runs = FakeRuns(toy.chore)
    async with running(runner_of(runs)):
        await anyio.sleep(1)
    assert len(runs.outbox.released) == 1
    assert runs.outbox.failed == runs.outbox.finished == []


@pytest.mark.parametrize("how", ["lost", "Postgres is away"])
async def test_a_run_whose_lease_is_over_is_cancelled(how: str) -> None:
    toy = Toy()
    toy.does = anyio.sleep_forever
    runs = FakeRuns(toy.chore)
    async with running(runner_of(runs)):
        await anyio.sleep(1)
        if how == "lost":
            runs.outbox.lost = runs.outbox.leases.held()
        else:
            runs.outbox.fault = DatabaseUnavailable("away")
        await anyio.sleep(LEASE_S + 1)
        assert runs.outbox.leases.held() == []
        assert (len(toy.seen), len(toy.ended)) == (1, 0)


async def test_an_outage_shorter_than_the_lease_ends_no_run() -> None:
    toy = Toy()
    toy.does = lambda: anyio.sleep(10 * LEASE_S)
    runs = FakeRuns(toy.chore)
    async with running(runner_of(runs)):
        await anyio.sleep(LEASE_S / 3 + 1)
        runs.outbox.fault = DatabaseUnavailable("away")
        await anyio.sleep(LEASE_S / 2)
        runs.outbox.fault = None
        await anyio.sleep(10 * LEASE_S)
    assert len(toy.ended) == len(runs.outbox.finished) == 1


async def test_what_is_done_while_postgres_is_away_is_ended_when_it_is_back_and_not_run_again() -> None:
    toy = Toy()
    toy.does = lambda: anyio.sleep(10)
    runs = FakeRuns(toy.chore)
    async with running(runner_of(runs)):
        await anyio.sleep(9)
        runs.outbox.fault = DatabaseUnavailable("away")
        await anyio.sleep(LEASE_S / 2)
        assert runs.outbox.finished == []
        runs.outbox.fault = None
        await anyio.sleep(2 * FINISH_AGAIN_S)
    assert len(runs.outbox.finished) == len(toy.seen) == 1


async def test_a_chore_that_cannot_tell_its_subjects_keeps_no_other_from_running_and_is_asked_again() -> None:
    asked: list[float] = []

    async def subjects() -> Sequence[str]:
        asked.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if len(asked) == 1:
            raise ValueError("no")
        return ("a",)

    bad, good = Toy(name="bad", subjects=subjects), Toy(name="good")
    with capture_logs() as logs:
        async with running(runner_of(FakeRuns(bad.chore, good.chore))):
            await anyio.sleep(PLAN_AGAIN_S / 2)
            assert (len(bad.seen), len(good.seen), len(asked)) == (0, 1, 1)
            await anyio.sleep(PLAN_AGAIN_S)
    assert (len(bad.seen), len(good.seen), len(asked)) == (1, 1, 2)
    (line,) = [line for line in logs if line["event"] == "chore_not_planned"]
    assert (line["family"], line["chore"], line["error"]) == ("toys", "bad", "ValueError")


async def test_nothing_is_run_while_others_do_not_know_that_it_leases() -> None:
    toy = Toy()
    runs = FakeRuns(toy.chore)
    runs.outbox.presence.untell()
    async with running(runner_of(runs)):
        await anyio.sleep(10 * LOOK_EVERY_S)
        assert toy.seen == []
        runs.outbox.presence._told.set()
        await wait_all_tasks_blocked()
        await anyio.sleep(LOOK_EVERY_S)
        assert len(toy.seen) == 1
