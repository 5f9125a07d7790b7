"""Tells webhooks what became of memories: each change once and in its order, whatever breaks off in between.

A file keeps its changes in the transaction that makes them. They are told in a transaction of Postgres, which notes how
far that is, and are removed from the file then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.config.webhooks import Webhook
from elf.core.errors import ServiceError, Unavailable
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.graph.model import FAMILY
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.store.change_feed import KeptChange, are_changes_kept, kept_changes, remove_told
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.statements import OwnerKey

AT_ONCE: Final = 512
POLL_S: Final = 1.0
"""How soon is seen what another process has written."""
RETRY_S: Final = 1.0

log = structlog.get_logger()


def is_wanted(webhooks: Iterable[Webhook]) -> bool:
    """Tell whether anybody wants to hear what becomes of memories."""
    return any(webhook.families is None or FAMILY in webhook.families for webhook in webhooks)


class Telling:
    """A duty for files: tells what they keep as soon as it is written."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def run(self, file: MemoryFile) -> None:
        """Tell the changes of a file. Raises Unavailable when Postgres or the file cannot be used."""
        while True:
            if not await self.tell(file):
                await file.written.wait(POLL_S)

    async def tell(self, file: MemoryFile) -> bool:
        """Tell the first changes that a file keeps; returns whether there were any. Raises Unavailable."""
        if not await file.read(are_changes_kept):
            return False
        async with self._database.transaction() as connection:
            await self._lock(connection, file.key)  # what is there before may be told already, or erased
            kept = await file.read(lambda snapshot: kept_changes(snapshot, limit=AT_ONCE))
            if not kept:
                return False
            await self._tell(connection, file.key, kept)
        await file.write(lambda change: remove_told(change, kept[-1]))
        return True

    async def forget(self, key: OwnerKey, memory_ids: Collection[str] | None) -> None:
        """Have nothing told any more of memories that were erased from a file, or of all that it had.

        Whoever tells at this moment is waited for. Raises Unavailable.
        """
        whose = key.tenant_id, key.orchestrator_id
        async with self._database.transaction() as connection:
            await self._lock(connection, key)
            if memory_ids is None:
                await connection.execute(self._sql["forget_last_change_told"], *whose)
            else:
                await connection.execute(self._sql["erase_told_changes"], *whose, list(memory_ids))

    async def _lock(self, connection: Connection, key: OwnerKey) -> None:
        await connection.execute(self._sql["lock_changes"], key.tenant_id, key.orchestrator_id)

    async def _tell(self, connection: Connection, key: OwnerKey, kept: Sequence[KeptChange]) -> None:
        """Tell what was not told already, and note that."""
        whose = key.tenant_id, key.orchestrator_id
        last_told = await connection.fetchval(self._sql["last_change_told"], *whose)
        told = next((place for place, change in enumerate(kept, 1) if change.change_id == last_told), 0)
        if told == len(kept):
            return
        new = [(one.event, one.memory_id, one.by_memory_id) for one in kept[told:] if one.event is not None]
        if new:
            await connection.execute(self._sql["tell_changes"], *whose, *map(list, zip(*new, strict=True)))
        await connection.execute(self._sql["note_last_change_told"], *whose, kept[-1].change_id)


class Untold:
    """An actor that opens files with changes that were not told, and has them told.

    Any may have some when a process starts, as one may have been killed; `keys` are those that were closed with some.
    """

    name = "graph_untold_changes"

    def __init__(
        self, orchestrators: Orchestrators, files: OpenFiles, telling: Telling, keys: set[OwnerKey]
    ) -> None:
        self._orchestrators = orchestrators
        self._files = files
        self._telling = telling
        self._keys = keys

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        await self._take_up_all()
        while True:
            for key in [*self._keys]:
                await self._have_told(key)
            await anyio.sleep(RETRY_S)

    async def _take_up_all(self) -> None:
        while True:
            try:
                self._keys.update(await self._orchestrators.here())
                return
            except Unavailable as error:
                log.warning("graph_changes_untold", error=error.message)
                await anyio.sleep(RETRY_S)

    async def _have_told(self, key: OwnerKey) -> None:
        """Have all changes of a file told. One that cannot be used now is told of when somebody can use it."""
        try:
            async with self._files.known(key.tenant_id, key.orchestrator_id) as place:
                while await self._telling.tell(place.file):
                    pass
                self._keys.discard(key)  # while it is open: it may be added again when it is closed
        except ServiceError as error:
            log.warning("graph_changes_untold", orchestrator_id=key.orchestrator_id, error=error.message)
            if not (isinstance(error, Unavailable) and error.concerns_all):
                self._keys.discard(key)
            await anyio.sleep(RETRY_S)
