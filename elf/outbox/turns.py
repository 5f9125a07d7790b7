"""Work that goes on in one process: most of it together, some of it alone."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio


class _Asked(NamedTuple):
    is_alone: bool
    granted: anyio.Event


class Turns:
    """Grants turns in the order in which they are asked for: together with others, or alone.

    Who waits to be alone keeps nobody waiting for longer than what goes on at that moment and its own turn take.
    """

    def __init__(self) -> None:
        self._asked: deque[_Asked] = deque()
        self._together = 0
        self._is_alone = False

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Go on while others do, and nobody alone."""
        await self._take(is_alone=False)
        try:
            yield
        finally:
            self._leave(is_alone=False)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Callable[[], None]]:
        """Go on while nobody else does: until the end of the block, or until what it is given is called."""
        await self._take(is_alone=True)
        is_over = False

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self._leave(is_alone=True)

        try:
            yield end
        finally:
            end()

    async def _take(self, *, is_alone: bool) -> None:
        asked = _Asked(is_alone, anyio.Event())
        self._asked.append(asked)
        self._grant()
        try:
            await asked.granted.wait()
        except BaseException:
            if asked.granted.is_set():  # and cancelled at the same time
                self._leave(is_alone=is_alone)
            else:
                self._asked.remove(asked)
                self._grant()  # those behind it
            raise

    def _leave(self, *, is_alone: bool) -> None:
        if is_alone:
            self._is_alone = False
        else:
            self._together -= 1
        self._grant()

    def _grant(self) -> None:
        while self._asked and not self._is_alone:
            first = self._asked[0]
            if first.is_alone and self._together:
                return
            self._asked.popleft()
            if first.is_alone:
                self._is_alone = True
            else:
                self._together += 1
            first.granted.set()
