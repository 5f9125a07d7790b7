"""Work that is left in the outbox: each kind of job has what does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID

import anyio

from elf.core.errors import NotOffered, ServiceError
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place
from elf.outbox.leased import JobsFailed
from elf.outbox.leases import Job

KEPT: Final = timedelta(days=1)  # what is done


@dataclass(frozen=True, slots=True)
class Work:
    """A leased job, whose it is, and what it is about."""

    job: Job
    place: Place
    subject_id: UUID
    payload: Mapping[str, Any]
    created_at: datetime


def job_of(work: Work) -> Job:
    """Return the job of some work, which is the one that fails with it."""
    return work.job


class DoesJobs(Protocol):
    """Does jobs of one kind and ends each by `outbox.finish`, best with the transaction of what it does.

    It may be given one twice. It raises a ServiceError when none of them is done, or JobsFailed, which says which.
    """

    async def __call__(self, work: Sequence[Work]) -> None: ...


class JobHandling:
    """Handles jobs of the family's outbox: those of a kind together, and one kind beside the other."""

    def __init__(self, kit: Kit, does: Mapping[str, DoesJobs]) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._does = does

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do jobs and end them. Raises JobsFailed, which says which are not done and why."""
        by_kind = await self._read(jobs)
        failed: list[tuple[Job, ServiceError]] = []

        async def do(kind: str, work: Sequence[Work]) -> None:
            try:
                await self._doing(kind)(work)
            except JobsFailed as error:
                failed.extend(error.failed)
            except ServiceError as error:
                failed.extend((one.job, error) for one in work)

        async with anyio.create_task_group() as group:
            for kind, work in by_kind.items():
                group.start_soon(do, kind, work)
        if failed:
            raise JobsFailed(failed)

    def _doing(self, kind: str) -> DoesJobs:
        """Return what does jobs of a kind. Raises NotOffered for one that only a newer process knows."""
        if kind not in self._does:
            raise NotOffered(f"this process does no jobs of the kind {kind}")
        return self._does[kind]

    async def _read(self, jobs: Sequence[Job]) -> Mapping[str, list[Work]]:
        """Return by kind what jobs are about."""
        by_id = {job.outbox_id: job for job in jobs}
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["read_jobs"], list(by_id))
        by_kind: dict[str, list[Work]] = {}
        for row in rows:
            place = Place(row["tenant_id"], row["user_id"])
            work = Work(by_id[row["outbox_id"]], place, row["subject_id"], row["payload"], row["created_at"])
            by_kind.setdefault(row["kind"], []).append(work)
        return by_kind

    async def drop_done(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` jobs that were done long ago."""
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_done_jobs"], now - KEPT, limit))
