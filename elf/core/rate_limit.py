"""A pace for things that must not come too often, by whom they concern."""

from __future__ import annotations

from collections.abc import Callable, Hashable


class Pace:
    """Tells how far what comes under a name is ahead of an even pace of `rate` a second.

    The generic cell rate algorithm (ITU-T I.371): per name one moment, at which everything so far would have come at
    that pace. `clock` returns seconds of any zero.
    """

    def __init__(self, *, rate: float, clock: Callable[[], float]) -> None:
        self._step_s = 1.0 / rate
        self._clock = clock
        self._even: dict[Hashable, float] = {}

    def ahead_s(self, name: Hashable) -> float:
        """Count one more under this name, and return by how many seconds it came too early for the next one."""
        now = self._clock()
        if name not in self._even:
            self._forget(now)
        self._even[name] = moment = max(self._even.get(name, now), now) + self._step_s
        return moment - now

    def _forget(self, now: float) -> None:
        for name in [name for name, moment in self._even.items() if moment <= now]:
            del self._even[name]
