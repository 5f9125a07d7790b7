"""What one waits for and several ring."""

from __future__ import annotations

import anyio


class Bell:
    """Rung by anybody, heard by one: a ring that comes before the wait counts, and several are one."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        """Wake who waits, or who waits next."""
        self._rung.set()

    async def wait(self) -> None:
        """Wait until it is rung, unless it was."""
        await self._rung.wait()
        self._rung = anyio.Event()
