"""Writes the token vectors that searches had to make, behind their backs."""

from __future__ import annotations

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Channel
from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.search.token_store import TokenPut, TokenStore

log = structlog.get_logger()


class TokenWriter:
    """Stores what comes through a channel, which should drop when it is full: what is not stored is made again."""

    name = "token_writer"

    def __init__(self, *, database: Database, store: TokenStore, puts: Channel[TokenPut]) -> None:
        self._database = database
        self._store = store
        self._puts = puts

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            await self._put(await self._puts.receive())

    async def _put(self, put: TokenPut) -> None:
        try:
            async with self._database.connection() as connection:
                await self._store.put(connection, put.table, put.rows)
        except ServiceError as error:
            log.warning("token_vectors_not_stored", rows=len(put.rows), error=type(error).__name__)
