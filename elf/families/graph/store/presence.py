"""Who is at work in a memory.db: locks, by which whoever puts a damaged one aside knows that nobody is.

    .open       held by each that has the file open, beside each other
    .recover    held by who wants to be alone with it: the others see that, and close the file

Whoever dies lets go of both.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final

import anyio

from elf.core.errors import Unavailable
from elf.db.file_lock import FileLock, exclusive
from elf.families.graph.store.layout import Layout

LOOK_S: Final = 1.0
"""How soon whoever has the file open sees that somebody wants to be alone with it."""
ALONE_S: Final = 15.0
"""How long whoever wants that waits for the others."""


class Presence:
    """One that has a file open, in as many threads as it likes. `enter` makes it, `leave` ends it."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock
        self._guard = threading.Lock()
        self._count = 1

    @classmethod
    def enter(cls, layout: Layout) -> Presence:
        """Say that the file is being opened. Raises Unavailable while somebody is alone with it, or wants to be."""
        try:
            lock = FileLock(layout.presence)
        except OSError as error:
            raise Unavailable(
                f"the memory of {layout.whose} cannot be used: {error.strerror}", retry_after_s=5
            ) from error
        if somebody_wants_it_alone(layout) or not lock.try_shared():
            lock.close()
            raise Unavailable(f"the memory of {layout.whose} is being recovered: try again", retry_after_s=1)
        return cls(lock)

    def leave(self) -> None:
        """Say that one of the threads is done; with the last one, the file is closed."""
        with self._guard:
            self._count -= 1
            if not self._count:
                self._lock.close()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Count a thread among those at work for the block. Raises Unavailable when all have left."""
        with self._guard:
            if not self._count:
                raise Unavailable("the memory is being closed: try again")
            self._count += 1
        try:
            yield
        finally:
            self.leave()


def somebody_wants_it_alone(layout: Layout) -> bool:
    """Tell whether somebody wants to be alone with a file; nobody can who cannot lock it, either."""
    try:
        lock = FileLock(layout.recovery)
    except OSError:
        return False
    try:
        return not lock.try_shared()
    finally:
        lock.close()


@asynccontextmanager
async def alone_with(layout: Layout) -> AsyncIterator[None]:
    """Have nobody else open a file for the block, in any process. Raises Unavailable when that takes too long."""
    async with AsyncExitStack() as held:
        try:
            with anyio.fail_after(ALONE_S):
                for lock in (layout.recovery, layout.presence):
                    await held.enter_async_context(exclusive(lock))
        except TimeoutError as error:
            raise Unavailable(
                f"the memory of {layout.whose} is in use for too long: try again", retry_after_s=5
            ) from error
        except OSError as error:
            raise Unavailable(f"the memory of {layout.whose} cannot be used: {error.strerror}") from error
        yield
