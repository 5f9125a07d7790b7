"""Bounded channels between actors."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, Literal, NamedTuple, TypeVar

import anyio
from anyio.lowlevel import checkpoint

T = TypeVar("T")

WhenFull = Literal["block", "drop"]


class ChannelStatistics(NamedTuple):
    """A channel at one moment. `sent`, `received` and `dropped` count items since the channel was made."""

    name: str
    capacity: int
    fill: int
    sent: int
    received: int
    dropped: int
    waiting_senders: int
    waiting_receivers: int


class Channel(Generic[T]):
    """A queue of at most `capacity` items for any number of senders and receivers of one event loop.

    When it is full, "block" makes senders wait and "drop" drops the new item and counts it. An item is in the
    channel exactly when its send has returned (true), and out of it exactly when a receive has returned it:
    one that is cancelled instead has changed nothing. The items of one sender stay in order. A channel
    outlives the actors at its ends and is never closed; it may be made outside an event loop.

    Raises ValueError when `capacity` is below 1 or `when_full` is neither word.
    """

    def __init__(self, name: str, capacity: int, when_full: WhenFull = "block") -> None:
        if capacity < 1:
            raise ValueError(f"the capacity of channel {name} must be at least 1")
        if when_full not in ("block", "drop"):
            raise ValueError(f"when_full of channel {name} must be block or drop")
        self.name = name
        self.capacity = capacity
        self.when_full = when_full
        self._items: deque[T] = deque()
        self._senders = _WaitingLine(self._has_room)
        self._receivers = _WaitingLine(self._has_items)
        self._sent = self._received = self._dropped = 0

    async def send(self, item: T) -> bool:
        """Put an item in, waiting for room when full is "block"; false when it was dropped."""
        await checkpoint()
        if self.when_full == "block":
            await self._senders.wait()
        return self.send_nowait(item)

    def send_nowait(self, item: T) -> bool:
        """Put an item in without waiting; false when it was dropped.

        Raises anyio.WouldBlock when a channel that blocks is full.
        """
        if not self._has_room():
            if self.when_full == "block":
                raise anyio.WouldBlock
            self._dropped += 1
            return False
        self._items.append(item)
        self._sent += 1
        self._receivers.wake_one()
        return True

    async def receive(self) -> T:
        """Take the oldest item, waiting for one."""
        await checkpoint()
        await self._receivers.wait()
        return self.receive_nowait()

    def receive_nowait(self) -> T:
        """Take the oldest item; raises anyio.WouldBlock when there is none."""
        if not self._items:
            raise anyio.WouldBlock
        item = self._items.popleft()
        self._received += 1
        self._senders.wake_one()
        return item

    async def receive_many(self, limit: int) -> list[T]:
        """Wait for an item, then take what is there, the oldest first: 1 to `limit` items.

        Raises ValueError when `limit` is below 1.
        """
        if limit < 1:
            raise ValueError("limit must be at least 1")
        await checkpoint()
        await self._receivers.wait()
        return [self.receive_nowait() for _ in range(min(limit, len(self._items)))]

    def statistics(self) -> ChannelStatistics:
        return ChannelStatistics(
            name=self.name,
            capacity=self.capacity,
            fill=len(self._items),
            sent=self._sent,
            received=self._received,
            dropped=self._dropped,
            waiting_senders=len(self._senders),
            waiting_receivers=len(self._receivers),
        )

    def _has_room(self) -> bool:
        return len(self._items) < self.capacity

    def _has_items(self) -> bool:
        return bool(self._items)


class _WaitingLine:
    """Tasks that wait for one side of a channel, woken first come first served.

    A wake-up is a hint and carries no item, so nothing is lost with a task that is cancelled after it was
    woken; the hint itself is passed on. There are always as many woken tasks as chances, or nobody left to
    wake.
    """

    def __init__(self, has_chance: Callable[[], bool]) -> None:
        self._has_chance = has_chance
        self._waiting: OrderedDict[anyio.Event, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self) -> None:
        """Return as soon as there is a chance, which then lasts until the next await."""
        came_in_vain = False
        while not self._has_chance():
            woken = anyio.Event()
            self._waiting[woken] = None
            if came_in_vain:
                self._waiting.move_to_end(woken, last=False)
            try:
                await woken.wait()
            except BaseException:
                if woken.is_set() and self._has_chance():
                    self.wake_one()
                raise
            finally:
                self._waiting.pop(woken, None)
            came_in_vain = True

    def wake_one(self) -> None:
        if self._waiting:
            woken, _ = self._waiting.popitem(last=False)
            woken.set()
