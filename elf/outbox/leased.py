"""A leased outbox over any table of that shape.

A job is leased by pushing its available_at forward, so the job of a worker that dies comes back when the lease ends.
A failed job comes back after a growing delay, for ever: what an outbox holds is guaranteed to be done.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from elf.core.secrets import redact
from elf.db.database import Database
from elf.db.queries import Queries

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
MAX_ERROR_CHARS = 1024


@dataclass(frozen=True, slots=True)
class Job:
    """One leased job about one subject (the note, the trace, ...)."""

    outbox_id: UUID
    subject_id: UUID
    op: str
    attempts: int
    created_at: datetime


class OutboxStatistics(NamedTuple):
    """How many jobs wait, how many of them failed before, and when the oldest was made."""

    pending: int
    failed: int
    oldest: datetime | None


class LeasedOutbox:
    """Leases and ends the jobs of one table, by the queries lease_jobs, fail_jobs, release_jobs, outbox_statistics.

    What it takes to finish a job differs between tables; the handler of the jobs does that.
    """

    def __init__(self, database: Database, queries: Queries, *, lease_seconds: float) -> None:
        self._database = database
        self._sql = queries
        self._lease = timedelta(seconds=lease_seconds)

    async def lease(self, limit: int) -> list[Job]:
        """Lease up to `limit` due jobs."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["lease_jobs"], limit, self._lease)
        return [Job(**dict(row)) for row in rows]

    async def fail(self, jobs: Sequence[Job], error: str) -> None:
        """Put jobs off; `error` is kept redacted and cut to 1,024 characters."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["fail_jobs"],
                [job.outbox_id for job in jobs],
                [backoff(job.attempts + 1) for job in jobs],
                redact(error)[:MAX_ERROR_CHARS],
            )

    async def release(self, jobs: Sequence[Job]) -> None:
        """Give leased jobs back untouched, due at once."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["release_jobs"], [job.outbox_id for job in jobs])

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
