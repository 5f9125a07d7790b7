"""Wakes tasks that wait for something to come."""

from __future__ import annotations

import anyio


class Bell:
    """Wakes all who wait for it."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        """Wake them."""
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Wait until it rings, and no longer than the timeout."""
        with anyio.move_on_after(timeout_s):
            await self._event.wait()
