"""When a crashed actor is started again, and when its failure goes up instead."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """Exponential backoff with jitter, and a bound on restarts in a sliding window.

    The wait before restart n in a row is `min(max_s, initial_s * factor ** (n - 1))` seconds, made shorter by
    a random share of it between 0 and `jitter`. A run that stayed ready for `healthy_after_s` seconds begins
    the row anew; it does not empty the window, so an actor that dies every few minutes for hours still goes
    up. More than `max_restarts` restarts within any `window_s` seconds are refused.

    Raises ValueError when a field is out of its range.
    """

    initial_s: float = 0.1
    factor: float = 2.0
    max_s: float = 30.0
    jitter: float = 0.2
    healthy_after_s: float = 60.0
    max_restarts: int = 20
    window_s: float = 600.0

    def __post_init__(self) -> None:
        bounds = {
            "initial_s must be a finite number of at least 0": 0 <= self.initial_s < math.inf,
            "factor must be a finite number of at least 1": 1 <= self.factor < math.inf,
            "max_s must be finite and at least initial_s": self.initial_s <= self.max_s < math.inf,
            "jitter must be within 0..1": 0 <= self.jitter <= 1,
            "healthy_after_s must be at least 0": self.healthy_after_s >= 0,
            "max_restarts must be at least 0": self.max_restarts >= 0,
            "window_s must be above 0": self.window_s > 0,
        }
        faults = [rule for rule, kept in bounds.items() if not kept]
        if faults:
            raise ValueError("; ".join(faults))


class RestartHistory:
    """What one actor's crashes so far mean for the next one. `rng` returns numbers in [0, 1)."""

    def __init__(self, policy: RestartPolicy, rng: Callable[[], float]) -> None:
        self._policy = policy
        self._rng = rng
        self._next_base_s = policy.initial_s
        self._restarted_at: deque[float] = deque()

    def delay_s(self, *, now: float, ready_for_s: float) -> float | None:
        """Seconds to wait before the restart after a crash at `now`, or None when the failure has to go up.

        `ready_for_s` is how long the run that crashed had been ready, 0 when it never was.
        """
        while self._restarted_at and self._restarted_at[0] <= now - self._policy.window_s:
            self._restarted_at.popleft()
        if len(self._restarted_at) >= self._policy.max_restarts:
            return None
        self._restarted_at.append(now)
        return self._jittered(self._base_s(healthy=ready_for_s >= self._policy.healthy_after_s))

    def _base_s(self, *, healthy: bool) -> float:
        # Stepwise rather than as a power: factor ** n overflows a float after a few hours of short waits.
        base_s = self._policy.initial_s if healthy else self._next_base_s
        self._next_base_s = min(self._policy.max_s, base_s * self._policy.factor)
        return base_s

    def _jittered(self, base_s: float) -> float:
        return base_s * (1 - self._policy.jitter * self._rng())
