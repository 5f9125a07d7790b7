"""The actor that owns this process's hold on the embedded Postgres."""

from __future__ import annotations

from pathlib import Path

from anyio.abc import TaskStatus

from elf.core.errors import DatabaseUnavailable, StartupError
from elf.db.embedded import EmbeddedServer


class PostgresHost:
    """Starts the server of `folder` or attaches to it, watches it, and on the way out stops it if nobody else
    is left.

    Ready once a query has succeeded. Raises DatabaseUnavailable when the server is gone, so that the
    supervisor runs it again and with it all that need it. Raises StartupError when the folder cannot be used; once
    the server has run, that is DatabaseUnavailable, too: what worked may work again.
    """

    name = "postgres_host"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._dsn: str | None = None
        self._has_run = False

    @property
    def dsn(self) -> str:
        """The DSN of the running server. Raises DatabaseUnavailable while there is none."""
        if self._dsn is None:
            raise DatabaseUnavailable("the embedded Postgres is not running")
        return self._dsn

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        server = EmbeddedServer(self._folder)
        try:
            self._dsn = await self._start(server)
            task_status.started()
            await server.watch()
        finally:
            self._dsn = None
            await server.leave()  # shielded and bounded

    async def _start(self, server: EmbeddedServer) -> str:
        try:
            dsn = await server.start()
        except StartupError as error:
            if self._has_run:
                raise DatabaseUnavailable(str(error)) from error
            raise
        self._has_run = True
        return dsn
