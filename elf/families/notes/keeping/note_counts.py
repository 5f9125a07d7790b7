"""How many notes there are, for the people who run the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import anyio
import structlog

from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.model import Status
from elf.family import Labels, StoredGauge

COUNTED_FOR_S = 60.0
# Measured: a million notes take 0.1 s, and up to 1 s while many of them were written to of late.
TIMEOUT_S = 3.0

log = structlog.get_logger()


class NoteCensus:
    """Counts the notes of each status: exactly, but once a minute, because every note is counted.

    `queries` are those of the folder sql/notes.
    """

    def __init__(self, *, database: Database, queries: Queries) -> None:
        self._database = database
        self._queries = queries
        self._counting = anyio.Lock()
        self._counts: Mapping[str, int] | None = None
        self._due_at = float("-inf")

    def gauge(self) -> StoredGauge:
        """Return the metric of the counts."""

        async def read() -> Mapping[Labels, float] | None:
            counts = await self.counts()
            return None if counts is None else {(status,): number for status, number in counts.items()}

        about = "Notes stored, over all tenants, counted once a minute."
        return StoredGauge(name="elf_notes", about=about, labels=("status",), read=read)

    async def counts(self) -> Mapping[str, int] | None:
        """Return the counts of the last minute by status; None when they could not be had, for a minute as well."""
        async with self._counting:
            if anyio.current_time() >= self._due_at:
                self._counts = await self._count()
                self._due_at = anyio.current_time() + COUNTED_FOR_S
            return self._counts

    async def _count(self) -> Mapping[str, int] | None:
        try:
            with anyio.fail_after(TIMEOUT_S):
                async with self._database.connection() as connection:
                    rows = await connection.fetch(self._queries["count_notes"])
        except (ServiceError, TimeoutError) as error:
            log.info("notes_not_counted", error=type(error).__name__)
            return None
        return dict.fromkeys(get_args(Status), 0) | {row["status"]: row["notes"] for row in rows}
