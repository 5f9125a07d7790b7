"""Counting what is stored, for who runs the service: exactly, but once a minute, because all of it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
import structlog

from elf.core.errors import ServiceError
from elf.db.database import Database

COUNTED_FOR_S: Final = 60.0
# Measured: a million notes take 0.1 s, and up to 1 s while many of them were written to of late.
TIMEOUT_S: Final = 3.0

log = structlog.get_logger()

Counts = Sequence[Mapping[str, Any]]


def _without() -> Sequence[Any]:
    return ()


class Census:
    """The rows of a statement that counts; `family` is told in the log when they cannot be had.

    `arguments` returns what the statement is asked with each time.
    """

    def __init__(
        self,
        database: Database,
        statement: str,
        *,
        family: str,
        arguments: Callable[[], Sequence[Any]] = _without,
    ) -> None:
        self._database = database
        self._statement = statement
        self._family = family
        self._arguments = arguments
        self._counting = anyio.Lock()
        self._rows: Counts | None = None
        self._due_at = float("-inf")

    async def rows(self) -> Counts | None:
        """Return the rows of the last minute; None when they could not be had, for a minute as well."""
        async with self._counting:
            if anyio.current_time() >= self._due_at:
                self._rows = await self._count()
                self._due_at = anyio.current_time() + COUNTED_FOR_S
            return self._rows

    async def _count(self) -> Counts | None:
        try:
            with anyio.fail_after(TIMEOUT_S):
                async with self._database.connection() as connection:
                    return await connection.fetch(self._statement, *self._arguments())
        except (ServiceError, TimeoutError) as error:
            log.info("not_counted", family=self._family, error=type(error).__name__)
            return None
