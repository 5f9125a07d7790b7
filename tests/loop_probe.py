"""How long an event loop is held: what a probe that ticks on the loop itself sees of it.

A tick is due every few milliseconds. What keeps the loop makes it late; the processor time that the loop's own thread
has used since the tick before is what the loop was held for, however busy the machine is besides.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

EVERY_S = 0.002
LATE_S = 0.02  # from here on it is worth knowing what the loop is at


@dataclass(frozen=True, slots=True)
class Hold:
    """The time between two ticks: when it ended (time.monotonic), its length, and what the loop's thread worked in it.

    `where` are the stacks of the loop's thread while the tick was overdue, the innermost frame last.
    """

    ended: float
    wall_s: float
    cpu_s: float
    where: tuple[str, ...] = ()


@dataclass
class LoopProbe:
    """Collects the holds of the running loop that are longer than `LATE_S` by either clock."""

    holds: list[Hold] = field(default_factory=list)
    _ticked: float = 0.0
    _worked: float = 0.0
    _seen: list[str] = field(default_factory=list)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the loop that this runs on, which must be the calling thread's."""
        loop, thread = asyncio.get_running_loop(), threading.get_ident()
        stopped = threading.Event()
        self._ticked, self._worked = time.monotonic(), time.thread_time()
        sampler = threading.Thread(target=self._sample, args=(thread, stopped), daemon=True)
        handle = [loop.call_later(EVERY_S, lambda: None)]

        def tick() -> None:
            self._tick()
            handle[0] = loop.call_later(EVERY_S, tick)

        tick()
        sampler.start()
        try:
            yield
        finally:
            stopped.set()
            sampler.join()
            handle[0].cancel()

    def _tick(self) -> None:
        now, worked = time.monotonic(), time.thread_time()
        wall_s, cpu_s = now - self._ticked, worked - self._worked
        self._ticked, self._worked = now, worked
        if max(wall_s, cpu_s) > LATE_S:
            self.holds.append(Hold(now, wall_s, cpu_s, tuple(self._seen)))
        self._seen = []

    def _sample(self, thread: int, stopped: threading.Event) -> None:
        while not stopped.wait(EVERY_S):
            if time.monotonic() - self._ticked > LATE_S and len(self._seen) < 50:
                frame = sys._current_frames()[thread]
                stack = traceback.extract_stack(frame)[-6:]
                self._seen.append(
                    " < ".join(
                        f"{entry.name} ({entry.filename.rsplit('/', 2)[-1]}:{entry.lineno})"
                        for entry in reversed(stack)
                    )
                )
