"""Does for a file what only one process at a time is to do: whoever holds its lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import anyio
import structlog

from elf.core.errors import ServiceError
from elf.db.file_lock import FileLock
from elf.families.graph.errors import FileUnusable
from elf.families.graph.store.file import MemoryFile

RETRY_S: Final = 1.0
"""How soon the duties of a process that died are taken over."""

log = structlog.get_logger()


class Duty(Protocol):
    """What is to be done for a file as long as it is open. It may raise ServiceError, and is begun again then.

    One that raises FileUnusable ends the others, and is told to whoever has the file open.
    """

    async def run(self, file: MemoryFile) -> None: ...


class Steward:
    """Takes the lock of each file that is open, or waits for it, and then has the duties done."""

    def __init__(self, duties: Sequence[Duty], *, retry_s: float = RETRY_S) -> None:
        self._duties = duties
        self._retry_s = retry_s

    async def run(self, file: MemoryFile) -> None:
        """Serve a file until cancelled. Raises an ExceptionGroup of FileUnusable where it cannot be used any more."""
        while True:
            lock = FileLock(file.layout.lock)
            try:
                if lock.try_exclusive():
                    await self._serve(file)
            finally:
                lock.close()
            await anyio.sleep(self._retry_s)

    async def _serve(self, file: MemoryFile) -> None:
        async with anyio.create_task_group() as group:
            for duty in self._duties:
                group.start_soon(self._do, duty, file)

    async def _do(self, duty: Duty, file: MemoryFile) -> None:
        while True:
            try:
                await duty.run(file)
            except FileUnusable:  # nobody can do anything for it until somebody has seen to it
                raise
            except ServiceError as error:
                log.warning("graph_duty_interrupted", duty=type(duty).__name__, error=error.message)
            await anyio.sleep(self._retry_s)
