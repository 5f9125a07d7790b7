"""A pace for things that must not come too often, by whom they concern."""

from __future__ import annotations

from collections.abc import Callable


class Pace:
    """At most `rate` a second for each name in the long run, and up to `burst` at once.

    The generic cell rate algorithm (ITU-T I.371): per name one moment, at which everything let through so far would
    have been through at an even pace. `clock` returns seconds of any zero.
    """

    def __init__(self, *, rate: float, burst: int, clock: Callable[[], float]) -> None:
        self._step_s = 1.0 / rate
        self._ahead_s = burst / rate
        self._clock = clock
        self._even: dict[str, float] = {}  # by the moment of the last one, oldest first

    def delay_s(self, name: str) -> float:
        """Let one more through and return how long it has to wait, in seconds; 0 while the pace is kept."""
        now = self._clock()
        self._forget(now)
        moment = max(self._even.pop(name, now), now) + self._step_s
        self._even[name] = moment
        return max(0.0, moment - self._ahead_s - now)

    def _forget(self, now: float) -> None:
        while self._even and self._even[first := next(iter(self._even))] <= now:
            del self._even[first]
