"""Trees that were deleted long ago vanish whole, step by step, while others read and write."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import Final

from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.families.conversations.model import FAMILY
from elf.families.conversations.removal import Removed, TreeRemoval
from elf.families.conversations.trees import again
from elf.indexing.writes import CorpusWrites

STEP: Final = 1000
DONE: Final = 100


class Eviction:
    """Evicts a tree at a time, `step` pieces a transaction. What another process has at work is left to it."""

    def __init__(
        self, database: Database, queries: Queries, writes: CorpusWrites, *, step: int = STEP
    ) -> None:
        self._database = database
        self._sql = queries
        self._removal = TreeRemoval(queries, writes)
        self._step = step

    async def run(self, tenant_id: str, before: datetime) -> AsyncGenerator[int]:
        """Evict a tenant's trees that were deleted before a moment; yields how much is done, in percent, at last 100.

        What it yields never falls. It may be closed after any step: what is done stays done.
        """
        wanted, gone, told = await self._count(tenant_id, before), 0, 0
        while (step := await self._evict_some(tenant_id, before, self._step)) is not None:
            gone += step.is_tree_gone
            told = max(told, min(DONE - 1, DONE * gone // max(wanted, 1)))
            yield told
        yield DONE

    def garbage(self, age: timedelta) -> GarbageStep:
        """Return what evicts trees of all tenants that were deleted so long ago."""

        async def collect(now: datetime, limit: int) -> int:
            left = limit
            while left > 0:
                step = await self._evict_some(None, now - age, left)
                if step is None:
                    break
                left -= step.pieces
            return limit - left

        return GarbageStep(FAMILY, "evicted_conversations", collect)

    async def _count(self, tenant_id: str, before: datetime) -> int:
        async with self._database.connection() as connection:
            count: int = await connection.fetchval(self._sql["count_evictable"], tenant_id, before)
        return count

    @again
    async def _evict_some(self, tenant_id: str | None, before: datetime, most: int) -> Removed | None:
        """Take a step of at most so many pieces, or return None when there was nothing to do."""
        take = "take_evictable_of_all" if tenant_id is None else "take_evictable"
        async with self._database.transaction() as connection:
            tree = await connection.fetchrow(self._sql[take], tenant_id, before)
            if tree is None:
                return None
            return await self._removal.step(connection, tree["tenant_id"], tree["tree_id"], most=most)
