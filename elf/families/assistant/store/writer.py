"""The one way in which memories are written: each change in one transaction with all that tells of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.assistant.model import Place
from elf.families.assistant.store.changes import Changes


class Writer:
    """Opens transactions that change memories. `version` is the model of the vectors that are written, and `link_min`
    the least cosine of memories that are linked; `ring` wakes whoever does jobs.
    """

    def __init__(
        self,
        database: Database,
        queries: Queries,
        *,
        version: str,
        link_min: float,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._sql = queries
        self._version = version
        self._link_min = link_min
        self._clock = clock
        self._ring = ring

    @asynccontextmanager
    async def changing(
        self, place: Place, categories: Collection[str], *, actor: str | None, thread_id: str | None = None
    ) -> AsyncIterator[Changes]:
        """Change memories of these categories of a user, alone among their writers.

        `thread_id` is the thread in which it is done; without one a change is told in that of its memory. What tells of
        the changes is written when the block ends. Nothing is, when it raises.
        """
        names = sorted({json.dumps((*place, category)) for category in categories})
        async with self._database.transaction(competing_for=names) as connection:
            await connection.execute(self._sql["lock_categories"], names)
            changes = Changes(
                connection, self._sql, place, version=self._version, link_min=self._link_min, actor=actor,
                thread_id=thread_id, now=self._clock.now(),
            )  # fmt: skip
            yield changes
            await changes.finish()
            if changes.has_jobs:
                connection.after_commit(self._ring)
