"""Counts memories by their states."""

from __future__ import annotations

from elf.api.caller import Caller
from elf.families.knowledge.access import reach_of
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.kit import Kit


class MemoryStats:
    """Carries out the operation of that name."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def read(self, request: s.Stats, caller: Caller) -> s.StatsAnswer:
        """Count what the caller may see; facts and rules of the global scope and the one asked for, or of all."""
        reach = reach_of(request.tenant_id, caller)
        reach.allow(request.scope, "$.scope")
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(
                self._kit.queries["memory_stats"],
                reach.tenant_id,
                reach.seen,
                request.scope,
                self._kit.now(),
            )
        assert row is not None, "it always counts"
        return s.StatsAnswer(**row)
