"""Watches drop folders, all of a process by one thread, and rings where something happens in one.

What it tells is a hint: who is rung looks for itself, and looks from time to time without being rung.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus
from watchfiles import Change, awatch

from elf.families.graph.ingest.names import LOOK, waits

RETRY_S: Final = 30.0
_GATHER_MS: Final = 100
_FIRST_MS: Final = 500
"""When all are rung after a watch has begun: something may have happened before it did."""
log = structlog.get_logger()


class FolderWatch:
    """Rings for the folders that it is told of, while it runs."""

    def __init__(self) -> None:
        self._rings: dict[str, Callable[[], None]] = {}
        self._stop = anyio.Event()

    @contextmanager
    def watching(self, folder: str, ring: Callable[[], None]) -> Iterator[None]:
        """Have a folder watched for the block, not what is in its folders. `folder` is its real path."""
        self._rings[folder] = ring
        self._stop.set()
        try:
            yield
        finally:
            del self._rings[folder]
            self._stop.set()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            while True:
                self._stop = anyio.Event()
                folders = [folder for folder in self._rings if os.path.isdir(folder)]  # noqa: ASYNC240 - no wait
                if folders:
                    await self._watch(folders)
                else:
                    await self._stop.wait()
        finally:
            self._stop.set()

    async def _watch(self, folders: list[str]) -> None:
        """Watch until another folder is to be watched, or for a while where it cannot be done."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_when_cancelled)
            try:
                changes = awatch(
                    *folders,
                    watch_filter=_matters,
                    debounce=_GATHER_MS,
                    stop_event=self._stop,
                    recursive=False,
                    rust_timeout=_FIRST_MS,
                    yield_on_timeout=True,
                )
                self._ring({os.path.dirname(path) for _, path in await anext(changes, set())} | set(folders))
                async for found in changes:
                    self._ring({os.path.dirname(path) for _, path in found})
            except OSError as error:  # there are too many watches, or a folder is gone
                log.warning("memory.ingest.unwatched", folders=len(folders), error=error.strerror)
                with anyio.move_on_after(RETRY_S):
                    await self._stop.wait()
            group.cancel_scope.cancel()

    async def _stop_when_cancelled(self) -> None:
        """Have the thread that watches return, which no cancellation reaches."""
        try:
            await anyio.sleep_forever()
        finally:
            self._stop.set()

    def _ring(self, folders: set[str]) -> None:
        for folder in folders & self._rings.keys():
            self._rings[folder]()


def _matters(_: Change, path: str) -> bool:
    name = os.path.basename(path)
    return name == LOOK or not waits(name)
