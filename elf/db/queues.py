"""Queues before what only one may do at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class _Queue:
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    members: int = 0


class Queues:
    """A queue for each thing that somebody is at or waits for, by its name; none for any other."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    def __len__(self) -> int:
        return len(self._queues)

    @asynccontextmanager
    async def alone_with(self, things: Collection[str]) -> AsyncIterator[None]:
        """Wait until nobody else is at any of these things, in the order of asking, and keep others away."""
        async with AsyncExitStack() as turns:
            for thing in sorted(set(things)):  # in one order for all, or two might wait for each other
                await turns.enter_async_context(self._alone_with(thing))
            yield

    @asynccontextmanager
    async def _alone_with(self, thing: str) -> AsyncIterator[None]:
        queue = self._queues.setdefault(thing, _Queue())
        queue.members += 1
        try:
            async with queue.turn:
                yield
        finally:
            queue.members -= 1
            if not queue.members:
                del self._queues[thing]
