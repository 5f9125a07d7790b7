"""When a file is at rest: it was the same at two looks that are long enough apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from elf.families.graph.ingest.entry import Entry, Stamp

REST_S: Final = 0.5


class Rest:
    """Remembers since when each file is as it is. The clock of the files themselves may be wrong, or be set."""

    def __init__(self, *, seconds: float = REST_S, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._monotonic = monotonic
        self._since: dict[str, tuple[Stamp, float]] = {}
        self._is_restless = False

    @property
    def is_restless(self) -> bool:
        """Whether the last look saw files that were not at rest."""
        return self._is_restless

    def at_rest(self, waiting: Iterable[Entry]) -> list[Entry]:
        """Return those that are at rest by now; forget what does not wait any more."""
        now = self._monotonic()
        entries = list(waiting)
        before, self._since = self._since, {}
        for entry in entries:
            stamp, since = before.get(entry.name, (entry.stamp, now))
            self._since[entry.name] = (entry.stamp, since if stamp == entry.stamp else now)
        resting = [entry for entry in entries if now - self._since[entry.name][1] >= self.seconds]
        self._is_restless = len(resting) < len(entries)
        return resting
