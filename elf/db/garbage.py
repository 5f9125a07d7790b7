"""Collecting what has outlived its time: steps in small batches, by one process at a time, while others work on.

Each family brings its steps. A batch is a transaction of its own, so a collection may end anywhere and the next one
goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from elf.core.clock import Clock
from elf.db.database import Connection, Database
from elf.db.errors import retrying

COLLECTOR_LOCK = int.from_bytes(b"elf:gc\0\0")  # any number that no other user of the database takes

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class GarbageStep:
    """One kind of garbage. `collect(now, limit)` does away with at most `limit` pieces and returns how many it did.

    `now` is the moment that ages are counted from. Fewer than `limit` says that there are no more.
    """

    name: str
    collect: Callable[[datetime, int], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Collected:
    """How many pieces each step did away with; nothing ran when another process was at it (`ran` is false)."""

    ran: bool
    counts: dict[str, int]


class GarbageCollector:
    """Runs the steps in order, each until nothing is left to do for it."""

    def __init__(
        self, database: Database, steps: Sequence[GarbageStep], *, clock: Clock, batch_size: int
    ) -> None:
        self._database = database
        self._steps = tuple(steps)
        self._clock = clock
        self._batch_size = batch_size

    async def collect(self) -> Collected:
        """Collect everything there is now. Raises DatabaseUnavailable; batches that were done stay done."""
        began = time.perf_counter()
        # A transaction-scoped lock: it goes with the connection, whatever happens to this process.
        async with self._database.transaction() as guard:
            if not await guard.fetchval("SELECT pg_try_advisory_xact_lock($1)", COLLECTOR_LOCK):
                return Collected(ran=False, counts={})
            counts = {step.name: await self._run(step, guard) for step in self._steps}
        log.info("garbage_collected", ms=round((time.perf_counter() - began) * 1000), **counts)
        return Collected(ran=True, counts=counts)

    async def _run(self, step: GarbageStep, guard: Connection) -> int:
        now, limit = self._clock.now(), self._batch_size
        total, done = 0, limit
        while done >= limit:
            await guard.execute("SELECT 1")  # the server ends a transaction that idles, and the lock with it
            done = await retrying(lambda: step.collect(now, limit))
            total += done
        return total
