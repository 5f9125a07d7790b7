"""A worker of a queue: one bad job does not fail the others, an outage fails the batch, a stop gives it all back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from structlog.testing import capture_logs

from actors.kernel import Channel
from actors.workers.leased_work import Caution
from actors.workers.outbox_worker import LONGEST_REST_S, LOOK_AGAIN_S, OutboxWorker
from elf.core.errors import (
    DatabaseUnavailable,
    InternalError,
    ProviderBroken,
    ProviderRefused,
    ProviderUnavailable,
)
from elf.db.errors import Retryable
from elf.outbox.leased import JobsFailed
from elf.outbox.leases import Job
from elf.outbox.queue import Queue
from elf.outbox.turns import LONGEST_TURN_S, Turns
from tests.actors.outbox_kit import LEASE_S, FakeOutbox, a_job, on_virtual_time, running

pytestmark = pytest.mark.anyio

TEXT = "Profile: Anna sleeps badly before exams."


class Bench:
    """A worker whose handler remembers its batches and fails on the jobs it is told to."""

    def __init__(self, *, capacity: int = 1, caution: Caution | None = None) -> None:
        self.outbox = FakeOutbox()
        self.work: Channel[list[Job]] = Channel("work", capacity, "block")
        queue = Queue(family="toys", name="toy", outbox=self.outbox, handle=self.handle)
        self.caution = caution or Caution(turns=Turns(settle_s=0.0))
        self.worker = OutboxWorker(
            1, queue, work=self.work, caution=self.caution, is_crowded=lambda: self.is_crowded
        )
        self.is_crowded = False
        self.batches: list[list[Job]] = []
        self.done: list[Job] = []
        self.bad: dict[Job, Exception] = {}
        self.hangs_on: list[Job] = []

    async def handle(self, jobs: Sequence[Job]) -> None:
        self.batches.append(list(jobs))
        await anyio.lowlevel.checkpoint()
        for job in jobs:
            if job in self.bad:
                raise self.bad[job]
            if job in self.hangs_on:
                await anyio.sleep_forever()
        self.done += jobs

    async def send(self, batch: list[Job]) -> None:
        self.outbox.hold(batch)
        await self.work.send(batch)

    async def works_off(self, *batches: list[Job]) -> None:
        async with running(self.worker):
            for batch in batches:
                await self.send(batch)
            await wait_all_tasks_blocked()


async def test_batches_are_handled_whole_and_in_order() -> None:
    bench = Bench()
    batches = [[a_job(), a_job()], [a_job()]]
    await bench.works_off(*batches)
    assert bench.batches == batches
    assert bench.outbox.failed == bench.outbox.released == []


@on_virtual_time
async def test_requests_that_wait_have_the_cores_first_but_not_for_ever() -> None:
    bench = Bench()
    bench.is_crowded = True
    async with running(bench.worker):
        await bench.send([a_job()])
        await anyio.sleep(LONGEST_REST_S - LOOK_AGAIN_S)
        assert bench.batches == []
        await anyio.sleep(2 * LOOK_AGAIN_S)
        assert len(bench.batches) == 1
        await bench.send([a_job()])
        bench.is_crowded = False
        await anyio.sleep(2 * LOOK_AGAIN_S)
        assert len(bench.batches) == 2


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (ValueError(TEXT), "ValueError"),  # what others say may hold the text of an item
        (InternalError("a column is missing"), "InternalError: a column is missing"),
        (ProviderBroken("two vectors for three texts"), "ProviderBroken: two vectors for three texts"),
    ],
)
async def test_one_bad_job_does_not_fail_the_others(fault: Exception, told: str) -> None:
    bench = Bench()
    jobs = [a_job() for _ in range(4)]
    bench.bad[jobs[1]] = fault
    await bench.works_off(jobs)
    assert bench.batches == [jobs, *([job] for job in jobs)]
    assert bench.done == [jobs[0], *jobs[2:]]
    assert bench.outbox.failed == [(jobs[1], told)]
    assert bench.outbox.released == []


async def test_what_a_process_ended_with_is_done_alone_after_the_others() -> None:
    bench = Bench()
    jobs = [a_job() for _ in range(4)]
    bench.outbox.deaths = {jobs[0]: 0, jobs[2]: 2}
    await bench.works_off(jobs)
    assert bench.batches == [[jobs[1], jobs[3]], [jobs[0]], [jobs[2]]]
    assert bench.outbox.begun == [(jobs, False), ([jobs[0]], True), ([jobs[2]], True)]
    assert bench.outbox.given_up == bench.outbox.released == bench.outbox.failed == []


@on_virtual_time
async def test_a_suspect_job_waits_until_its_process_has_lived_for_a_while() -> None:
    bench = Bench(caution=Caution())
    suspect, other = a_job(), a_job()
    bench.outbox.deaths = {suspect: 1}
    async with running(bench.worker):
        await bench.send([suspect, other])
        await anyio.sleep(5)
        assert bench.batches == [[other]]
        await anyio.sleep(6)
        assert bench.batches == [[other], [suspect]]


async def test_what_was_all_that_three_processes_were_at_when_they_ended_is_given_up() -> None:
    bench = Bench()
    bad, good = a_job(), a_job()
    bench.outbox.deaths = {bad: 3}
    await bench.works_off([bad, good])
    assert bench.done == [good]
    assert bench.outbox.given_up == [(bad, "3 processes ended while this was all they were at")]
    assert bench.outbox.released == bench.outbox.failed == []


@on_virtual_time
async def test_a_job_has_the_process_for_itself_for_two_minutes_at_most() -> None:
    bench, slow = Bench(), a_job()
    bench.outbox.deaths = {slow: 1}
    bench.hangs_on = [slow]
    async with running(bench.worker), bench.caution.turns.together():
        await bench.send([slow])
        await wait_all_tasks_blocked()
        assert bench.batches == []  # it waits until nobody else is at work
    async with running(bench.worker):
        await bench.send([slow])
        for _ in range(3):
            await anyio.sleep(LONGEST_TURN_S / 3 - 1)
            await bench.outbox.renew()
        got_a_turn = anyio.Event()

        async def wait_for_a_turn() -> None:
            async with bench.caution.turns.together():
                got_a_turn.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait_for_a_turn)
            await wait_all_tasks_blocked()
            assert not got_a_turn.is_set()
            await anyio.sleep(4)
            assert got_a_turn.is_set()
        assert bench.outbox.begun[-1] == ([slow], False)


@on_virtual_time
async def test_a_suspect_job_waits_two_minutes_for_long_work_and_is_not_blamed_beside_it() -> None:
    bench = Bench(capacity=2)
    other = Bench(caution=bench.caution)
    long, suspect, later = a_job(), a_job(), a_job()
    bench.hangs_on, other.outbox.deaths = [long], {suspect: 2}
    async with running(bench.worker), running(other.worker):
        await bench.send([long])
        await wait_all_tasks_blocked()
        await other.send([suspect])
        await other.send([later])
        for _ in range(3):
            await anyio.sleep(LONGEST_TURN_S / 3 - 1)
            assert other.batches == []
            await bench.outbox.renew()
            await other.outbox.renew()
        await anyio.sleep(4)
        assert other.batches == [[suspect], [later]]
        assert other.outbox.begun == [([suspect], False), ([suspect], False), ([later], False)]
        assert bench.outbox.released == []
    async with running(other.worker):
        await other.send([suspect])
        await wait_all_tasks_blocked()
    assert other.outbox.begun[-1] == ([suspect], True)


async def test_nothing_is_done_that_could_not_be_told_of_before() -> None:
    bench = Bench()
    batches = [[a_job()], [a_job()]]
    bench.outbox.begin_fault = DatabaseUnavailable("away")
    await bench.works_off(*batches)
    assert bench.batches == bench.outbox.failed == []
    assert bench.outbox.released == [job for batch in batches for job in batch]


async def test_what_a_handler_says_has_failed_fails_for_its_own_reason_and_the_rest_is_done() -> None:
    bench = Bench()
    jobs = [a_job() for _ in range(5)]
    long, silent = InternalError("too long"), ProviderUnavailable("no answer")
    bench.bad[jobs[0]] = JobsFailed([(jobs[1], long), (jobs[2], silent), (jobs[4], long)])
    with capture_logs() as logs:
        await bench.works_off(jobs)
    assert bench.batches == [jobs]
    assert bench.outbox.failed == [
        (jobs[1], "InternalError: too long"),
        (jobs[4], "InternalError: too long"),
        (jobs[2], "ProviderUnavailable: no answer"),
    ]
    assert [(line["event"], line["jobs"]) for line in logs] == [
        ("toy_failed", 2),
        ("toy_failed", 1),
    ]


@pytest.mark.parametrize(
    "fault",
    [
        ProviderUnavailable("asleep"),
        ProviderRefused("no", provider_status=401),
        Retryable("met another"),
    ],
)
async def test_an_outage_fails_the_whole_batch_after_one_try(fault: Exception) -> None:
    bench = Bench()
    jobs = [a_job() for _ in range(3)]
    bench.bad[jobs[0]] = fault
    await bench.works_off(jobs)
    assert bench.batches == [jobs]
    assert [job for job, _ in bench.outbox.failed] == jobs


async def test_an_outage_met_while_jobs_are_tried_alone_fails_the_ones_it_met() -> None:
    bench = Bench()
    jobs = [a_job() for _ in range(3)]
    bench.bad = {jobs[0]: ValueError("bad"), jobs[2]: ProviderUnavailable("asleep")}
    await bench.works_off(jobs)
    assert bench.done == [jobs[1]]
    assert [job for job, _ in bench.outbox.failed] == [jobs[0], jobs[2]]


@pytest.mark.parametrize("fault", [DatabaseUnavailable("away"), Retryable("met another")])
async def test_a_failure_that_cannot_be_recorded_does_not_stop_it(fault: DatabaseUnavailable) -> None:
    bench = Bench()
    bad, good = a_job(), a_job()
    bench.bad[bad] = ProviderUnavailable("asleep")
    bench.outbox.fault = fault
    await bench.works_off([bad], [good])
    assert bench.done == [good]
    assert bench.outbox.failed == []


async def test_jobs_in_hand_and_in_the_channel_are_given_back_when_it_is_stopped() -> None:
    bench = Bench(capacity=3)
    in_hand, waiting = [a_job(), a_job()], [[a_job()], [a_job(), a_job()]]
    bench.hangs_on = in_hand
    await bench.works_off(in_hand, *waiting)
    assert bench.outbox.released == [*in_hand, *waiting[0], *waiting[1]]
    assert bench.outbox.failed == bench.done == []


async def test_when_all_leases_are_lost_work_is_cancelled_and_what_waits_is_given_back_undone() -> None:
    bench = Bench(capacity=3)
    in_hand, waiting, later = [a_job(), a_job()], [a_job()], [a_job()]
    bench.hangs_on = in_hand
    with capture_logs() as logs:
        async with running(bench.worker):
            await bench.send(in_hand)
            await bench.send(waiting)
            await wait_all_tasks_blocked()
            bench.outbox.presence.untell()
            await bench.send(later)
            await wait_all_tasks_blocked()
            assert bench.outbox.released == [*in_hand, *waiting]
            assert bench.batches == [in_hand, later]
    assert [(line["event"], line["jobs"]) for line in logs] == [("leases_lost", 2)]
    assert bench.outbox.failed == []


async def test_a_batch_of_which_one_lease_is_lost_is_given_back_and_others_are_done() -> None:
    bench = Bench(capacity=3)
    lost, other = [a_job(), a_job()], [a_job()]
    bench.hangs_on = lost
    async with running(bench.worker):
        await bench.send(lost)
        await bench.send(other)
        await wait_all_tasks_blocked()
        bench.outbox.lost = lost[1:]
        await bench.outbox.renew()
        await wait_all_tasks_blocked()
        assert (bench.outbox.released, bench.done) == (lost, other)


@on_virtual_time
async def test_work_ends_with_a_lease_that_cannot_be_renewed_and_goes_on_with_one_that_is() -> None:
    bench = Bench()
    jobs = [a_job()]
    bench.hangs_on = jobs
    async with running(bench.worker):
        await bench.send(jobs)
        await anyio.sleep(LEASE_S / 2)
        await bench.outbox.renew()
        await anyio.sleep(LEASE_S - 1)
        assert bench.outbox.released == []
        await anyio.sleep(2)
        assert bench.outbox.released == jobs


async def test_a_later_lease_of_a_job_is_not_mistaken_for_the_one_that_was_lost() -> None:
    bench = Bench(capacity=3)
    old = a_job()
    new = replace(old, lease=1)
    bench.outbox.hold([old])
    bench.outbox.presence.untell()
    bench.outbox.hold([new])
    async with running(bench.worker):
        await bench.work.send([old])
        await wait_all_tasks_blocked()
        assert (bench.outbox.released, bench.batches) == ([old], [])
        assert bench.outbox.leases.held() == [new]
        await bench.work.send([new])
        await wait_all_tasks_blocked()
    assert bench.done == [new]


async def test_stopping_it_while_it_waits_gives_nothing_back() -> None:
    bench = Bench()
    await bench.works_off()
    assert bench.outbox.released == []


async def test_a_stop_ends_even_while_the_database_is_away() -> None:
    bench = Bench(capacity=2)
    in_hand = [a_job()]
    bench.hangs_on = in_hand
    async with running(bench.worker):
        await bench.send(in_hand)
        await bench.send([a_job()])
        await wait_all_tasks_blocked()
        bench.outbox.fault = DatabaseUnavailable("away")
    assert bench.outbox.released == []


async def test_the_log_names_the_fault_without_the_words_of_a_note() -> None:
    bench = Bench()
    job = a_job()
    bench.bad[job] = ValueError(TEXT)
    with capture_logs() as logs:
        await bench.works_off([job])
    (line,) = logs
    assert line.pop("exc_info") is bench.bad[job]
    assert TEXT not in json.dumps(line)
    assert (line["event"], line["error"], line["actor"]) == ("toy_failed", "ValueError", "toy_worker_1")


async def test_it_may_be_run_again() -> None:
    bench = Bench()
    jobs = [a_job()]
    await bench.works_off()
    await bench.works_off(jobs)
    assert bench.done == jobs
