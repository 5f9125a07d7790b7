"""Delivers events: those of one lane one after the other, some lanes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from uuid import UUID

import anyio

from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.db.queries import Queries
from elf.outbox.leased import JobsFailed, LeasedOutbox, LeaseLost
from elf.outbox.leases import Job
from elf.search.breaker import BreakerState, CircuitBreaker
from elf.webhooks.model import Event
from elf.webhooks.sending import CALLS_AT_ONCE, NotDelivered, Receiver, ReceiverPaused


class Deliveries:
    """Does the jobs of one webhook. An event that was delivered is gone when the next of its lane is sent.

    An event is not put off for a receiver that cannot be reached or, once `breaker` is open, does not refuse it: it
    waits with all others, however long, and has as many attempts as before.
    """

    def __init__(
        self,
        database: Database,
        queries: Queries,
        outbox: LeasedOutbox,
        receiver: Receiver,
        breaker: CircuitBreaker,
    ) -> None:
        self._database = database
        self._sql = queries
        self._outbox = outbox
        self._receiver = receiver
        self._breaker = breaker
        self._calls = anyio.Semaphore(CALLS_AT_ONCE)

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Deliver leased events. What waits for one that was not taken is given back; that one is in JobsFailed."""
        events = await self._read(jobs)
        batch = _Batch({job.outbox_id: job for job in jobs}, self._outbox)
        in_turn = {event.outbox_id for event in events}
        batch.given_back = [job for job in jobs if job.outbox_id not in in_turn]
        async with anyio.create_task_group() as group:
            group.start_soon(batch.finish_delivered)
            async with anyio.create_task_group() as lanes:
                for _, lane in groupby(events, key=lambda event: event.lane):
                    lanes.start_soon(self._deliver_lane, list(lane), batch)
            batch.close()
        if batch.given_back:
            await self._outbox.release(batch.given_back)
        if batch.unavailable is not None:
            await self._note_reason(*batch.unavailable)
        if batch.failed:
            raise JobsFailed(batch.failed)

    async def _deliver_lane(self, lane: Sequence[Event], batch: _Batch) -> None:
        """Deliver events in their order, up to the first that is not taken."""
        for place, event in enumerate(lane):
            job = batch.jobs[event.outbox_id]
            try:
                async with self._calls:  # what waits here is not late, and not sent once the breaker is open
                    refusal = await self._breaker.call(partial(self._send, event))
                if refusal is not None:
                    raise refusal
                await batch.finish(job)
            except ServiceError as error:
                waits = self._waits_for_receiver(error)
                if not waits:
                    batch.failed.append((job, error))
                elif not isinstance(error, ReceiverPaused):
                    batch.unavailable = job, error
                batch.given_back += [batch.jobs[later.outbox_id] for later in lane[place + (not waits) :]]
                return

    async def _send(self, event: Event) -> NotDelivered | None:
        """Send an event; return how a receiver refused it that is there, and raise NotDelivered as `Receiver.send`."""
        try:
            await self._receiver.send(event)
        except NotDelivered as error:
            if error.cause != "refused":
                raise
            return error
        return None

    def _waits_for_receiver(self, error: ServiceError) -> bool:
        """Tell whether an event was not taken because the receiver takes none at all."""
        if isinstance(error, NotDelivered):
            is_unavailable = self._breaker.state is not BreakerState.CLOSED
            return error.cause == "unreachable" or (error.cause == "unclear" and is_unavailable)
        return isinstance(error, ReceiverPaused)

    async def _note_reason(self, job: Job, error: ServiceError) -> None:
        """Have operators see with one event why its receiver is unavailable."""
        async with self._database.connection() as connection:
            reason = f"{type(error).__name__}: {error}"
            await connection.execute(self._sql["note_reason"], job.outbox_id, reason)

    async def _read(self, jobs: Sequence[Job]) -> list[Event]:
        """Return the events of jobs, lane by lane, without those before which another one is still to be told."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_events"], [job.outbox_id for job in jobs])
        return [Event(**dict(row)) for row in rows]


class _Batch:
    """What becomes of leased jobs: those that were delivered are ended, some at once by one statement."""

    def __init__(self, jobs: Mapping[UUID, Job], outbox: LeasedOutbox) -> None:
        self.jobs = jobs
        self.failed: list[tuple[Job, ServiceError]] = []
        self.given_back: list[Job] = []
        self.unavailable: tuple[Job, ServiceError] | None = None
        self._outbox = outbox
        self._delivered: list[_Delivered] = []
        self._is_closed = False
        self._news = anyio.Event()

    def close(self) -> None:
        """Nothing more will be delivered."""
        self._is_closed = True
        self._news.set()

    async def finish(self, job: Job) -> None:
        """End a job that was delivered. Raises LeaseLost and DatabaseUnavailable."""
        delivered = _Delivered(job)
        self._delivered.append(delivered)
        self._news.set()
        await delivered.is_over.wait()
        if delivered.error is not None:
            raise delivered.error

    async def finish_delivered(self) -> None:
        """End what is delivered until `close`: at once all that was while the statement before was under way."""
        while self._delivered or not self._is_closed:
            await self._news.wait()
            self._news = anyio.Event()
            some, self._delivered = self._delivered, []
            if some:
                await self._finish(some)

    async def _finish(self, some: Sequence[_Delivered]) -> None:
        try:
            await self._outbox.finish([one.job for one in some])
        except ServiceError as error:
            if isinstance(error, LeaseLost) and len(some) > 1:  # it is that of one, and the others are to end
                for one in some:
                    await self._finish([one])
                return
            for one in some:
                one.error = error
        for one in some:
            one.is_over.set()


@dataclass(eq=False, slots=True)
class _Delivered:
    job: Job
    is_over: anyio.Event = field(default_factory=anyio.Event)
    error: ServiceError | None = None
