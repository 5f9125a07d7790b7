"""Work that goes on in one process: most of it together, some of it alone."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

SETTLE_S: Final = 10.0
"""How long a process has to have lived before anybody is alone in it."""
LONGEST_TURN_S: Final = 120.0
"""How long a turn lasts at most while somebody waits to be alone."""


@dataclass(eq=False, slots=True, kw_only=True)
class Turn:
    """A turn in a process. `is_alone` tells that it keeps others out, and that nobody was at work when it began."""

    keeps_others_out: bool
    is_alone: bool = False
    began_at: float = 0.0
    granted: anyio.Event = field(default_factory=anyio.Event)


class Turns:
    """Grants turns in the order in which they are asked for: together with others, or alone.

    Nobody is alone until the process has lived for `settle_s`: processes that somebody kills again and again, soon
    after each start, would be blamed on it, and those that it does end serve requests for a while in between.
    A turn may end before its work does, as that of a chore that takes an hour: of those together after LONGEST_TURN_S,
    when somebody waits to be alone, and of one alone by `end`. Nobody waits for such work, but who then has a turn
    alone is told by `is_alone` that it goes on. So nobody waits for much longer than two turns last.
    """

    def __init__(self, *, settle_s: float = SETTLE_S) -> None:
        self._settled_at = time.monotonic() + settle_s
        self._asked: deque[Turn] = deque()
        self._lasting: set[Turn] = set()  # any number that are together, or one that is not
        self._overdue: set[Turn] = set()  # whose work outlasts them

    @asynccontextmanager
    async def together(self) -> AsyncIterator[Turn]:
        """Go on while others do, but nobody who asked to be alone."""
        turn = Turn(keeps_others_out=False)
        await self._take(turn)
        try:
            yield turn
        finally:
            self._leave(turn)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Turn]:
        """Go on while no other turn lasts."""
        await anyio.sleep(max(0.0, self._settled_at - time.monotonic()))
        turn = Turn(keeps_others_out=True)
        await self._take(turn)
        try:
            yield turn
        finally:
            self._leave(turn)

    def end(self, turn: Turn) -> None:
        """End a turn before its work: others go on beside that from now on."""
        if turn in self._lasting:
            self._lasting.remove(turn)
            self._overdue.add(turn)
            self._grant()

    async def _take(self, turn: Turn) -> None:
        self._asked.append(turn)
        self._grant()
        try:
            if turn.keeps_others_out:
                await self._outwait(turn)
            await turn.granted.wait()
        except BaseException:
            if turn.granted.is_set():  # and cancelled at the same time
                self._leave(turn)
            else:
                self._asked.remove(turn)
                self._grant()  # those behind it
            raise

    async def _outwait(self, turn: Turn) -> None:
        """Wait for a turn alone, and end those of others that have lasted long enough."""
        while not turn.granted.is_set():
            ends = {
                other: other.began_at + LONGEST_TURN_S
                for other in self._lasting
                if not other.keeps_others_out
            }
            now = anyio.current_time()
            with anyio.move_on_after(min(ends.values(), default=now + LONGEST_TURN_S) - now):
                await turn.granted.wait()
            for other, at in ends.items():
                if at <= anyio.current_time():
                    self.end(other)

    def _leave(self, turn: Turn) -> None:
        self._lasting.discard(turn)
        self._overdue.discard(turn)
        self._grant()

    def _grant(self) -> None:
        while self._asked:
            first = self._asked[0]
            if self._lasting and (
                first.keeps_others_out or any(turn.keeps_others_out for turn in self._lasting)
            ):
                return
            self._asked.popleft()
            self._lasting.add(first)
            first.is_alone = first.keeps_others_out and not self._overdue
            first.began_at = anyio.current_time()
            first.granted.set()
