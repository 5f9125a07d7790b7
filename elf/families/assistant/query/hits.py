"""Counts how often memories are given to agents, behind the backs of those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.assistant.model import Place

MOST_WAITING: Final = 50_000
"""Of how many memories hits wait to be written; beyond that they are not counted."""

LAST_WORDS_S: Final = 2.0

log = structlog.get_logger()

Hits = dict[tuple[Place, UUID], tuple[int, datetime]]


class HitCounter:
    """The actor that writes hits: at once where nothing is being written, else all that came meanwhile together.

    When it is stopped it writes what is waiting, for at most LAST_WORDS_S seconds.
    """

    name = "assistant_hits"

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries
        self._waiting: Hits = {}
        self._came = anyio.Event()
        self._written = anyio.Event()
        self._is_writing = False

    def count(self, place: Place, memories: Iterable[UUID], at: datetime) -> None:
        """Count that each of these memories was given to an agent."""
        for memory_id in memories:
            key = place, memory_id
            hits, _ = self._waiting.get(key, (0, at))
            if hits or len(self._waiting) < MOST_WAITING:
                self._waiting[key] = hits + 1, at
        self._came.set()

    async def settled(self) -> None:
        """Wait until everything that was counted so far is written."""
        while self._waiting or self._is_writing:
            await self._written.wait()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Write hits until cancelled."""
        task_status.started()
        try:
            while True:
                await self._came.wait()
                await self._write()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(LAST_WORDS_S, shield=True):
                await self._write()
            raise

    async def _write(self) -> None:
        hits, self._waiting, self._came = self._waiting, {}, anyio.Event()
        if not hits:
            return
        self._is_writing = True
        try:
            await retrying(lambda: self._store(hits))
        except ServiceError as error:  # nobody waits for it, and the next hit of a memory tells as much
            log.warning("assistant.hits_not_counted", hits=len(hits), error=type(error).__name__)
        finally:
            self._is_writing = False
            self._written.set()
            self._written = anyio.Event()

    async def _store(self, hits: Mapping[tuple[Place, UUID], tuple[int, datetime]]) -> None:
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["count_hits"], [place.tenant_id for place, _ in hits],
                [place.user_id for place, _ in hits], [memory_id for _, memory_id in hits],
                [count for count, _ in hits.values()], [at for _, at in hits.values()],
            )  # fmt: skip
