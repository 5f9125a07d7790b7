"""Collecting what has outlived its time: steps in small batches, by one process at a time, while others work on.

Each family brings its steps. A batch is a transaction of its own, so a collection may end anywhere and the next one
goes on from there. The steps take turns, a batch each, so none waits for the end of another; one that fails is left out
until the next collection.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from elf.core.clock import Clock
from elf.core.errors import ServiceError, StartupError
from elf.db.database import Connection, Database
from elf.db.errors import retrying

COLLECTOR_LOCK = int.from_bytes(b"elf:gc\0\0")  # any number that no other user of the database takes

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class GarbageStep:
    """One kind of garbage. `collect(now, limit)` does away with at most `limit` pieces and returns how many it did.

    `family` is whose garbage it is. `name` is lower_snake_case and one's own among the steps of all families. `now` is
    the moment that ages are counted from. Fewer than `limit` says that there are no more.
    """

    family: str
    name: str
    collect: Callable[[datetime, int], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Collected:
    """How many pieces each step did away with; nothing ran when another process was at it (`ran` is false).

    failed: why a step did not come to its end, by its name; what it did until then counts and stays done.
    """

    ran: bool
    counts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class GarbageCollector:
    """Runs the steps in rounds, a batch of each in their order, until none has a whole batch left to do.

    `failures` counts by family and step how often one failed since the start. Raises StartupError when two steps have
    one name.
    """

    def __init__(
        self, database: Database, steps: Sequence[GarbageStep], *, clock: Clock, batch_size: int
    ) -> None:
        self._database = database
        self._steps = tuple(steps)
        names = Counter(step.name for step in self._steps)
        if doubled := [name for name, count in names.items() if count > 1]:
            raise StartupError(f"two steps of garbage collection are called {doubled[0]}")
        self._clock = clock
        self._batch_size = batch_size
        self.failures = Counter({(step.family, step.name): 0 for step in self._steps})

    async def collect(self) -> Collected:
        """Collect everything there is now. Raises DatabaseUnavailable; batches that were done stay done."""
        began = time.perf_counter()
        # A transaction-scoped lock: it goes with the connection, whatever happens to this process.
        async with self._database.transaction() as guard:
            if not await guard.fetchval("SELECT pg_try_advisory_xact_lock($1)", COLLECTOR_LOCK):
                return Collected(ran=False)
            collected = Collected(ran=True, counts={step.name: 0 for step in self._steps})
            while await self._round(collected, guard):
                pass
        ms = round((time.perf_counter() - began) * 1000)
        log.info("garbage_collected", ms=ms, failed=sorted(collected.failed), **collected.counts)
        return collected

    async def _round(self, collected: Collected, guard: Connection) -> bool:
        """Do a batch of each step that has not failed; tells whether one of them has more to do."""
        more = False
        for step in self._steps:
            if step.name not in collected.failed:
                await guard.execute(
                    "SELECT 1"
                )  # the server ends a transaction that idles, and the lock with it
                more = await self._batch(step, collected) >= self._batch_size or more
        return more

    async def _batch(self, step: GarbageStep, collected: Collected) -> int:
        now = self._clock.now()
        try:
            done = await retrying(lambda: step.collect(now, self._batch_size))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one step, the others have their turn
            self._note_failure(step, error, collected)
            return 0
        collected.counts[step.name] += done
        return done

    def _note_failure(self, step: GarbageStep, error: Exception, collected: Collected) -> None:
        known = isinstance(error, ServiceError)
        reason = str(error) if known else type(error).__name__
        self.failures[step.family, step.name] += 1
        collected.failed[step.name] = reason
        log.warning(
            "garbage_step_failed",
            family=step.family,
            step=step.name,
            error=reason,
            exc_info=None if known else error,
        )
