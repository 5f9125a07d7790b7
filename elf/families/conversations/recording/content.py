"""The text of a recording: it grows until it ends, and any number of readers go through it at a pace of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final, Literal, TypeAlias

import anyio

Ending: TypeAlias = Literal["success", "cancelled", "error", "broken"]

TEXT_BYTES: Final = 64 * 1024


class Content:
    """UTF-8 that is kept once, however many read it. No piece of it ends within a character."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ending: Ending | None = None
        self._ended = anyio.Event()
        self._grown = anyio.Event()

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self._bytes)

    @property
    def ending(self) -> Ending | None:
        """How it ended; None while it grows."""
        return self._ending

    def append(self, data: bytes) -> None:
        """Add something, unless it has ended."""
        if self._ending is None and data:
            self._bytes += data
            self._tell()

    def end(self, ending: Ending) -> None:
        """Say how it ended. The first to say so is right."""
        if self._ending is None:
            self._ending = ending
            self._ended.set()
            self._tell()

    def stretch(self, start: int, most: int) -> bytes:
        """Return what is there from a place on: at most so many bytes, 4 at least, and no part of a character."""
        end = min(start + most, self.size)
        while end < self.size and self._bytes[end] & 0xC0 == 0x80:
            end -= 1
        return bytes(self._bytes[start:end])

    async def texts(self, *, gather_s: float) -> AsyncGenerator[str]:
        """Yield all of it, from the start to the end. What comes within `gather_s` is one."""
        start = 0
        while True:
            while start < self.size:
                data = self.stretch(start, TEXT_BYTES)
                start += len(data)
                yield data.decode()
            if self._ending is not None:
                return
            await self._grown.wait()
            with anyio.move_on_after(gather_s):
                await self._ended.wait()

    def _tell(self) -> None:
        """Wake those who have read everything; whoever reads it later waits for what comes after."""
        self._grown.set()
        self._grown = anyio.Event()
