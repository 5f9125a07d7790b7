"""The actor that keeps the connection pool open."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from elf.db import schema
from elf.db.database import Database


class DatabasePool:
    """Brings the schema up to date and opens `database`; closes it on the way out.

    `dsn` is asked at each start, because an embedded server has none before it runs. Raises
    DatabaseUnavailable when Postgres does not answer, StartupError when the database does not fit the config.
    """

    name = "database"

    def __init__(self, database: Database, *, dsn: Callable[[], str], vector_dim: int) -> None:
        self._database = database
        self._dsn = dsn
        self._vector_dim = vector_dim

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        dsn = self._dsn()
        await schema.apply(dsn, vector_dim=self._vector_dim)
        await self._database.open(dsn)
        try:
            task_status.started()
            await anyio.sleep_forever()
        finally:
            await self._database.close()  # shielded and bounded
