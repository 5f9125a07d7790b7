"""An actor that does one thing at intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus


class Ticker:
    """Awaits `tick()` every `interval_s` seconds, never two at once.

    The ticks lie on a grid that begins with the run: the first one at once, or after an interval when
    `at_once` is false. Grid points that pass while a tick runs are skipped. Each tick but one at once comes a
    random share of the interval late, between 0 and `jitter`, so that many processes do not tick together;
    `rng` returns numbers in [0, 1). It is ready from its start; an exception of `tick` is a crash.

    Raises ValueError when `interval_s` is not above 0 and finite, or `jitter` not within 0 (with) and 1
    (without).
    """

    def __init__(
        self,
        name: str,
        interval_s: float,
        tick: Callable[[], Awaitable[object]],
        *,
        at_once: bool = True,
        jitter: float = 0.0,
        rng: Callable[[], float] = random.random,
    ) -> None:
        if not 0 < interval_s < math.inf:
            raise ValueError(f"interval_s of ticker {name} must be above 0 and finite")
        if not 0 <= jitter < 1:
            raise ValueError(f"jitter of ticker {name} must be at least 0 and below 1")
        self.name = name
        self.interval_s = interval_s
        self._tick = tick
        self._at_once = at_once
        self._jitter = jitter
        self._rng = rng
        self._asked = anyio.Event()

    def run_now(self) -> None:
        """Tick as soon as possible, besides the grid: at once, or when the running tick ends.

        Asking again before that changes nothing. Asking while the actor is down is remembered.
        """
        self._asked.set()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        task_status.started()
        if self._at_once:
            self.run_now()
        due = anyio.current_time() + self.interval_s
        while True:
            due = self._without_missed(due)
            asked = await self._wait_until(due + self._lateness())
            if not asked:
                due += self.interval_s
            await self._tick()

    def _without_missed(self, due: float) -> float:
        missed = math.ceil((anyio.current_time() - due) / self.interval_s)
        return due + max(0, missed) * self.interval_s

    def _lateness(self) -> float:
        return self.interval_s * self._jitter * self._rng()

    async def _wait_until(self, when: float) -> bool:
        """Wait until the event loop's clock shows `when`, or `run_now` is called; true when it was."""
        with anyio.CancelScope(deadline=when):
            await self._asked.wait()
        asked = self._asked.is_set()
        if asked:
            self._asked = anyio.Event()
        return asked
