"""What operators see of the jobs of a queue, and what they decide of those that were given up.

A job that was given up is never enqueued again by the service itself: an operator retries or discards it.
Reconciliation, repairs, rebuilds and re-embedding pass over the subject of such a job until the subject changes: that
makes a new job, and removes the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, get_args
from uuid import UUID

from elf.db.database import Database
from elf.db.queries import Queries

JobState: TypeAlias = Literal["PENDING", "FAILED", "GIVEN_UP", "DISCARDED"]
"""PENDING waits or is at work for the first time, FAILED will be retried, GIVEN_UP and DISCARDED will not."""

JOB_STATES: Final[tuple[JobState, ...]] = get_args(JobState)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSubject:
    """How the statements name what a job `o` of an outbox is about, as SQL.

    kind: what it is, such as 'note'. tenant: whose it is, NULL where that is nobody's. id: as people know it, which is
    the subject of the job by default. which: whether a row is of this outbox, where a table holds several.
    """

    kind: str
    tenant: str = "o.tenant_id"
    id: str = "o.<subject>"
    which: str = "true"

    def values(self) -> Mapping[str, str]:
        """Return what stands for the names in the statements; that of the subject is still to be filled in."""
        return {"kind": self.kind, "tenant": self.tenant, "about": f"({self.id})::text", "which": self.which}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """A job as operators see it. subject_id and subject_kind say what it is about; last_error is redacted."""

    id: UUID
    state: JobState
    tenant_id: str | None
    subject_kind: str
    subject_id: str | None
    attempts: int
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    process_deaths: int = 0


class Place(NamedTuple):
    """Where a page ended: listings are in the order of the time jobs were made, newest first, then of their ids."""

    created_at: datetime
    id: UUID


class OperatorJobs(Protocol):
    """The jobs of one queue as operators see them: of a tenant, or of all where that is None."""

    async def page(
        self, states: Sequence[JobState], after: Place, limit: int, *, tenant_id: str | None
    ) -> list[ListedJob]:
        """Return up to `limit` jobs in these states behind a place."""
        ...

    async def counts(self, *, tenant_id: str | None) -> Mapping[JobState, int]:
        """Return how many jobs there are, by state; one without any may be absent."""
        ...

    async def retry(self, ids: Sequence[UUID], *, tenant_id: str | None, by: str | None) -> Sequence[UUID]:
        """Have those of the jobs that were given up tried again now; returns which. `by` says who decided so."""
        ...

    async def discard(self, ids: Sequence[UUID], *, tenant_id: str | None, by: str | None) -> Sequence[UUID]:
        """End those of the jobs that were given up for good; returns which. `by` says who decided so."""
        ...


class OutboxJobs:
    """The jobs of an outbox, by its statements."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def page(
        self, states: Sequence[JobState], after: Place, limit: int, *, tenant_id: str | None
    ) -> list[ListedJob]:
        """Return up to `limit` jobs in these states behind a place."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["list_jobs"], states, *after, tenant_id, limit)
        return [ListedJob(**dict(row)) for row in rows]

    async def counts(self, *, tenant_id: str | None) -> Mapping[JobState, int]:
        """Return how many jobs there are, by state."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["count_jobs"], tenant_id)
        return {row["state"]: row["jobs"] for row in rows}

    async def retry(self, ids: Sequence[UUID], *, tenant_id: str | None, by: str | None) -> Sequence[UUID]:
        """Have those of the jobs that were given up tried again now; returns which."""
        return await self._decide("retry_jobs", ids, tenant_id)

    async def discard(self, ids: Sequence[UUID], *, tenant_id: str | None, by: str | None) -> Sequence[UUID]:
        """End those of the jobs that were given up for good; returns which."""
        return await self._decide("discard_jobs", ids, tenant_id)

    async def _decide(self, statement: str, ids: Sequence[UUID], tenant_id: str | None) -> list[UUID]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql[statement], ids, tenant_id)
        return [row["outbox_id"] for row in rows]
