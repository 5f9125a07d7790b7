"""Measures a process: the other parts show it what there is to read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from prometheus_client import ProcessCollector
from prometheus_client.metrics_core import Metric
from werkzeug.datastructures import Headers

from actors.fronts.connections import Connections
from actors.kernel import Channel, SupervisorSnapshot
from actors.telemetry.live_readings import (
    Turns,
    actor_metrics,
    admission_metrics,
    body_metrics,
    breaker_metrics,
    build_metrics,
    cache_metrics,
    channel_metrics,
    connection_metrics,
    database_metrics,
    garbage_metrics,
    gauge_metrics,
    log_metrics,
    pool_metrics,
    total_metrics,
)
from elf.api.caller import Caller
from elf.core.body_budget import BodyBudget
from elf.core.errors import ServiceError
from elf.core.log_writer import dropped_log_lines
from elf.db.database import Database
from elf.db.health import DatabaseState
from elf.family import Gauge, Total
from elf.identity.identify import Identify
from elf.identity.refusal import refusal_reason
from elf.search.breaker import CircuitBreaker
from elf.search.cache import AnswerCache
from elf.search.trace import SearchTrace, TraceSink
from elf.web.application import Application
from elf.web.measures import PrometheusMeasures
from elf.web.metrics import Admits, add_metrics_page, count_requests

CollectStored = Callable[[], Awaitable[Iterable[Metric]]]


class Metrics:
    """Everything that is measured of one process.

    What happens is told to `measures`; what can be read at any moment is shown to a `watch_...` method while the
    process is put together.
    """

    def __init__(self) -> None:
        self.measures = PrometheusMeasures()
        self._process = ProcessCollector(registry=None)
        self._snapshot: Callable[[], SupervisorSnapshot] | None = None
        self._database: Callable[[], DatabaseState] | None = None
        self._channels: list[Channel[Any]] = []
        self._pools: dict[str, Database] = {}
        self._breakers: dict[str, CircuitBreaker] = {}
        self._caches: list[AnswerCache] = []
        self._connections: list[Connections] = []
        self._bodies: BodyBudget | None = None
        self._gauges: list[Gauge] = []
        self._totals: list[Total] = []
        self._garbage_failures: Mapping[tuple[str, str], int] = {}
        self._turns: Callable[[], Mapping[str, Turns]] | None = None
        self._collect_stored: CollectStored | None = None

    def watch_actors(self, snapshot: Callable[[], SupervisorSnapshot]) -> None:
        """Show the state of the actors."""
        self._snapshot = snapshot

    def watch_database(self, state: Callable[[], DatabaseState]) -> None:
        """Show whether the database can be read and written."""
        self._database = state

    def watch_channels(self, *channels: Channel[Any]) -> None:
        """Show how full these are."""
        self._channels.extend(channels)

    def watch_pools(self, pools: Mapping[str, Database]) -> None:
        """Show the use of connection pools, by their names."""
        self._pools.update(pools)

    def watch_breakers(self, breakers: Iterable[CircuitBreaker]) -> None:
        """Show the state of circuit breakers."""
        self._breakers.update({_guarded(breaker): breaker for breaker in breakers})

    def watch_cache(self, cache: AnswerCache) -> None:
        """Show how often a cache could answer."""
        self._caches.append(cache)

    def watch_gauges(self, gauges: Iterable[Gauge]) -> None:
        """Show what families show of themselves."""
        self._gauges.extend(gauges)

    def watch_totals(self, totals: Iterable[Total]) -> None:
        """Show what families count of themselves."""
        self._totals.extend(totals)

    def watch_garbage(self, failures: Mapping[tuple[str, str], int]) -> None:
        """Show how often the steps of collections failed, as `failures` counts it."""
        self._garbage_failures = failures

    def watch_admission(self, turns: Callable[[], Mapping[str, Turns]]) -> None:
        """Show how many requests are let in, by the kind of place they need."""
        self._turns = turns

    def watch_connections(self, connections: Connections) -> None:
        """Show how many connections a front has."""
        self._connections.append(connections)

    def watch_bodies(self, bodies: BodyBudget) -> None:
        """Show how much memory the bodies of requests take."""
        self._bodies = bodies

    def watch_stored(self, collect: CollectStored) -> None:
        """Show what is read from Postgres at each request of the page."""
        self._collect_stored = collect

    def count_searches(self, sink: TraceSink) -> TraceSink:
        """Return a sink that counts and times searches by their traces, and passes these on."""

        def counted(trace: SearchTrace) -> object:
            self.measures.search(family=trace.family, stages=trace.stages, degraded=trace.degraded)
            return sink(trace)

        return counted

    def count_requests(self, app: Application, *, front: str) -> None:
        """Count and time the requests of an application."""
        count_requests(app, front=front, measures=self.measures)

    def count_refusals(self, identify: Identify, *, front: str) -> Identify:
        """Return what says who calls, and counts who is refused."""

        async def counted(headers: Headers) -> Caller:
            try:
                return await identify(headers)
            except ServiceError as refusal:
                if reason := refusal_reason(refusal):
                    self.measures.refusal(front=front, reason=reason)
                raise

        return counted

    def add_page(self, app: Application, *, admits: Admits) -> None:
        """Serve /metrics with an application, to whom `admits` lets through."""
        add_metrics_page(app, self.collect, admits=admits)

    async def collect(self) -> list[Metric]:
        """Return all metrics as they are now."""
        database = self._database() if self._database else None
        stored = [] if self._collect_stored is None else await self._collect_stored()
        return [
            *build_metrics(),
            *log_metrics(dropped_log_lines()),
            *(actor_metrics(self._snapshot(), database) if self._snapshot else ()),
            *(database_metrics(database) if database else ()),
            *channel_metrics(self._channels),
            *pool_metrics(self._pools),
            *breaker_metrics(self._breakers),
            *cache_metrics(self._caches),
            *gauge_metrics(self._gauges),
            *total_metrics(self._totals),
            *garbage_metrics(self._garbage_failures),
            *(admission_metrics(self._turns()) if self._turns else ()),
            *connection_metrics(self._connections),
            *body_metrics(self._bodies),
            *self.measures.collect(),
            *stored,
            *self._process.collect(),
        ]


def _guarded(breaker: CircuitBreaker) -> str:
    """Return what a breaker guards in one word: of `providers.rerank (acme)` rerank, of `the index` index."""
    return breaker.name.removeprefix("providers.").removeprefix("the ").partition(" ")[0]
