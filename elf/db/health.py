"""Whether the database can be read and written, proved by doing so.

A full disk still answers queries, and so does a database that has lost its tables or became a standby.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

import anyio

from elf.core.errors import DatabaseUnavailable, ServiceError
from elf.db.database import Database
from elf.db.queries import Queries

LOOK_TIMEOUT_S: Final = 5.0
NOT_LOOKED: Final = "the database is not connected"


class DatabaseState(NamedTuple):
    """Why reading does not work, and why writing does not; None for what does."""

    reads: str | None
    writes: str | None


UNKNOWN: Final = DatabaseState(NOT_LOOKED, NOT_LOOKED)


class DatabaseHealth:
    """What the last look at a database found; `state` is UNKNOWN before the first.

    `read_from` are the tables that reading needs, `all_of` the tables and indexes that there must be to write.
    """

    def __init__(
        self, database: Database, queries: Queries, *, read_from: Collection[str], all_of: Collection[str]
    ) -> None:
        self._database = database
        self._queries = queries
        self._read_from = frozenset(read_from)
        self._all_of = sorted({*read_from, *all_of})
        self.state = UNKNOWN

    async def look(self) -> DatabaseState:
        """Look now, within LOOK_TIMEOUT_S, and return the new state. Writes one row and deletes it."""
        self.state = await self._looked()
        return self.state

    def forget(self) -> None:
        """Know nothing until the next look."""
        self.state = UNKNOWN

    async def _looked(self) -> DatabaseState:
        try:
            with anyio.fail_after(LOOK_TIMEOUT_S):
                missing = await self._missing()
        except (ServiceError, TimeoutError) as error:
            why = _why(error)
            return DatabaseState(why, why)
        lost = _lost(missing & self._read_from)
        if missing:
            return DatabaseState(lost, _lost(missing))
        return DatabaseState(None, await self._written())

    async def _missing(self) -> frozenset[str]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._queries["missing"], self._all_of)
        return frozenset(row["name"] for row in rows)

    async def _written(self) -> str | None:
        try:
            with anyio.fail_after(LOOK_TIMEOUT_S):
                async with self._database.connection() as connection:
                    for name in ("probe", "forget_probes", "free_probes"):
                        await connection.execute(self._queries[name])
        except (ServiceError, TimeoutError) as error:
            return _why(error)
        return None


def _lost(names: Collection[str]) -> str | None:
    return f"the database has lost {', '.join(sorted(names))}" if names else None


def _why(error: ServiceError | TimeoutError) -> str:
    if isinstance(error, TimeoutError):
        error = DatabaseUnavailable(f"Postgres did not answer within {LOOK_TIMEOUT_S:g} s")
    return error.message
