"""How many memories there are and how long episodes wait, for the people who run the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from elf.db.census import Census
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import FAMILY
from elf.family import Labels, StoredGauge

STATES: Final[Mapping[str, Sequence[str]]] = {
    "episode": ("pending", "consolidated", "dead_letter", "discarded"),
    "fact": ("active", "fading", "superseded", "expired", "retracted"),
    "rule": ("candidate", "established", "proven", "anti_pattern", "forgotten"),
}


class MemoryCensus:
    """Counts all memories, by their states."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._census = Census(
            kit.database, kit.queries["count_memories"], family=FAMILY, arguments=lambda: (kit.now(),)
        )

    def gauges(self) -> list[StoredGauge]:
        """Return the metrics of the counts."""
        return [
            StoredGauge(
                name="elf_knowledge_memories",
                about="Episodes, facts and rules stored, over all tenants, counted once a minute.",
                labels=("kind", "state"),
                read=self._memories,
            ),
            StoredGauge(
                name="elf_knowledge_backlog_age_seconds",
                about="How long the oldest episode has waited to be consolidated; 0 when none waits.",
                read=self._backlog,
            ),
        ]

    async def _memories(self) -> Mapping[Labels, float] | None:
        rows = await self._census.rows()
        if rows is None:
            return None
        counts: dict[Labels, float] = {
            (kind, state): 0.0 for kind, states in STATES.items() for state in states
        }
        return counts | {(row["kind"], row["state"]): float(row["memories"]) for row in rows}

    async def _backlog(self) -> Mapping[Labels, float] | None:
        rows = await self._census.rows()
        if rows is None:
            return None
        oldest = [row["oldest"] for row in rows if row["oldest"] is not None]
        return {(): max(0.0, (self._kit.now() - min(oldest)).total_seconds()) if oldest else 0.0}
