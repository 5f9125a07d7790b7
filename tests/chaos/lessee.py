"""A process that works off the toy outbox and writes down what it has; it is there to be killed.

    python -m tests.chaos.lessee DSN NAME LEASE_S [LOCK]

LOCK is the name by which it tells of its presence: with one of its own, nobody knows of it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import anyio

from actors.dispatcher import Dispatcher
from actors.kernel import Channel
from actors.outbox_wake import OutboxListener
from actors.outbox_worker import OutboxWorker
from elf.core.errors import ProviderUnavailable
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.outbox.leased import Job, JobsFailed, LeasedOutbox, Retries, outbox_queries
from elf.outbox.queue import Queue

WORKERS = 2
BATCH = 8  # so that a process has up to 32: two in work, one that waits, one in hand
LONGEST_WORK_S = 0.15  # for one job
FAILURES = 0.1

BEGIN = "INSERT INTO toy_work (outbox_id, worker) SELECT unnest($1::uuid[]), $2"
END = """
UPDATE toy_work SET ended = clock_timestamp(), done = $3
WHERE outbox_id = ANY ($1::uuid[]) AND worker = $2 AND ended IS NULL
"""


class WatchedOutbox(LeasedOutbox):
    """The toy outbox. It is written down who has a job from the moment that he has it, until just before he has not."""

    def __init__(self, database: Database, name: str, *, lease_seconds: float, lock: str) -> None:
        queries = outbox_queries("toy_outbox", subject="toy_id", own=Queries({}))
        retries = Retries(first_s=0.05, longest_s=0.2)
        super().__init__(database, queries, table=lock, lease_seconds=lease_seconds, retries=retries)
        self._name = name

    async def lease(self, limit: int) -> list[Job]:
        jobs = await super().lease(limit)
        if jobs:
            async with self._database.connection() as connection:
                await connection.execute(BEGIN, [job.outbox_id for job in jobs], self._name)
        return jobs

    async def fail(self, jobs: Sequence[Job], error: str) -> None:
        async with self._database.connection() as connection:
            await self.note_end(jobs, connection, done=False)
        await super().fail(jobs, error)

    async def note_end(self, jobs: Sequence[Job], connection: Connection, *, done: bool) -> None:
        await connection.execute(END, [job.outbox_id for job in jobs], self._name, done)

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do jobs; it fails now and then."""
        await anyio.sleep(random.uniform(0.0, LONGEST_WORK_S) * len(jobs))
        if random.random() < FAILURES:
            raise JobsFailed([(job, ProviderUnavailable("as it does now and then")) for job in jobs])
        async with self._database.transaction() as connection:
            await self.note_end(jobs, connection, done=True)
            await self.finish(jobs, connection)


async def main(dsn: str, name: str, lease_s: str, lock: str = "toy_outbox") -> None:
    database = Database(max_conns=4)
    await database.open(dsn)
    outbox = WatchedOutbox(database, name, lease_seconds=float(lease_s), lock=lock)
    queue = Queue(
        family="toys", name="toy", outbox=outbox, handle=outbox.handle, batch_size=BATCH, poll_interval_s=0.1
    )
    listener = OutboxListener(lambda: dsn)
    listener.tell(outbox.presence)
    wake: Channel[None] = Channel("wake", 1, "drop")
    work: Channel[list[Job]] = Channel("work", 1, "block")
    async with anyio.create_task_group() as group:
        await group.start(listener.run)
        for number in range(WORKERS):
            await group.start(OutboxWorker(number, queue, work=work, is_crowded=lambda: False).run)
        await group.start(Dispatcher(queue, wake=wake, work=work).run)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
