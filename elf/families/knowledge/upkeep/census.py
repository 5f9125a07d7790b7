"""How many memories there are and how long episodes wait, for the people who run the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
import structlog

from elf.core.errors import ServiceError
from elf.families.knowledge.kit import Kit
from elf.family import Labels, StoredGauge

COUNTED_FOR_S: Final = 60.0
TIMEOUT_S: Final = 3.0
STATES: Final[Mapping[str, Sequence[str]]] = {
    "episode": ("pending", "consolidated", "dead_letter"),
    "fact": ("active", "fading", "superseded", "expired", "retracted"),
    "rule": ("candidate", "established", "proven", "anti_pattern", "forgotten"),
}

log = structlog.get_logger()

Row = Mapping[str, Any]


class MemoryCensus:
    """Counts all memories, once a minute, because every one is counted."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._counting = anyio.Lock()
        self._rows: Sequence[Row] | None = None
        self._due_at = float("-inf")

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
        rows = await self._counted()
        if rows is None:
            return None
        counts: dict[Labels, float] = {
            (kind, state): 0.0 for kind, states in STATES.items() for state in states
        }
        return counts | {(row["kind"], row["state"]): float(row["memories"]) for row in rows}

    async def _backlog(self) -> Mapping[Labels, float] | None:
        rows = await self._counted()
        if rows is None:
            return None
        oldest = [row["oldest"] for row in rows if row["oldest"] is not None]
        return {(): max(0.0, (self._kit.now() - min(oldest)).total_seconds()) if oldest else 0.0}

    async def _counted(self) -> Sequence[Row] | None:
        async with self._counting:
            if anyio.current_time() >= self._due_at:
                self._rows = await self._count()
                self._due_at = anyio.current_time() + COUNTED_FOR_S
            return self._rows

    async def _count(self) -> Sequence[Row] | None:
        try:
            with anyio.fail_after(TIMEOUT_S):
                async with self._kit.database.connection() as connection:
                    return await connection.fetch(self._kit.queries["count_memories"], self._kit.now())
        except (ServiceError, TimeoutError) as error:
            log.info("knowledge.not_counted", error=type(error).__name__)
            return None
