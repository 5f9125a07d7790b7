"""What tests share of changes that files keep and that are told: what is kept, what was told, and deaths in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio

from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.graph.model import FAMILY
from elf.families.graph.store.change_feed import kept_changes
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.telling import Telling
from tests.db.graph.graph_kit import KEY, opened

Told = list[tuple[str, ...]]
QUERIES = Queries.load(sql_folder() / FAMILY)
TOLD = """
SELECT event, item_id, extra ->> 'by' AS by, tenant_id, agent_id, kind, family, lane FROM webhook_outbox
WHERE webhook = 'all' ORDER BY seq
"""


@asynccontextmanager
async def open_at(root: Path, kit: FileKit) -> AsyncIterator[MemoryFile]:
    """Have a file open for the block."""
    async with anyio.create_task_group() as group:
        yield await opened(group, root, KEY, kit)
        group.cancel_scope.cancel()


async def kept(file: MemoryFile) -> Told:
    """Return what a file keeps: what became of which memory, and by which one."""
    found = await file.read(lambda snapshot: kept_changes(snapshot, limit=1000))
    return [tuple(filter(None, one[2:])) for one in found]


async def told(database: Database) -> Told:
    """Return what is to be delivered, in its order: what became of which memory, and by which one."""
    async with database.connection() as connection:
        rows = await connection.fetch(TOLD)
    assert {(row["tenant_id"], row["agent_id"], row["kind"], row["family"]) for row in rows} <= {
        (KEY.tenant_id, KEY.orchestrator_id, KEY.orchestrator_id, FAMILY)
    }
    assert len({row["lane"] for row in rows}) <= 1
    return [tuple(filter(None, (row["event"], row["item_id"], row["by"]))) for row in rows]


async def tell_all(telling: Telling, file: MemoryFile) -> None:
    """Tell what a file keeps, until nothing is left."""
    while await telling.tell(file):
        pass


class Killed(Exception):
    """The process is gone."""


@dataclass
class Death:
    """Comes after so many steps of a telling."""

    steps: int

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Killed


class Dying:
    """Does what another object does, until its process dies: before or behind each call."""

    def __init__(self, real: Any, death: Death) -> None:
        self._real = real
        self._death = death

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if name not in ("read", "write", "execute", "fetchval"):
            return value

        async def call(*args: Any, **keys: Any) -> Any:
            self._death.step()
            answer = await value(*args, **keys)
            self._death.step()
            return answer

        return call

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with self._real.transaction() as connection:
            yield Dying(connection, self._death)
            self._death.step()
        self._death.step()


async def tell_until_death(database: Database, file: MemoryFile, *, steps: int) -> None:
    """Tell all that a file keeps, and die behind so many steps. Raises Killed unless it is done before."""
    death = Death(steps)
    telling = Telling(cast("Database", Dying(database, death)), QUERIES)
    await tell_all(telling, cast("MemoryFile", Dying(file, death)))
