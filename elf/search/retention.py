"""What searches leave behind is kept for a while only: traces, the jobs that wrote them, cached answers of models."""

from __future__ import annotations

from datetime import datetime, timedelta

from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.db.schema import COMMON

DONE_JOBS_KEPT = timedelta(days=1)


def retention_steps(database: Database, queries: Queries) -> list[GarbageStep]:
    """Return the steps; `queries` are those of the folder sql/search."""

    async def drop(query: str, before: datetime, limit: int) -> int:
        async with database.connection() as connection:
            return len(await connection.fetch(queries[query], before, limit))

    async def traces(now: datetime, limit: int) -> int:
        return await drop("drop_expired_traces", now, limit)

    async def trace_jobs(now: datetime, limit: int) -> int:
        return await drop("drop_done_trace_jobs", now - DONE_JOBS_KEPT, limit)

    async def answers(now: datetime, limit: int) -> int:
        return await drop("drop_expired_answers", now, limit)

    return [
        GarbageStep(COMMON, "expired_traces", traces),
        GarbageStep(COMMON, "done_trace_jobs", trace_jobs),
        GarbageStep(COMMON, "expired_answers", answers),
    ]
