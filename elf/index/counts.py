"""Counts that are dear to make and hardly change: the larger one is, the longer it is remembered.

The idf of a word needs how many points hold it. With few points each one matters, and counting them is quick, so that
small counts are made anew each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Final

LARGE: Final = 200
SECONDS_A_THOUSAND: Final = 10.0
LONGEST_S: Final = 60.0
SWEPT: Final = 10_000  # counts, some of which may be out of date, before these are looked for


class LargeCounts:
    """Remembers counts of LARGE and more. `clock` gives seconds that never go back.

    Its size is bounded by what is counted within LONGEST_S.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[Hashable, tuple[int, float]] = {}
        self._sweep_at = SWEPT

    def __len__(self) -> int:
        return len(self._counts)

    def known(self, key: Hashable) -> int | None:
        """Return the count, or None when it must be made."""
        count, until = self._counts.get(key, (None, 0.0))
        return count if self._clock() < until else None

    def learn(self, key: Hashable, count: int) -> None:
        """Take note of a count that was just made."""
        if count >= LARGE:
            self._sweep()
            self._counts[key] = (count, self._clock() + min(count / 1000 * SECONDS_A_THOUSAND, LONGEST_S))

    def _sweep(self) -> None:
        if len(self._counts) >= self._sweep_at:
            now = self._clock()
            self._counts = {key: entry for key, entry in self._counts.items() if now < entry[1]}
            self._sweep_at = len(self._counts) + SWEPT

    def forget(self) -> None:
        """Forget all counts."""
        self._counts.clear()
