"""Trees that were deleted long ago vanish whole, step by step, while others read and write."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Final

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.trees import again

STEP: Final = 1000
DONE: Final = 100


class Eviction:
    """Evicts a tree at a time, `step` entries a transaction. What another process has at work is left to it."""

    def __init__(self, database: Database, queries: Queries, *, step: int = STEP) -> None:
        self._database = database
        self._sql = queries
        self._step = step

    async def run(self, before: datetime) -> AsyncGenerator[int]:
        """Evict all trees that were deleted before a moment; yields how much is done, in percent, and at last 100.

        What it yields never falls. It may be closed after any step: what is done stays done.
        """
        wanted, done, told = await self._count(before), 0, 0
        while (is_gone := await self._evict_some(before)) is not None:
            done += is_gone
            told = max(told, min(DONE - 1, DONE * done // max(wanted, 1)))
            yield told
        yield DONE

    async def _count(self, before: datetime) -> int:
        async with self._database.connection() as connection:
            count: int = await connection.fetchval(self._sql["count_evictable"], before)
        return count

    @again
    async def _evict_some(self, before: datetime) -> bool | None:
        """Take a step; tell whether a tree is gone with it, or None when there was nothing to do."""
        async with self._database.transaction() as connection:
            tree = await connection.fetchrow(self._sql["take_evictable"], before)
            if tree is None:
                return None
            place = tree["tenant_id"], tree["tree_id"]
            gone = await connection.fetch(self._sql["evict_entries"], *place, self._step)
            if len(gone) == self._step:
                return False
            await connection.execute(self._sql["evict_tree"], *place)
            return True
