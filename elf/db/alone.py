"""Doing something that only one of all processes may do at a time, for as long as it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from elf.core.errors import ServiceError
from elf.db.database import Connection, Database

KEEP_ALIVE_S: Final = 10.0


@asynccontextmanager
async def alone(
    database: Database,
    lock: int,
    *,
    busy: ServiceError,
    also: Callable[[Connection], Awaitable[None]] | None = None,
) -> AsyncIterator[None]:
    """Hold an advisory lock of Postgres for the block. Raises `busy` while somebody else does.

    The lock is a transaction's: it goes with the connection, whatever happens to this process. `also` may take further
    locks with that transaction before the block. What the block raises leaves as itself, the first of several errors
    that it has at once.
    """
    with _ungrouped():
        async with _locked(database, lock, busy, also):
            yield


@asynccontextmanager
async def _locked(
    database: Database, lock: int, busy: ServiceError, also: Callable[[Connection], Awaitable[None]] | None
) -> AsyncIterator[None]:
    async with database.transaction() as guard:
        if not await guard.fetchval("SELECT pg_try_advisory_xact_lock($1)", lock):
            raise busy
        if also is not None:
            await also(guard)
        async with anyio.create_task_group() as group:
            group.start_soon(_keep_alive, guard)
            yield
            group.cancel_scope.cancel()


async def _keep_alive(guard: Connection) -> None:
    while True:  # the server ends a transaction that idles, and the lock with it
        await anyio.sleep(KEEP_ALIVE_S)
        await guard.execute("SELECT 1")


@contextmanager
def _ungrouped() -> Iterator[None]:
    """Raise the first error of the tasks within as itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
