"""Collects garbage at intervals."""

from __future__ import annotations

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Ticker
from elf.core.errors import Unavailable
from elf.db.garbage import GarbageCollector

RETRY_S = 60.0
JITTER = 0.02  # of an interval: many processes do not ask at the same moment

log = structlog.get_logger()


class GcTicker:
    """Collects when it starts and then every `interval_s` seconds; again after a minute when Postgres was away.

    When a step failed it comes again sooner, too: after a minute, and then twice as long each time. It comes at the
    start so that a service that never runs for a whole interval collects, too.
    """

    name = "gc_ticker"

    def __init__(self, collector: GarbageCollector, *, interval_s: float) -> None:
        self._collector = collector
        self._interval_s = interval_s
        self._ticker = Ticker(self.name, interval_s, self._collect, jitter=JITTER)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        await self._ticker.run(task_status=task_status)

    async def _collect(self) -> None:
        again_after_s = RETRY_S
        while True:
            try:
                if not (await self._collector.collect()).failed:
                    return
                await anyio.sleep(again_after_s)
                again_after_s = min(2 * again_after_s, self._interval_s)
            except Unavailable as error:
                log.warning("not_collecting", error=error.message, again_after_s=RETRY_S)
                await anyio.sleep(RETRY_S)
