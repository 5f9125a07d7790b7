"""The stages of one search: how long each took, and how long the next may take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Stages:
    """The clock of one search.

    `budget_s` is how long the search may take from now on; without it only the providers' own limits hold. A stage
    that something else can stand in for gets a share of what is left, so that a slow part leaves time for its stand-in.
    """

    def __init__(self, budget_s: float | None = None) -> None:
        self._ends_at = None if budget_s is None else anyio.current_time() + budget_s
        self.timings: list[tuple[str, float]] = []

    @contextmanager
    def stage(self, name: str, *, share: float = 1.0) -> Iterator[None]:
        """Time what is done within, in milliseconds. Raises TimeoutError when it takes more than its share."""
        started = time.perf_counter()
        try:
            with anyio.fail_after(self.left(share)):
                yield
        finally:
            self.timings.append((name, round((time.perf_counter() - started) * 1000.0, 3)))

    def left(self, share: float = 1.0) -> float | None:
        """Return a share of the seconds that are left; None when the search may take as long as it takes."""
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - anyio.current_time()) * share
