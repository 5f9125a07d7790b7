"""Which jobs are blamed for the end of a process: those that were all it was at, and never by a stop or an outage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import anyio
import pytest

from actors.signals.outbox_wake import OutboxListener
from elf.db.connect import connect
from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job
from tests.db.notes.conftest import House

pytestmark = pytest.mark.anyio

OPEN = "SELECT count(*) FROM indexing_outbox WHERE status IN ('PENDING', 'FAILED')"
STATES = "SELECT array_agg(status ORDER BY status) FROM indexing_outbox"


class Hand:
    """A process at work on the indexing jobs of a house; a session tells others that it lives."""

    def __init__(self, house: House, dsn: str, outbox: LeasedOutbox) -> None:
        self._house = house
        self._dsn = dsn
        self.outbox = outbox

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """Live for the block, and be gone without a word after it."""
        session = await connect(self._dsn, timeout=5)
        try:
            await self.outbox.presence.tell(session)
            yield
        finally:
            self.outbox.presence.untell()
            await session.close()

    async def begin(self, *, is_alone: bool = False, slot: int = 0) -> tuple[list[Job], Mapping[UUID, int]]:
        """Lease what is due and begin it; returns the jobs, and the deaths of the suspect ones."""
        jobs = await self.outbox.lease(10)
        return jobs, await self.outbox.begin(jobs, slot=slot, is_alone=is_alone)


@pytest.fixture
def a_hand(house: House, database_dsn: str) -> Hands:
    return Hands(house, database_dsn)


class Hands:
    def __init__(self, house: House, dsn: str) -> None:
        self._house = house
        self._dsn = dsn

    def __call__(self, *, lease_seconds: float = 60) -> Hand:
        version = self._house.model.version
        return Hand(self._house, self._dsn, self._house.outbox_of(version, lease_seconds=lease_seconds))


async def enqueue(house: House, count: int = 1) -> None:
    subjects: Sequence[UUID] = [uuid4() for _ in range(count)]
    await house.execute(house.queries["enqueue_indexing"], subjects, ["UPSERT"] * count, house.model.version)


async def test_what_a_process_was_at_with_others_is_suspect_and_not_blamed(
    house: House, a_hand: Hands
) -> None:
    await enqueue(house, 3)
    first = a_hand()
    async with first.session():
        jobs, suspect = await first.begin()
        assert (len(jobs), suspect) == (3, {})
    second = a_hand()
    async with second.session():
        jobs, suspect = await second.begin()
        assert suspect == dict.fromkeys((job.outbox_id for job in jobs), 0)
        assert len(jobs) == 3


async def test_what_was_leased_and_not_begun_is_not_suspect(house: House, a_hand: Hands) -> None:
    await enqueue(house)
    first = a_hand()
    async with first.session():
        await first.outbox.lease(10)
    second = a_hand()
    async with second.session():
        jobs, suspect = await second.begin()
        assert (len(jobs), suspect) == (1, {})


async def test_a_job_is_blamed_for_each_process_that_ended_while_it_was_alone(
    house: House, a_hand: Hands
) -> None:
    await enqueue(house)
    for deaths in range(4):
        hand = a_hand()
        async with hand.session():
            (job,), suspect = await hand.begin(is_alone=True)
            assert suspect == ({job.outbox_id: deaths} if deaths else {})
    other = a_hand()
    async with other.session():
        (job_again,), _ = await other.begin(is_alone=True)
        await hand.outbox.give_up([job], "3 processes ended")
        assert await house.value(STATES) == ["PENDING"]  # it is another's by now
        await other.outbox.give_up([job_again], "4 processes ended")
    assert await house.value(STATES) == ["GIVEN_UP"]
    assert await house.value("SELECT last_error FROM indexing_outbox") == "4 processes ended"
    assert await a_hand().outbox.lease(10) == []


async def test_a_lease_that_runs_out_while_others_live_tells_of_the_end_of_its_process(
    house: House, a_hand: Hands
) -> None:
    await enqueue(house)
    other = a_hand()
    async with other.session():
        first = a_hand(lease_seconds=0)
        async with first.session():
            await first.begin(is_alone=True)
        (job,), suspect = await other.begin(is_alone=True)
        assert suspect == {job.outbox_id: 1}


async def test_a_process_that_lives_after_all_is_not_counted(house: House, a_hand: Hands) -> None:
    await enqueue(house)
    first, other = a_hand(), a_hand()
    async with first.session():
        await first.begin(is_alone=True)
    async with other.session():  # while the first has no session
        (job,), suspect = await other.begin()
        assert suspect == {job.outbox_id: 1}
        async with first.session():
            assert await other.outbox.begin([job], slot=0) == {job.outbox_id: 0}


async def test_a_process_whose_lease_was_taken_while_it_was_slow_is_not_counted(
    house: House, a_hand: Hands
) -> None:
    await enqueue(house)
    slow, other = a_hand(lease_seconds=0), a_hand()
    async with slow.session(), other.session():
        await slow.begin(is_alone=True)
        (job,), suspect = await other.begin()
        assert suspect == {job.outbox_id: 1}
        await slow.outbox.renew()
        assert await other.outbox.begin([job], slot=0) == {job.outbox_id: 0}


async def test_an_outage_counts_nothing_against_what_the_process_was_at(house: House, a_hand: Hands) -> None:
    await enqueue(house)
    hand = a_hand()
    for _ in range(4):
        async with hand.session():
            _, suspect = await hand.begin(is_alone=True)
            assert suspect == {}


@pytest.mark.parametrize("end", ["release", "fail", "finish"])
async def test_what_ended_before_the_process_is_not_suspect(house: House, a_hand: Hands, end: str) -> None:
    await enqueue(house)
    first = a_hand()
    async with first.session():
        jobs, _ = await first.begin(is_alone=True)
        if end == "release":
            await first.outbox.release(jobs)
        elif end == "fail":
            await first.outbox.fail(jobs, "it was refused")
        else:
            now = await house.value("SELECT now()")
            ids = [job.outbox_id for job in jobs], [job.subject_id for job in jobs]
            await house.execute(house.queries["finish_jobs"], *ids, [now], [house.model.version])
    second = a_hand()
    async with second.session():
        jobs, suspect = await second.begin()
        assert (len(jobs), suspect) == (1, {})  # finished, but its subject is another by now


async def test_a_stop_counts_nothing_even_if_the_process_is_killed_before_it_is_done(
    house: House, a_hand: Hands, database_dsn: str
) -> None:
    await enqueue(house)
    first = a_hand()
    listener = OutboxListener(lambda: database_dsn)
    listener.tell(first.outbox.presence)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.run)
        await first.outbox.presence.wait_told()
        await first.begin(is_alone=True)
        group.cancel_scope.cancel()  # the job is never given back
    second = a_hand()
    async with second.session():
        jobs, suspect = await second.begin()
        assert (len(jobs), suspect) == (1, {})


async def test_each_slot_tells_of_its_newest_batch(house: House, a_hand: Hands) -> None:
    first = a_hand()
    async with first.session():
        with first.outbox.slot() as one, first.outbox.slot() as two:
            assert (one, two) == (0, 1)
            for slot in (one, two, one):
                await enqueue(house)
                jobs, _ = await first.begin(slot=slot)
                newest = {job.outbox_id for job in jobs}
        with first.outbox.slot() as again:
            assert again == 0
    second = a_hand()
    async with second.session():
        jobs, suspect = await second.begin()
        assert len(jobs) == 3
        assert newest < suspect.keys()
        assert len(suspect) == 2


async def test_suspicions_against_what_is_done_are_forgotten(house: House, a_hand: Hands) -> None:
    await enqueue(house)
    for _ in range(2):
        hand = a_hand()
        async with hand.session():
            await hand.begin()
    assert await house.value("SELECT count(*) FROM suspect_jobs") == 1
    await house.execute("DELETE FROM indexing_outbox")
    async with a_hand().session():
        assert await house.value("SELECT count(*) FROM suspect_jobs") == 0
