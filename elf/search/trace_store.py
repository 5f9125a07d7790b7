"""Traces in Postgres: on their way in through an outbox, and read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, Retries, outbox_queries
from elf.outbox.leases import Job
from elf.search.trace import SearchTrace

LEASE_S: Final = 10.0  # much longer than it takes to write a batch
TRACE_OUTBOX: Final = "search_trace_outbox"
TRACE_RETRIES: Final = Retries(most=12)  # minutes after the search nobody asks for its trace any more

Row = Mapping[str, Any]


def search_queries() -> Queries:
    """Read the statements of sql/search, and of the traces' outbox. Raises StartupError when a file cannot be read."""
    about = JobSubject(kind="'search_trace'", tenant="o.payload ->> 'tenant_id'")
    own = Queries.load(sql_folder() / "search")
    return outbox_queries(TRACE_OUTBOX, subject="trace_id", about=about, own=own)


def trace_outbox(database: Database, queries: Queries) -> LeasedOutbox:
    """Return the outbox by which traces get into their tables."""
    return LeasedOutbox(database, queries, table=TRACE_OUTBOX, lease_seconds=LEASE_S, retries=TRACE_RETRIES)


class Payload(NamedTuple):
    """A trace as the outbox holds it: JSON."""

    trace_id: UUID
    json: bytes

    @classmethod
    def of(cls, trace: SearchTrace) -> Payload:
        """Encode a trace. Raises ValueError for text that has no UTF-8 form."""
        # The long parts are JSON within strings: Postgres reads them once, when it writes them to their tables.
        fields = msgspec.structs.asdict(trace)
        for name in ("items", "dropped"):
            fields[name] = msgspec.json.encode(fields[name]).decode()
        return cls(trace.trace_id, msgspec.json.encode(fields))


class TraceStore:
    """Writes and reads traces; `queries` are those of the folder sql/search.

    Whoever puts a trace into the outbox has leased it from the start, for `lease_seconds`, and writes it next. Other
    writers take it when that lease has ended.
    """

    def __init__(self, database: Database, queries: Queries, *, lease_seconds: float) -> None:
        self._database = database
        self._sql = queries
        self._lease = timedelta(seconds=lease_seconds)

    async def enqueue(self, payloads: Sequence[Payload]) -> list[Job]:
        """Put traces into the outbox and return their jobs, leased. Those that are there already are left out."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["enqueue_traces"],
                [payload.trace_id for payload in payloads],
                [msgspec.Raw(payload.json) for payload in payloads],
                self._lease,
            )
        return [Job(**dict(row)) for row in rows]

    async def write(self, jobs: Sequence[Job]) -> None:
        """Write the traces of leased jobs to their tables and end the jobs, in one statement. May be repeated."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["write_traces"], [job.outbox_id for job in jobs])

    async def trace(self, family: str, trace_id: UUID, *, now: datetime) -> tuple[Row, list[Row]] | None:
        """Read the row of a trace of the family that has not expired, and those of its results by rank."""
        return await self._read("read_trace", trace_id, now, family)

    async def trace_of_item(
        self, family: str, item_id: UUID, *, now: datetime
    ) -> tuple[Row, list[Row]] | None:
        """Read the trace that a result is of, as `trace` does."""
        return await self._read("read_trace_of_item", item_id, now, family)

    async def page(
        self,
        family: str,
        *,
        agent: tuple[str, str, str],
        after: tuple[datetime, UUID],
        now: datetime,
        limit: int,
        scopes: Sequence[str] | None = None,
    ) -> list[Row]:
        """Return up to `limit` traces of an agent (tenant, project, agent) in a family behind a place.

        With `scopes`, only those of searches that read no other.
        """
        async with self._database.connection() as connection:
            return await connection.fetch(
                self._sql["list_traces"], *agent, *after, now, limit, family, scopes
            )

    async def _read(self, query: str, id: UUID, now: datetime, family: str) -> tuple[Row, list[Row]] | None:
        async with self._database.connection() as connection:
            trace = await connection.fetchrow(self._sql[query], id, now, family)
            if trace is None:
                return None
            return trace, await connection.fetch(self._sql["read_trace_items"], trace["trace_id"])
