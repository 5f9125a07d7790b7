"""The text of a recording: it grows until it ends, and any number of readers go through it at a pace of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

import anyio

from elf.core.shares import ShareExceeded, Shares

Ending: TypeAlias = Literal["success", "cancelled", "error", "broken"]

TEXT_BYTES: Final = 64 * 1024


class Content:
    """UTF-8 that is kept once, however many read it. No piece of it ends within a character.

    Its bytes are counted in `shares` for its owners until the last of those who hold it lets it go. `exceeded` is the
    limit that kept this process from fetching more of it from another one.
    """

    def __init__(self, shares: Shares, **owners: Hashable) -> None:
        self._shares = shares
        self._owners = owners
        self._holders = 0
        self._bytes = bytearray()
        self.exceeded: ShareExceeded | None = None
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

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it meanwhile."""
        self.hold()
        try:
            yield
        finally:
            self.let_go()

    def hold(self) -> None:
        """Hold it until it is let go."""
        self._holders += 1

    def let_go(self) -> None:
        """Hold it no longer."""
        self._holders -= 1
        if not self._holders:
            self._shares.give_back(len(self._bytes), **self._owners)

    def append(self, data: bytes) -> None:
        """Add something, unless it has ended. Raises ShareExceeded, and adds nothing then."""
        if self._ending is None and data:
            self._shares.take(len(data), **self._owners)
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
