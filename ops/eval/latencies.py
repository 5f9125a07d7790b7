"""How long things took."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Latencies:
    """Milliseconds by operation."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[float]] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.by_name.setdefault(name, []).append((time.perf_counter() - began) * 1000)

    def median(self, name: str) -> float:
        """Return the p50 of an operation that was timed at least once."""
        return statistics.median(self.by_name[name])

    def show(self) -> None:
        for name, values in self.by_name.items():
            p95 = sorted(values)[int(len(values) * 0.95)]
            p50 = statistics.median(values)
            print(f"{name:<10} {len(values):>6} times   p50 {p50:6.1f} ms   p95 {p95:6.1f} ms")
