"""Delivers events: those of one lane one after the other, some lanes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from uuid import UUID

import anyio

from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.db.queries import Queries
from elf.outbox.leased import JobsFailed, LeasedOutbox
from elf.outbox.leases import Job
from elf.webhooks.model import Event
from elf.webhooks.sending import Receiver


class Deliveries:
    """Does the jobs of one webhook. An event that was delivered is gone when the next of its lane is sent."""

    def __init__(
        self, database: Database, queries: Queries, outbox: LeasedOutbox, receiver: Receiver
    ) -> None:
        self._database = database
        self._sql = queries
        self._outbox = outbox
        self._receiver = receiver

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Deliver leased events. What waits for one that was not taken is given back; that one is in JobsFailed."""
        by_id = {job.outbox_id: job for job in jobs}
        events = await self._read(jobs)
        failed: list[tuple[Job, ServiceError]] = []
        async with anyio.create_task_group() as group:
            for _, lane in groupby(events, key=lambda event: event.lane):
                group.start_soon(self._deliver_lane, list(lane), by_id, failed)
        touched = {event.outbox_id for event in events}
        if out_of_turn := [job for job in jobs if job.outbox_id not in touched]:
            await self._outbox.release(out_of_turn)
        if failed:
            raise JobsFailed(failed)

    async def _deliver_lane(
        self, lane: Sequence[Event], jobs: Mapping[UUID, Job], failed: list[tuple[Job, ServiceError]]
    ) -> None:
        for place, event in enumerate(lane):
            job = jobs[event.outbox_id]
            try:
                await self._receiver.send(event)
                await self._outbox.finish([job])
            except ServiceError as error:
                failed.append((job, error))
                if waiting := [jobs[later.outbox_id] for later in lane[place + 1 :]]:
                    await self._outbox.release(waiting)
                return

    async def _read(self, jobs: Sequence[Job]) -> list[Event]:
        """Return the events of jobs, lane by lane, without those before which another one is still to be told."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_events"], [job.outbox_id for job in jobs])
        return [Event(**dict(row)) for row in rows]
