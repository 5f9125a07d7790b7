"""What the parts of this process tell about themselves, as metrics."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Protocol

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from actors.fronts.connections import Connections
from actors.kernel import Channel, SupervisorSnapshot
from elf.core.body_budget import BodyBudget
from elf.db.database import Database
from elf.db.health import DatabaseState
from elf.family import Gauge, Labels, StoredGauge, Total
from elf.search.breaker import BreakerState, CircuitBreaker
from elf.search.cache import KINDS, AnswerCache, CacheCounts


def build_metrics() -> list[Metric]:
    """Return what this process is."""
    build = GaugeMetricFamily(
        "elf_build_info", "Always 1; the labels say what runs.", labels=("version", "python")
    )
    build.add_metric((version("elf-memory"), ".".join(map(str, sys.version_info[:3]))), 1)
    return [build]


def log_metrics(dropped: int) -> list[Metric]:
    """Return how many lines of the log were dropped."""
    lines = CounterMetricFamily(
        "elf_log_lines_dropped",
        "Lines of the log dropped because they could not be written, or nobody read those before them.",
        value=dropped,
    )
    return [lines]


def actor_metrics(snapshot: SupervisorSnapshot, database: DatabaseState | None) -> list[Metric]:
    """Return the state of every actor, and whether all of them and the database are ready."""
    is_ready = snapshot.ready and not any(database or ())
    ready = GaugeMetricFamily(
        "elf_ready",
        "Whether every actor of the process is ready and the database can be read and written.",
        value=float(is_ready),
    )
    up = GaugeMetricFamily("elf_actor_up", "Whether the actor is ready.", labels=("actor",))
    restarts = CounterMetricFamily(
        "elf_actor_restarts", "Restarts of the actor after it crashed.", labels=("actor",)
    )
    for actor in snapshot.actors:
        up.add_metric((actor.name,), actor.ready)
        restarts.add_metric((actor.name,), actor.restarts)
    return [ready, up, restarts]


def database_metrics(state: DatabaseState) -> list[Metric]:
    """Return whether the database can be read, and whether it can be written."""
    works = GaugeMetricFamily(
        "elf_database_works", "Whether this worked when it was last tried: reads or writes.", labels=("what",)
    )
    works.add_metric(("reads",), state.reads is None)
    works.add_metric(("writes",), state.writes is None)
    return [works]


def channel_metrics(channels: Sequence[Channel[Any]]) -> list[Metric]:
    """Return how full the channels are and what they dropped."""
    fill = GaugeMetricFamily("elf_channel_items", "Items that wait in the channel.", labels=("channel",))
    capacity = GaugeMetricFamily(
        "elf_channel_capacity_items", "Items that the channel holds at most.", labels=("channel",)
    )
    sent = CounterMetricFamily("elf_channel_sent", "Items put into the channel.", labels=("channel",))
    dropped = CounterMetricFamily(
        "elf_channel_dropped", "Items dropped because the channel was full.", labels=("channel",)
    )
    for channel in channels:
        statistics = channel.statistics()
        fill.add_metric((statistics.name,), statistics.fill)
        capacity.add_metric((statistics.name,), statistics.capacity)
        sent.add_metric((statistics.name,), statistics.sent)
        dropped.add_metric((statistics.name,), statistics.dropped)
    return [fill, capacity, sent, dropped]


class Turns(Protocol):
    """Requests that are served now, that wait, and that were refused ever."""

    @property
    def at_work(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def refused(self) -> int: ...


def admission_metrics(turns: Mapping[str, Turns]) -> list[Metric]:
    """Return how many requests are let in, wait and are refused, by the kind of place they need."""
    requests = GaugeMetricFamily(
        "elf_admission_requests",
        "Requests that are at work or waiting, by the kind of place they need.",
        labels=("kind", "state"),
    )
    refused = CounterMetricFamily(
        "elf_admission_refused", "Requests refused because too many wanted to be served.", labels=("kind",)
    )
    for kind, turn in turns.items():
        requests.add_metric((kind, "at_work"), turn.at_work)
        requests.add_metric((kind, "waiting"), turn.waiting)
        refused.add_metric((kind,), turn.refused)
    return [requests, refused]


def connection_metrics(fronts: Sequence[Connections]) -> list[Metric]:
    """Return how many connections the fronts have, and what became of those beyond what they may have."""
    count = GaugeMetricFamily("elf_connections", "Connections of clients that are open.", labels=("front",))
    limit = GaugeMetricFamily(
        "elf_connections_max", "Connections of clients that may be open at most.", labels=("front",)
    )
    accepted = CounterMetricFamily(
        "elf_connections_accepted", "Connections of clients that were accepted.", labels=("front",)
    )
    short = CounterMetricFamily(
        "elf_connections_short",
        "Connections refused, or closed for another while they waited for their client, for want of room.",
        labels=("front", "outcome"),
    )
    for front in fronts:
        statistics = front.statistics()
        count.add_metric((front.front,), statistics.open)
        limit.add_metric((front.front,), statistics.limit)
        accepted.add_metric((front.front,), statistics.accepted)
        short.add_metric((front.front, "displaced"), statistics.displaced)
        short.add_metric((front.front, "refused"), statistics.refused)
    return [count, limit, accepted, short]


def body_metrics(bodies: BodyBudget | None) -> list[Metric]:
    """Return how much memory the bodies of requests take, where they are counted."""
    if bodies is None:
        return []
    statistics = bodies.statistics()
    return [
        GaugeMetricFamily(
            "elf_request_body_bytes", "Bytes of the bodies of requests in flight.", statistics.taken
        ),
        GaugeMetricFamily(
            "elf_request_body_bytes_max",
            "Bytes that the bodies of requests in flight may have at most.",
            statistics.limit,
        ),
        CounterMetricFamily(
            "elf_request_bodies_refused", "Bodies of requests refused for want of room.", statistics.refused
        ),
    ]


def pool_metrics(pools: Mapping[str, Database]) -> list[Metric]:
    """Return the use of the connection pools, by their names."""
    connections = GaugeMetricFamily(
        "elf_database_connections", "Connections of the pool by state.", labels=("pool", "state")
    )
    limit = GaugeMetricFamily(
        "elf_database_connections_max", "Connections that the pool holds at most.", labels=("pool",)
    )
    for name, database in pools.items():
        statistics = database.statistics()
        connections.add_metric((name, "idle"), statistics.idle)
        connections.add_metric((name, "in_use"), statistics.size - statistics.idle)
        limit.add_metric((name,), statistics.max_size)
    return [connections, limit]


def breaker_metrics(breakers: Mapping[str, CircuitBreaker]) -> list[Metric]:
    """Return the state of the circuit breakers, by what they guard."""
    is_open = GaugeMetricFamily(
        "elf_circuit_open",
        "Whether searches do without this, for it failed several times in a row.",
        labels=("circuit",),
    )
    openings = CounterMetricFamily(
        "elf_circuit_openings", "How often the circuit was opened.", labels=("circuit",)
    )
    refused = CounterMetricFamily(
        "elf_circuit_refused_calls",
        "Calls that were not made because the circuit was open.",
        labels=("circuit",),
    )
    for name, breaker in breakers.items():
        statistics = breaker.statistics()
        is_open.add_metric((name,), statistics.state is not BreakerState.CLOSED)
        openings.add_metric((name,), statistics.openings)
        refused.add_metric((name,), statistics.refused)
    return [is_open, openings, refused]


def cache_metrics(caches: Iterable[AnswerCache]) -> list[Metric]:
    """Return what came of reading and writing the answers kept, by their kind."""
    reads = CounterMetricFamily(
        "elf_cache_reads", "Answers of models looked up in the cache.", labels=("kind", "result")
    )
    errors = CounterMetricFamily(
        "elf_cache_errors", "Reads and writes of the cache that failed.", labels=("kind",)
    )
    for cache in caches:
        for kind in KINDS:
            counts = cache.counts.get(kind, CacheCounts())
            reads.add_metric((kind, "hit"), counts.hits)
            reads.add_metric((kind, "miss"), counts.misses)
            errors.add_metric((kind,), counts.errors)
    return [reads, errors]


def gauge_metrics(gauges: Iterable[Gauge]) -> list[Metric]:
    """Return what families show of themselves."""
    return [metric_of(gauge, gauge.read()) for gauge in gauges]


def total_metrics(totals: Iterable[Total]) -> list[Metric]:
    """Return what families count of themselves."""
    metrics: list[Metric] = []
    for total in totals:
        metric = CounterMetricFamily(total.name, total.about, labels=total.labels)
        for labels, value in total.read().items():
            metric.add_metric(labels, value)
        metrics.append(metric)
    return metrics


def metric_of(gauge: Gauge | StoredGauge, values: Mapping[Labels, float]) -> Metric:
    """Return a gauge with its values by their labels."""
    metric = GaugeMetricFamily(gauge.name, gauge.about, labels=gauge.labels)
    for labels, value in values.items():
        metric.add_metric(labels, value)
    return metric


def garbage_metrics(failures: Mapping[tuple[str, str], int]) -> list[Metric]:
    """Return how often each step of the collections of garbage failed."""
    failed = CounterMetricFamily(
        "elf_gc_step_failures", "Collections of garbage in which the step failed.", labels=("family", "step")
    )
    for step, number in failures.items():
        failed.add_metric(step, number)
    return [failed]
