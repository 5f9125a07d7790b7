"""What is counted and timed as it happens, in the form that Prometheus reads.

Labels take few values, and never what a client may choose freely: a path that leads nowhere is one route, and a method
that HTTP does not know is one method.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric

from elf.core.measures import CallOutcome

UNMATCHED: Final = "unmatched"
OTHER: Final = "other"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

# Seconds: a search takes 10 to 50 ms, a stage of it 1 to 20 ms, and a language model many seconds.
_REQUEST_BUCKETS: Final = (
    0.0025,
    0.005,
    0.01,
    0.02,
    0.03,
    0.05,
    0.075,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
)
_STAGE_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_CALL_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class _Timed:
    """How often something happened, and how long it took, by the same labels.

    Looking a series up by its labels takes half the time of counting, so those once found are kept.
    """

    def __init__(
        self,
        count: tuple[str, str],
        duration: tuple[str, str],
        labels: Sequence[str],
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._count = Counter(*count, labels, registry=registry)
        self._seconds = Histogram(*duration, labels, buckets=buckets, registry=registry)
        self._series: dict[tuple[str, ...], tuple[Counter, Histogram]] = {}

    def observe(self, labels: tuple[str, ...], seconds: float) -> None:
        series = self._series.get(labels)
        if series is None:
            series = self._count.labels(*labels), self._seconds.labels(*labels)
            self._series[labels] = series
        series[0].inc()
        series[1].observe(seconds)


class PrometheusMeasures:
    """The Measures port over instruments of a registry of its own."""

    def __init__(self) -> None:
        own = CollectorRegistry(auto_describe=False)
        self._registry = own
        self._requests = _Timed(
            ("elf_http_requests", "HTTP requests answered."),
            (
                "elf_http_request_duration_seconds",
                "How long HTTP requests took, from their headers to their answer.",
            ),
            ("front", "method", "route", "status"),
            buckets=_REQUEST_BUCKETS,
            registry=own,
        )
        self._rpcs = _Timed(
            ("elf_grpc_calls", "gRPC calls answered."),
            (
                "elf_grpc_call_duration_seconds",
                "How long gRPC calls took, streams from their first message to their last.",
            ),
            ("front", "method", "code"),
            buckets=_REQUEST_BUCKETS,
            registry=own,
        )
        self._refusals = Counter(
            "elf_callers_refused",
            "Requests refused for who makes them, or because nobody knows who does.",
            ("front", "reason"),
            registry=own,
        )
        self._searches = Counter("elf_searches", "Searches answered.", ("family",), registry=own)
        self._degraded = Counter(
            "elf_searches_degraded",
            "Searches answered without a part that was away.",
            ("family", "part"),
            registry=own,
        )
        self._stage_seconds = Histogram(
            "elf_search_stage_duration_seconds",
            "How long the stages of searches took.",
            ("family", "stage"),
            buckets=_STAGE_BUCKETS,
            registry=own,
        )
        self._stages: dict[tuple[str, str], Histogram] = {}
        self._calls = _Timed(
            ("elf_provider_calls", "Calls to model providers that ended."),
            (
                "elf_provider_call_duration_seconds",
                "How long calls to model providers took, all tries of one together.",
            ),
            ("provider", "outcome"),
            buckets=_CALL_BUCKETS,
            registry=own,
        )
        self._failed_tries = Counter(
            "elf_provider_failed_tries",
            "Tries of calls to model providers that failed in a way that may pass.",
            ("provider",),
            registry=own,
        )

    def request(self, *, front: str, method: str, route: str, status: int, seconds: float) -> None:
        """Count and time a request."""
        self._requests.observe((front, method if method in METHODS else OTHER, route, str(status)), seconds)

    def rpc(self, *, front: str, method: str, code: str, seconds: float) -> None:
        """Count and time a call."""
        self._rpcs.observe((front, method, code), seconds)

    def refusal(self, *, front: str, reason: str) -> None:
        """Count a refusal."""
        self._refusals.labels(front, reason).inc()

    def search(self, *, family: str, stages: Sequence[tuple[str, float]], degraded: Sequence[str]) -> None:
        """Count a search, time its stages."""
        self._searches.labels(family).inc()
        for name, milliseconds in stages:
            labels = family, name
            if labels not in self._stages:
                self._stages[labels] = self._stage_seconds.labels(*labels)
            self._stages[labels].observe(milliseconds / 1000.0)
        for part in degraded:
            self._degraded.labels(family, part).inc()

    def provider_call(
        self, *, provider: str, outcome: CallOutcome, seconds: float, failed_tries: int
    ) -> None:
        """Count and time a call."""
        self._calls.observe((provider, outcome), seconds)
        self._failed_tries.labels(provider).inc(failed_tries)

    def collect(self) -> Iterable[Metric]:
        """Return all metrics as they are now."""
        for metric in self._registry.collect():
            # When each series began: a series more for each, and Prometheus knows without.
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
