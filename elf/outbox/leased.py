"""A leased outbox over any table of that shape.

A job is leased by pushing its available_at forward, so the job of a worker that dies comes back when the lease ends.
A failed job comes back after a growing delay, for ever: what an outbox holds is guaranteed to be done.

The end of a lease is the last resort. A process renews the leases of what waits or is worked on in it, gives back what
it could not give back at once as soon as it leases again, and, when it starts where no other works, gives back what a
dead one had leased.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import anyio

from elf.core.errors import ServiceError
from elf.core.secrets import redact
from elf.db.database import Database
from elf.db.queries import Queries

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
LEASE_TIMEOUT_S = 3.0
RELEASED_AT_ONCE = 10_000
MAX_ERROR_CHARS = 1024

# The advisory lock that each process holds shared while it works (any number that no other user of the database takes).
PRESENCE_LOCK = int.from_bytes(b"elf:work")


@dataclass(frozen=True, slots=True)
class Job:
    """One leased job about one subject (the note, the trace, ...)."""

    outbox_id: UUID
    subject_id: UUID
    op: str
    attempts: int
    created_at: datetime


class JobsFailed(Exception):
    """Raised by a handler that has done all of its jobs but some; `failed` says of each of those why not."""

    def __init__(self, failed: Sequence[tuple[Job, ServiceError]]) -> None:
        super().__init__(f"{len(failed)} jobs failed")
        self.failed = failed


class OutboxStatistics(NamedTuple):
    """How many jobs wait, how many of them failed before, and when the oldest was made."""

    pending: int
    failed: int
    oldest: datetime | None


class LeasedOutbox:
    """Leases and ends the jobs of one table, by the queries lease_jobs, fail_jobs, release_jobs, release_abandoned,
    outbox_statistics, and renew_jobs where leases are renewed.

    What it takes to finish a job differs between tables; the handler of the jobs does that, and who called it says so
    by `let_go`. `terms` are the last arguments of a lease_jobs that has more than a limit and the length of a lease:
    which kind of jobs it leases, how much work they may be.
    """

    def __init__(
        self, database: Database, queries: Queries, *, lease_seconds: float, terms: Sequence[object] = ()
    ) -> None:
        self._database = database
        self._sql = queries
        self._lease = timedelta(seconds=lease_seconds)
        self._terms = terms
        self._held: dict[UUID, Job] = {}  # leased here, and waiting or worked on
        self._owed: set[UUID] = set()  # leased here, and neither ended nor given back: Postgres was away

    async def lease(self, limit: int) -> list[Job]:
        """Lease up to `limit` due jobs, in the order they are due; those that could not be given back are due, too.

        Once Postgres has been asked, a cancellation waits for the answer.
        """
        if owed := list(self._owed):
            await self._release(owed)
            self._owed.difference_update(owed)
        async with self._database.connection() as connection:
            # A lease that was cut off may have been taken, and nobody would know of it.
            with anyio.CancelScope(shield=True):
                rows = await connection.fetch(
                    self._sql["lease_jobs"], limit, self._lease, *self._terms, timeout=LEASE_TIMEOUT_S
                )
            jobs = [Job(**dict(row)) for row in rows]
            self._held.update((job.outbox_id, job) for job in jobs)
        return jobs

    async def renew(self) -> None:
        """Begin the leases anew of all jobs that were leased here and not let go."""
        held = list(self._held.values())
        if held:
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["renew_jobs"],
                    [job.outbox_id for job in held], [job.attempts for job in held], self._lease,
                    timeout=LEASE_TIMEOUT_S,
                )  # fmt: skip

    def let_go(self, jobs: Sequence[Job]) -> None:
        """Renew the leases of jobs no longer: nobody here works on them any more."""
        for job in jobs:
            self._held.pop(job.outbox_id, None)

    async def fail(self, jobs: Sequence[Job], error: str) -> None:
        """Put jobs off; `error` is kept redacted and cut to 1,024 characters."""
        with self._owing(jobs):
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["fail_jobs"],
                    [job.outbox_id for job in jobs],
                    [backoff(job.attempts + 1) for job in jobs],
                    redact(error)[:MAX_ERROR_CHARS],
                )

    async def release(self, jobs: Sequence[Job]) -> None:
        """Give leased jobs back untouched, due at once."""
        with self._owing(jobs):
            await self._release([job.outbox_id for job in jobs])

    async def release_abandoned(self) -> int:
        """Give back all leased or put off jobs, if no process holds PRESENCE_LOCK; returns how many.

        Without that lock nobody works, so whoever leased them is dead. It goes page by page: after a long outage all
        jobs there are may be put off. Those that are left when somebody begins to work come back by themselves.
        """
        released, page = 0, RELEASED_AT_ONCE
        while page == RELEASED_AT_ONCE:
            async with self._database.connection() as connection:
                page = len(
                    await connection.fetch(self._sql["release_abandoned"], PRESENCE_LOCK, RELEASED_AT_ONCE)
                )
            released += page
        return released

    async def _release(self, outbox_ids: Sequence[UUID]) -> None:
        async with self._database.connection() as connection:
            await connection.execute(self._sql["release_jobs"], outbox_ids)

    @contextmanager
    def _owing(self, jobs: Sequence[Job]) -> Iterator[None]:
        self.let_go(jobs)
        try:
            yield
        except BaseException:  # also a cancellation
            self._owed.update(job.outbox_id for job in jobs)
            raise

    async def statistics(self) -> OutboxStatistics:
        """Count what waits."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["outbox_statistics"])
        assert row is not None
        return OutboxStatistics(row["pending"], row["failed"], row["oldest"])


def backoff(attempt: int) -> timedelta:
    """Return the delay after the nth failure: 0.5 s x 2^(n-1) with up to a quarter of jitter, at most 30 s."""
    delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(attempt - 1, 16))
    return timedelta(seconds=delay * random.uniform(0.75, 1.0))
