"""Takes memories that have aged out of sight, and removes those that nobody has restored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from elf.db.errors import retrying
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import WORKER, Memory, Place
from elf.families.assistant.rules.aging import AGED_AFTER, has_aged, is_due_to_go
from elf.families.assistant.store.changes import Changes
from elf.outbox.chores import Due

EVENTS_KEPT: Final = timedelta(days=90)

Row = Mapping[str, Any]


class Lifecycle:
    """Steps of garbage collection, and all of them at once in batches of `batch`.

    Memories of a user are changed together, and each is looked at again before.
    """

    def __init__(self, kit: Kit, *, batch: int) -> None:
        self._kit = kit
        self._batch = batch
        self._sql = kit.queries
        self._writer = kit.writer

    async def run(self, _: Due) -> None:
        """Age and remove all memories whose time has come."""
        now = self._kit.now()
        for step in (self.age, self.purge):
            while await retrying(partial(step, now, self._batch)) == self._batch:
                pass

    async def age(self, now: datetime, limit: int) -> int:
        """Delete up to `limit` memories softly that nobody was given for long, and that matter little."""

        async def aged(changes: Changes, memory: Memory) -> bool:
            if has_aged(memory, now):
                await changes.delete_softly(memory, aged=True)
                return True
            return False

        return await self._change(await self._rows("find_aged", now - AGED_AFTER, limit), aged)

    async def purge(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` memories for good whose time to be restored is over."""

        async def purged(changes: Changes, memory: Memory) -> bool:
            if is_due_to_go(memory, now):
                await changes.purge(memory, node="worker")
                return True
            return False

        return await self._change(await self._rows("find_due_to_go", now, limit), purged)

    async def drop_events(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` events that were kept long enough."""
        return len(await self._rows("drop_old_events", now - EVENTS_KEPT, limit))

    async def _rows(self, statement: str, before: datetime, limit: int) -> Sequence[Row]:
        async with self._kit.database.connection() as connection:
            return await connection.fetch(self._sql[statement], before, limit)

    async def _change(self, rows: Sequence[Row], change: Callable[[Changes, Memory], Awaitable[bool]]) -> int:
        """Change memories, which are given by place, and return how many of them were."""
        changed = 0
        for place, of_user in groupby(rows, key=_place):
            found = list(of_user)
            ids: list[UUID] = [row["memory_id"] for row in found]
            categories = {row["category"] for row in found}
            async with self._writer.changing(place, categories, actor=WORKER) as changes:
                for memory_id in ids:
                    memory = await changes.read(memory_id)
                    changed += memory is not None and await change(changes, memory)
        return changed


def _place(row: Row) -> Place:
    return Place(row["tenant_id"], row["user_id"])
