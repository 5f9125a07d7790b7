"""Reading from a copy of the database that follows it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager

from elf.core.errors import DatabaseUnavailable
from elf.db.database import Connection, Database


class ReadDatabase(Database):
    """The pool of a read replica: `connection` reads from it, and from the primary while it is away.

    It follows the primary by what the network takes, or longer: what it has not seen yet is not read, and what was
    deleted or replaced meanwhile still is. So whoever shows what was read here asks the primary whether it still holds.
    Writes belong into a `transaction`, which is one of the primary.
    """

    def __init__(self, primary: Database, *, max_conns: int) -> None:
        super().__init__(max_conns=max_conns)
        self._primary = primary

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Borrow a connection in autocommit mode, for reading. Raises DatabaseUnavailable."""
        async with AsyncExitStack() as stack:
            yield await self._borrow(stack)

    async def _borrow(self, stack: AsyncExitStack) -> Connection:
        try:
            return await stack.enter_async_context(super().connection())
        except DatabaseUnavailable:
            return await stack.enter_async_context(self._primary.connection())

    @asynccontextmanager
    async def transaction(self, *, competing_for: Collection[str] = ()) -> AsyncIterator[Connection]:
        """Borrow a connection of the primary in a transaction, as Database does."""
        async with self._primary.transaction(competing_for=competing_for) as connection:
            yield connection

    async def ping(self) -> None:
        """Ask the replica itself something. Raises DatabaseUnavailable."""
        async with super().connection() as connection:
            await connection.fetchval("SELECT 1")
