"""What only Postgres knows of the service's state: read when somebody asks, and never a reason to fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import anyio
import structlog
from anyio.abc import TaskStatus
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from actors.telemetry.live_readings import metric_of
from elf.core.clock import Clock
from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.family import StoredGauge
from elf.outbox.chores import ChoreRuns, ChoreState
from elf.outbox.leased import LeasedOutbox, OutboxStatistics

PROBE_TIMEOUT_S = 1.0
# Measured: half a second for a million open jobs.
OUTBOX_TIMEOUT_S = 2.0
# Prometheus waits for 10 s, and with the page loses all other metrics, too.
PAGE_TIMEOUT_S = 3.0

T = TypeVar("T")

log = structlog.get_logger()


class StoredReadings:
    """The actor that reads the outboxes, by family and name, the chores and the families' gauges when a page asks.

    It has a task of its own because a statement that Postgres leaves unanswered takes seconds to be given up, and no
    page waits for that. Pages that ask at once share a reading.
    """

    name = "metrics_reader"

    def __init__(
        self,
        *,
        database: Database,
        outboxes: Mapping[tuple[str, str], LeasedOutbox],
        chores: ChoreRuns,
        gauges: Sequence[StoredGauge],
        clock: Clock,
    ) -> None:
        self._database = database
        self._outboxes = outboxes
        self._chores = chores
        self._gauges = gauges
        self._clock = clock
        self._wanted = anyio.Event()
        self._done = anyio.Event()
        self._read: list[Metric] = []

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Read when asked, until cancelled."""
        task_status.started()
        try:
            while True:
                await self._wanted.wait()
                self._read = []
                await self._read_all()
                self._wanted = anyio.Event()
                self._done.set()
                self._done = anyio.Event()
        finally:
            self._read = []  # it would grow old

    async def collect(self) -> list[Metric]:
        """Return what can be read within PAGE_TIMEOUT_S seconds; the rest is absent. Never raises."""
        if not self._wanted.is_set():
            self._read = []
            self._wanted.set()
        with anyio.move_on_after(PAGE_TIMEOUT_S):
            await self._done.wait()
        return list(self._read) or [_up(False)]

    async def _read_all(self) -> None:
        if not await _within(PROBE_TIMEOUT_S, self._database_answers, what="probe"):
            return
        self._read.append(_up(True))
        statistics = {
            name: await _within(OUTBOX_TIMEOUT_S, outbox.statistics, what=name[1])
            for name, outbox in self._outboxes.items()
        }
        self._read.extend(self._outbox_metrics(statistics))
        if (states := await _within(OUTBOX_TIMEOUT_S, self._chores.states, what="chores")) is not None:
            self._read.extend(_chore_metrics(states))
        for gauge in self._gauges:
            if (values := await gauge.read()) is not None:
                self._read.append(metric_of(gauge, values))

    async def _database_answers(self) -> bool:
        async with self._database.connection() as connection:
            return bool(await connection.fetchval("SELECT true"))

    def _outbox_metrics(self, outboxes: Mapping[tuple[str, str], OutboxStatistics | None]) -> list[Metric]:
        jobs = GaugeMetricFamily(
            "elf_outbox_jobs",
            "Jobs in an outbox: pending for the first time, failed and to be tried again, or given up.",
            labels=("family", "outbox", "status"),
        )
        age = GaugeMetricFamily(
            "elf_outbox_oldest_job_age_seconds",
            "How long the oldest job has waited in an outbox; 0 when none waits.",
            labels=("family", "outbox"),
        )
        for name, statistics in outboxes.items():
            if statistics is None:
                continue
            jobs.add_metric((*name, "pending"), statistics.pending)
            jobs.add_metric((*name, "failed"), statistics.failed)
            jobs.add_metric((*name, "given_up"), statistics.given_up)
            age.add_metric(name, self._age_s(statistics))
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


def _up(answers: bool) -> Metric:
    return GaugeMetricFamily(
        "elf_database_up", "Whether Postgres answered when these metrics were read.", value=float(answers)
    )


def _chore_metrics(states: Sequence[ChoreState]) -> list[Metric]:
    runs = GaugeMetricFamily(
        "elf_chore_runs",
        "Runs of a chore: pending for the first time, failed and to be tried again, or given up.",
        labels=("family", "chore", "status"),
    )
    done = GaugeMetricFamily(
        "elf_chore_last_done_timestamp_seconds",
        "When a run of a chore was done last; 0 before the first.",
        labels=("family", "chore"),
    )
    for state in states:
        runs.add_metric((state.family, state.chore, "pending"), state.pending)
        runs.add_metric((state.family, state.chore, "failed"), state.failed)
        runs.add_metric((state.family, state.chore, "given_up"), state.given_up)
        last = 0.0 if state.last_done is None else state.last_done.timestamp()
        done.add_metric((state.family, state.chore), last)
    return [runs, done]
