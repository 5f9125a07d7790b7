"""How much is remembered, and what was done of late, for the people who run the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import product
from typing import Final, get_args

from elf.db.census import Census
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import FAMILY, MEMORY_TYPES, MemoryState, Node, Op
from elf.family import Labels, StoredGauge

LATELY: Final = timedelta(hours=1)


class AssistantCensus:
    """Counts over all tenants, once a minute, without anybody's name."""

    def __init__(self, kit: Kit) -> None:
        queries, database = kit.queries, kit.reads
        self._memories = Census(database, queries["count_memories"], family=FAMILY)
        self._proposals = Census(
            database, queries["count_pending_proposals"], family=FAMILY, arguments=lambda: [kit.now()]
        )
        self._events = Census(
            database, queries["count_events"], family=FAMILY, arguments=lambda: [kit.now() - LATELY]
        )

    def gauges(self) -> Sequence[StoredGauge]:
        """Return the metrics of the counts."""
        return (
            StoredGauge(
                name="elf_assistant_memories",
                about="Memories of users, over all tenants, counted once a minute.",
                labels=("type", "state"),
                read=self._count_memories,
            ),
            StoredGauge(
                name="elf_assistant_proposals_pending",
                about="What users have not decided about, over all tenants, counted once a minute.",
                read=self._count_proposals,
            ),
            StoredGauge(
                name="elf_assistant_events",
                about="What was done within the last hour, over all tenants, counted once a minute.",
                labels=("node", "op", "status"),
                read=self._count_events,
            ),
            StoredGauge(
                name="elf_assistant_recalls",
                about="Queries of the last hour that an agent made because it was not sure, counted once a minute.",
                read=self._count_recalls,
            ),
        )

    async def _count_memories(self) -> Mapping[Labels, float] | None:
        rows = await self._memories.rows()
        if rows is None:
            return None
        counts: dict[Labels, float] = dict.fromkeys(product(MEMORY_TYPES, get_args(MemoryState)), 0.0)
        return counts | {(row["type"], row["state"]): float(row["memories"]) for row in rows}

    async def _count_proposals(self) -> Mapping[Labels, float] | None:
        rows = await self._proposals.rows()
        return None if rows is None else {(): float(rows[0]["proposals"])}

    async def _count_events(self) -> Mapping[Labels, float] | None:
        rows = await self._events.rows()
        if rows is None:
            return None
        counts: dict[Labels, float] = dict.fromkeys(
            product(get_args(Node), get_args(Op), ["ok", "error"]), 0.0
        )
        return counts | {(row["node"], row["op"], row["status"]): float(row["events"]) for row in rows}

    async def _count_recalls(self) -> Mapping[Labels, float] | None:
        rows = await self._events.rows()
        return None if rows is None else {(): float(sum(row["recalls"] for row in rows))}
