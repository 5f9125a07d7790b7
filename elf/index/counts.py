"""Counts that are dear to make and hardly change: remembered for a while once they are large.

The idf of a word needs how many points hold it. Counting a few hundred is quick, and with so few each one matters, so
that small counts are made anew each time; a large one is the same for a minute, within what an idf can tell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Final

LARGE: Final = 1000
KEPT_S: Final = 60.0


class LargeCounts:
    """The counts of at least LARGE that are younger than KEPT_S. `clock` gives seconds that never go back.

    Its size is bounded by what is counted: an index of n words in all has at most n / LARGE words with a large count.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[Hashable, tuple[int, float]] = {}

    def known(self, key: Hashable) -> int | None:
        """Return the count, or None when it must be made."""
        count, until = self._counts.get(key, (None, 0.0))
        if self._clock() < until:
            return count
        self._counts.pop(key, None)
        return None

    def learn(self, key: Hashable, count: int) -> None:
        """Take note of a count that was just made."""
        if count >= LARGE:
            self._counts[key] = (count, self._clock() + KEPT_S)

    def forget(self) -> None:
        """Forget all counts."""
        self._counts.clear()
