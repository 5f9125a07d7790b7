"""The dispatcher: it leases when woken and by the clock, and what it cannot hand over it gives back."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from actors.kernel import Channel
from actors.workers.dispatcher import GATHER_S, RELEASE_TIMEOUT_S, TRIES_TO_RENEW, Dispatcher
from elf.core.errors import DatabaseUnavailable
from elf.db.errors import Retryable
from elf.outbox.leases import Job
from elf.outbox.queue import Queue
from tests.actors.outbox_kit import LEASE_S, FakeOutbox, a_job, on_virtual_time, running

pytestmark = pytest.mark.anyio

POLL_S = 30.0
RENEW_S = LEASE_S / TRIES_TO_RENEW


class Desk:
    """A dispatcher with its channels."""

    def __init__(self, *due: Job, batch_size: int = 2) -> None:
        self.outbox = FakeOutbox(*due)
        self.wake: Channel[None] = Channel("wake", 1, "drop")
        self.work: Channel[list[Job]] = Channel("work", 1, "block")
        queue = Queue(
            family="toys",
            name="toy",
            outbox=self.outbox,
            handle=_nobody_handles,
            batch_size=batch_size,
            poll_interval_s=POLL_S,
        )
        self.dispatcher = Dispatcher(queue, wake=self.wake, work=self.work)


async def _nobody_handles(jobs: Sequence[Job]) -> None:
    raise AssertionError("the workers do it")


async def test_what_is_due_at_the_start_is_leased_at_once_in_batches() -> None:
    jobs = [a_job() for _ in range(5)]
    desk = Desk(*jobs)
    async with running(desk.dispatcher):
        assert [await desk.work.receive() for _ in range(3)] == [jobs[:2], jobs[2:4], jobs[4:]]


async def test_it_leases_only_while_others_know_that_it_does() -> None:
    jobs = [a_job() for _ in range(6)]
    desk = Desk(*jobs)
    desk.outbox.presence.untell()
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        assert desk.outbox.times_leased == 0
        desk.outbox.presence._told.set()
        await wait_all_tasks_blocked()
        desk.outbox.presence.untell()
        assert [await desk.work.receive() for _ in range(2)] == [jobs[:2], jobs[2:4]]
        await wait_all_tasks_blocked()
        assert desk.outbox.due == jobs[4:]
        desk.outbox.presence.untell()
        desk.outbox.presence._told.set()
        assert await desk.work.receive() == jobs[4:]


async def test_a_wake_up_leases_without_waiting_for_the_clock() -> None:
    desk = Desk()
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        job = a_job()
        desk.outbox.due.append(job)
        desk.wake.send_nowait(None)
        assert await desk.work.receive() == [job]


@on_virtual_time
async def test_a_wake_up_while_it_leases_is_not_lost() -> None:
    desk = Desk(a_job())
    async with running(desk.dispatcher):
        desk.wake.send_nowait(None)
        await anyio.sleep(2 * GATHER_S)
        assert desk.outbox.times_leased == 3, "the second one found nothing"


@on_virtual_time
async def test_what_is_written_shortly_after_a_wake_up_shares_its_lease() -> None:
    desk = Desk(batch_size=8)
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        jobs = [a_job() for _ in range(3)]
        desk.outbox.due.append(jobs[0])
        desk.wake.send_nowait(None)
        await anyio.sleep(GATHER_S / 2)
        desk.outbox.due += jobs[1:]
        assert await desk.work.receive() == jobs


@on_virtual_time
async def test_without_a_wake_up_it_leases_by_the_clock() -> None:
    desk = Desk()
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        desk.outbox.due.append(a_job())
        began = anyio.current_time()
        await desk.work.receive()
        assert anyio.current_time() - began == pytest.approx(POLL_S)


@on_virtual_time
async def test_the_leases_of_what_waits_and_of_what_is_worked_on_are_renewed() -> None:
    jobs = [a_job() for _ in range(6)]
    desk = Desk(*jobs)
    async with running(desk.dispatcher):
        in_work = await desk.work.receive()
        await anyio.sleep(RENEW_S + 1)
        assert desk.outbox.renewals == [jobs], "in work, in the channel and in hand"
        desk.outbox.let_go(in_work)
        desk.outbox.fault = DatabaseUnavailable("away")
        await anyio.sleep(RENEW_S)
        desk.outbox.fault = None
        await anyio.sleep(RENEW_S)
        assert desk.outbox.renewals == [jobs, jobs[2:]], "an outage ends it no more than it ends the leasing"


async def test_it_leases_no_more_while_the_workers_are_busy() -> None:
    jobs = [a_job() for _ in range(7)]
    desk = Desk(*jobs)
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        assert desk.outbox.times_leased == 2, "one batch in the channel, one in hand"
        assert await desk.work.receive() == jobs[:2]
        await wait_all_tasks_blocked()
        assert desk.outbox.times_leased == 3


async def test_jobs_in_hand_are_given_back_when_it_is_stopped() -> None:
    jobs = [a_job() for _ in range(4)]
    desk = Desk(*jobs)
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
    assert desk.outbox.released == jobs[2:]
    assert desk.work.receive_nowait() == jobs[:2]


async def test_stopping_it_while_it_waits_gives_nothing_back() -> None:
    desk = Desk()
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
    assert desk.outbox.released == []


@pytest.mark.parametrize("fault", [DatabaseUnavailable("away"), Retryable("met another")])
async def test_jobs_that_cannot_be_given_back_do_not_hinder_the_stop(fault: DatabaseUnavailable) -> None:
    desk = Desk(*[a_job() for _ in range(4)])
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        desk.outbox.fault = fault
    assert desk.outbox.released == []


@on_virtual_time
async def test_giving_back_has_a_deadline() -> None:
    desk = Desk(*[a_job() for _ in range(4)])
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        desk.outbox.hangs = True
        stopped = anyio.current_time()
    assert anyio.current_time() - stopped == pytest.approx(RELEASE_TIMEOUT_S)


@on_virtual_time
@pytest.mark.parametrize("fault", [DatabaseUnavailable("away"), Retryable("met another")])
async def test_it_outlives_an_outage(fault: DatabaseUnavailable) -> None:
    desk, job = Desk(), a_job()
    async with running(desk.dispatcher):
        await wait_all_tasks_blocked()
        desk.outbox.fault = fault
        desk.outbox.due.append(job)
        await anyio.sleep(POLL_S * 5)
        assert desk.outbox.due == [job]
        desk.outbox.fault = None
        assert await desk.work.receive() == [job]


async def test_any_other_fault_is_the_supervisors_business() -> None:
    desk = Desk()
    desk.outbox.lease = None  # type: ignore[method-assign, assignment]
    with pytest.raises(BaseExceptionGroup) as caught:
        async with running(desk.dispatcher):
            await anyio.sleep_forever()
    assert caught.group_contains(TypeError)
