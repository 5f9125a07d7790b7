"""How many notes there are, for the people who run the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from elf.db.census import Census
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.model import FAMILY, Status
from elf.family import Labels, StoredGauge


class NoteCensus:
    """Counts the notes of each status. `queries` are those of the folder sql/notes."""

    def __init__(self, *, database: Database, queries: Queries) -> None:
        self._census = Census(database, queries["count_notes"], family=FAMILY)

    def gauge(self) -> StoredGauge:
        """Return the metric of the counts."""

        async def read() -> Mapping[Labels, float] | None:
            counts = await self.counts()
            return None if counts is None else {(status,): number for status, number in counts.items()}

        about = "Notes stored, over all tenants, counted once a minute."
        return StoredGauge(name="elf_notes", about=about, labels=("status",), read=read)

    async def counts(self) -> Mapping[str, int] | None:
        """Return the counts of the last minute by status; None when they could not be had, for a minute as well."""
        rows = await self._census.rows()
        if rows is None:
            return None
        return dict.fromkeys(get_args(Status), 0) | {row["status"]: row["notes"] for row in rows}
