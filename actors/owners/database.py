"""The actors that keep the connection pools open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.config.dsn import Dsn
from elf.core.errors import DatabaseUnavailable
from elf.db import migration
from elf.db.database import Database
from elf.db.replica import ReadDatabase
from elf.db.schema import Step

PING_INTERVAL_S: Final = 5.0
RETRY_S: Final = 1.0

log = structlog.get_logger()


class DatabasePool:
    """Brings the schema up to date and opens `database`; closes it on the way out.

    `dsn` is asked at each start, because an embedded server has none before it runs. Raises
    DatabaseUnavailable when Postgres does not answer, StartupError when the database does not fit the config.
    """

    name = "database"

    def __init__(
        self, database: Database, *, dsn: Callable[[], str], steps: Sequence[Step], vector_dim: int
    ) -> None:
        self._database = database
        self._steps = steps
        self._dsn = dsn
        self._vector_dim = vector_dim

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        dsn = self._dsn()
        try:
            await migration.apply(dsn, self._steps, vector_dim=self._vector_dim)
            await self._database.open(dsn)
        except DatabaseUnavailable as error:
            raise DatabaseUnavailable(
                f"waiting for Postgres at {Dsn.parse(dsn).place}: {error.message}"
            ) from error
        try:
            task_status.started()
            await anyio.sleep_forever()
        finally:
            await self._database.close()  # shielded and bounded


class ReplicaPool:
    """Opens the pool of a read replica, and closes it while the replica does not answer.

    An outage is waited out: until it is over, `database` reads from the primary, at once and not after a time limit
    each time. So it is ready from the start.
    """

    name = "read_replica"

    def __init__(
        self,
        database: ReadDatabase,
        *,
        dsn: str,
        ping_interval_s: float = PING_INTERVAL_S,
        retry_s: float = RETRY_S,
    ) -> None:
        self._database = database
        self._dsn = dsn
        self._ping_interval_s = ping_interval_s
        self._retry_s = retry_s

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        task_status.started()
        while True:
            try:
                await self._follow()
            except DatabaseUnavailable as error:
                log.warning("replica_away", error=error.message)
            await anyio.sleep(self._retry_s)

    async def _follow(self) -> None:
        await self._database.open(self._dsn)
        try:
            log.info("replica_linked")
            while True:
                await self._database.ping()
                await anyio.sleep(self._ping_interval_s)
        finally:
            await self._database.close()  # shielded and bounded
