"""Locks between processes that end with their holder, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

POLL_S = 0.02


class FileLock:
    """An flock on a file of its own. Two FileLocks of one process exclude each other like two processes do.

    Child processes hold the lock too when its descriptor is passed on to them: it is then free when the last
    of them is gone.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )

    @property
    def descriptor(self) -> int:
        """The open file. Raises ValueError after `close`."""
        if self._descriptor is None:
            raise ValueError("the lock is closed")
        return self._descriptor

    def try_exclusive(self) -> bool:
        """Take the lock for this holder alone. A failed try gives up a shared lock that was held."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Take the lock beside other shared holders."""
        return self._try(fcntl.LOCK_SH)

    def close(self) -> None:
        """Let go of the lock, unless a child process still holds it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _try(self, operation: int) -> bool:
        try:
            fcntl.flock(self.descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def is_locked(path: Path) -> bool:
    """Tell whether anyone holds an exclusive or shared lock on the file."""
    lock = FileLock(path)
    try:
        return not lock.try_exclusive()
    finally:
        lock.close()


@asynccontextmanager
async def exclusive(path: Path) -> AsyncIterator[None]:
    """Hold the file's lock alone for the block, after waiting for it. Bound the wait by a cancel scope."""
    lock = FileLock(path)
    try:
        while not lock.try_exclusive():  # noqa: ASYNC110 - another process cannot set an event here
            await anyio.sleep(POLL_S)
        yield
    finally:
        lock.close()
