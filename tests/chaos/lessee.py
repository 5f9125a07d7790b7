"""A process that works off the toy outbox and writes down what it has; it is there to be killed.

    python -m tests.chaos.lessee DSN NAME LEASE_S [FAULT]

FAULT is planted. `alone`: it tells nobody of its presence. `deaf`: it goes on when its session is gone, until it is
back. `unfenced`: until others are done, and it ends jobs whatever lease of them it has.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import anyio

from actors.kernel import Channel
from actors.signals.outbox_wake import OutboxListener
from actors.workers.dispatcher import Dispatcher
from actors.workers.leased_work import Caution
from actors.workers.outbox_worker import OutboxWorker
from elf.core.errors import ProviderUnavailable
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import JobsFailed, LeasedOutbox, Retries, outbox_queries
from elf.outbox.leases import Job
from elf.outbox.presence import Presence
from elf.outbox.queue import Queue
from elf.outbox.turns import Turns

WORKERS = 2
BATCH = 8  # so that a process has up to 32: two in work, one that waits, one in hand
LONGEST_WORK_S = 0.15  # for one job
FAILURES = 0.1

BEGIN = "INSERT INTO toy_work (worker, outbox_id, lease) SELECT $1, * FROM unnest($2::uuid[], $3::int[])"
END = """
UPDATE toy_work SET ended = coalesce(t.ended, clock_timestamp()), done = $4
FROM unnest($2::uuid[], $3::int[], $5::timestamptz[]) AS t (outbox_id, lease, ended)
WHERE worker = $1 AND toy_work.outbox_id = t.outbox_id AND toy_work.lease = t.lease AND toy_work.ended IS NULL
"""
SESSION = "INSERT INTO toy_sessions (worker, pid) VALUES ($1, pg_backend_pid())"
TOLD = "UPDATE toy_sessions SET told = true WHERE worker = $1 AND pid = pg_backend_pid()"
ALONE = "UPDATE toy_sessions SET alone = true WHERE pid = pg_backend_pid()"
FENCE = "o.leases = t.lease"
DONE = "SELECT bool_or(status = 'DONE') FROM toy_outbox WHERE outbox_id = ANY ($1::uuid[])"
SLOW_S = 20.0


class WatchedPresence(Presence):
    """Writes down its sessions, each before it tells of the process."""

    name: str

    @property
    def is_told(self) -> bool:
        return self._told.is_set()

    async def tell(self, session: Connection) -> None:
        await session.execute(SESSION, self.name)
        await super().tell(session)
        await session.execute(TOLD, self.name)


class WatchedOutbox(LeasedOutbox):
    """The toy outbox. It is written down who has a job from the moment that he has it, until just before he has not."""

    def __init__(self, database: Database, name: str, *, lease_seconds: float, fault: str) -> None:
        queries = outbox_queries(
            "toy_outbox",
            subject="toy_id",
            about=JobSubject(kind="'toy'", tenant="NULL::text"),
            own=Queries({}),
        )
        if fault == "unfenced":
            queries = Queries({query: sql.replace(FENCE, "true") for query, sql in queries.items()})
        retries = Retries(first_s=0.05, longest_s=0.2)
        super().__init__(database, queries, table="toy_outbox", lease_seconds=lease_seconds, retries=retries)
        self.presence: WatchedPresence = WatchedPresence(
            str(uuid4()) if fault == "alone" else "toy_outbox",
            take_over=self._take_over,
            told=self._come_back,
            leave=self._leave,
            lost=(lambda: None) if fault in {"deaf", "unfenced"} else self._lose_all,
        )
        self.presence.name = self._name = name
        self._fault = fault
        self._lost: dict[tuple[object, int], datetime] = {}

    async def _take_over(self, session: Connection) -> None:
        await session.execute(ALONE)
        await super()._take_over(session)

    def _lose_all(self) -> None:
        now = datetime.now(UTC)
        self._lost.update({(job.outbox_id, job.lease): now for job in self.leases.held()})
        self.leases.lose_all()

    async def lease(self, limit: int) -> list[Job]:
        jobs = await super().lease(limit)
        if held := self.leases.of(jobs):
            async with self._database.connection() as connection:
                await connection.execute(BEGIN, self._name, *_leases(held))
        return jobs

    async def fail(self, jobs: Sequence[Job], error: str) -> None:
        async with self._database.connection() as connection:
            await self.note_end(jobs, connection, done=False)
        await super().fail(jobs, error)

    async def release(self, jobs: Sequence[Job]) -> None:
        async with self._database.connection() as connection:
            await self.note_end(jobs, connection, done=False)
        await super().release(jobs)

    async def _wait_for_others(self, jobs: Sequence[Job]) -> None:
        async with self._database.connection() as connection:
            while not await connection.fetchval(DONE, [job.outbox_id for job in jobs]):  # noqa: ASYNC110
                await anyio.sleep(0.02)

    async def _go_on_without_a_session(self, jobs: Sequence[Job]) -> None:
        with anyio.move_on_after(SLOW_S):
            match self._fault:
                case "deaf":
                    await self.presence.wait_told()
                case "unfenced" if not self.presence.is_told:
                    await self._wait_for_others(jobs)

    async def note_end(self, jobs: Sequence[Job], connection: Connection, *, done: bool) -> None:
        lost = [self._lost.get((job.outbox_id, job.lease)) for job in jobs]
        await connection.execute(END, self._name, *_leases(jobs), done, lost)

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do jobs; it fails now and then."""
        await anyio.sleep(random.uniform(0.0, LONGEST_WORK_S) * len(jobs))
        await self._go_on_without_a_session(jobs)
        if random.random() < FAILURES:
            raise JobsFailed([(job, ProviderUnavailable("as it does now and then")) for job in jobs])
        async with self._database.transaction() as connection:
            await self.note_end(jobs, connection, done=True)
            await self.finish(jobs, connection)


def _leases(jobs: Sequence[Job]) -> tuple[list[object], list[int]]:
    return [job.outbox_id for job in jobs], [job.lease for job in jobs]


async def main(dsn: str, name: str, lease_s: str, fault: str = "") -> None:
    database = Database(max_conns=4)
    await database.open(dsn)
    outbox = WatchedOutbox(database, name, lease_seconds=float(lease_s), fault=fault)
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
            await group.start(
                OutboxWorker(
                    number,
                    queue,
                    work=work,
                    caution=Caution(turns=Turns(settle_s=0.0)),
                    is_crowded=lambda: False,
                ).run
            )
        await group.start(Dispatcher(queue, wake=wake, work=work).run)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
