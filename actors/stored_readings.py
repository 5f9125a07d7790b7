"""What only Postgres knows of the service's state: read when somebody asks, and never a reason to fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

import anyio
import structlog
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from elf.core.clock import Clock
from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.families.notes.census import NoteCensus
from elf.outbox.leased import LeasedOutbox, OutboxStatistics

PROBE_TIMEOUT_S = 1.0
# Measured: half a second for a million open jobs. All readings together stay below the 10 s that Prometheus waits.
OUTBOX_TIMEOUT_S = 2.0

T = TypeVar("T")

log = structlog.get_logger()


class StoredReadings:
    """Reads the outboxes, by their names, and the notes' counts. What cannot be read is absent from the metrics."""

    def __init__(
        self, *, database: Database, outboxes: Mapping[str, LeasedOutbox], census: NoteCensus, clock: Clock
    ) -> None:
        self._database = database
        self._outboxes = outboxes
        self._census = census
        self._clock = clock

    async def collect(self) -> list[Metric]:
        """Return the metrics; within 8 s and with one connection at a time. Never raises."""
        up = await _within(PROBE_TIMEOUT_S, self._database_answers, what="probe")
        answers = GaugeMetricFamily(
            "elf_database_up",
            "Whether Postgres answered when these metrics were read.",
            value=float(bool(up)),
        )
        if not up:
            return [answers]
        outboxes = [
            (name, statistics)
            for name, outbox in self._outboxes.items()
            if (statistics := await _within(OUTBOX_TIMEOUT_S, outbox.statistics, what=name)) is not None
        ]
        return [answers, *self._outbox_metrics(outboxes), *_note_metrics(await self._census.counts())]

    async def _database_answers(self) -> bool:
        async with self._database.connection() as connection:
            return bool(await connection.fetchval("SELECT true"))

    def _outbox_metrics(self, outboxes: Iterable[tuple[str, OutboxStatistics]]) -> list[Metric]:
        jobs = GaugeMetricFamily(
            "elf_outbox_jobs",
            "Jobs that wait in an outbox: pending for the first time, or failed and to be tried again.",
            labels=("outbox", "status"),
        )
        age = GaugeMetricFamily(
            "elf_outbox_oldest_job_age_seconds",
            "How long the oldest job has waited in an outbox; 0 when none waits.",
            labels=("outbox",),
        )
        for name, statistics in outboxes:
            jobs.add_metric((name, "pending"), statistics.pending)
            jobs.add_metric((name, "failed"), statistics.failed)
            age.add_metric((name,), self._age_s(statistics))
        return [jobs, age]

    def _age_s(self, statistics: OutboxStatistics) -> float:
        if statistics.oldest is None:
            return 0.0
        # Postgres may run on a machine whose clock is ahead.
        return max(0.0, (self._clock.now() - statistics.oldest).total_seconds())


async def _within(limit_s: float, read: Callable[[], Awaitable[T]], *, what: str) -> T | None:
    try:
        with anyio.fail_after(limit_s):
            return await read()
    except (ServiceError, TimeoutError) as error:
        log.info("metrics_not_read", what=what, error=type(error).__name__)
        return None


def _note_metrics(counts: Mapping[str, int] | None) -> list[Metric]:
    if counts is None:
        return []
    notes = GaugeMetricFamily(
        "elf_notes", "Notes stored, over all tenants, counted once a minute.", labels=("status",)
    )
    for status, number in counts.items():
        notes.add_metric((status,), number)
    return [notes]
