"""How many conversations there are, for the people who run the service."""

from __future__ import annotations

from collections.abc import Mapping

from elf.db.census import Census
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.model import FAMILY
from elf.family import Labels, StoredGauge


class ConversationCensus:
    """Counts the conversations that are there, and those that are deleted. `queries` are those of the family."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._census = Census(database, queries["count_conversations"], family=FAMILY)

    def gauge(self) -> StoredGauge:
        """Return the metric of the counts."""
        return StoredGauge(
            name="elf_conversations",
            about="Conversations stored, forks among them, over all tenants, counted once a minute.",
            labels=("state",),
            read=self._counts,
        )

    async def _counts(self) -> Mapping[Labels, float] | None:
        rows = await self._census.rows()
        if rows is None:
            return None
        counts: dict[Labels, float] = {("live",): 0.0, ("deleted",): 0.0}
        return counts | {(row["state"],): float(row["conversations"]) for row in rows}
