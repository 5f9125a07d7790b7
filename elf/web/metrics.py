"""The page that Prometheus reads, and the counting of an application's requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from quart import Quart, Response, g, request
from werkzeug.datastructures import Headers

from elf.core.measures import Measures
from elf.web.access_log import route, seconds_taken


def count_requests(app: Quart, *, front: str, measures: Measures) -> None:
    """Tell `measures` of each request that an application made by `create_app` answers."""

    async def count(response: Response) -> Response:
        measures.request(
            front=front,
            method=request.method,
            route=route(),
            status=response.status_code,
            seconds=seconds_taken(),
        )
        if "refusal" in g:
            measures.refusal(front=front, reason=g.refusal)
        return response

    app.after_request(count)


Admits: TypeAlias = Callable[[Headers], Awaitable[None]]
"""Raises what refuses whoever sends these headers."""


async def admit_everybody(_: Headers) -> None:
    """Refuse nobody."""


def add_metrics_page(
    app: Quart, collect: Callable[[], Awaitable[Iterable[Metric]]], *, admits: Admits = admit_everybody
) -> None:
    """Serve /metrics in Prometheus's text format; `collect` is asked for the metrics at each request."""

    async def metrics() -> Response:
        await admits(request.headers)
        return Response(metrics_page(await collect()), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    app.add_url_rule("/metrics", "metrics", metrics, methods=["GET"])


def metrics_page(metrics: Iterable[Metric]) -> bytes:
    """Return metrics in Prometheus's text format, version 0.0.4."""
    return generate_latest(_Collected(metrics))


class _Collected(Collector):
    """A collector of what has been collected already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
