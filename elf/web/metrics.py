"""The page that Prometheus reads, and the counting of an application's requests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from werkzeug.datastructures import Headers

from elf.core.measures import Measures
from elf.web.application import Application
from elf.web.exchange import Exchange
from elf.web.measures import UNMATCHED
from elf.web.response import Response


def count_requests(app: Application, *, front: str, measures: Measures) -> None:
    """Tell `measures` of each request that an application made by `create_app` answers."""

    def count(exchange: Exchange, response: Response) -> None:
        measures.request(
            front=front,
            method=exchange.method,
            route=exchange.route_path or UNMATCHED,
            status=response.status,
            seconds=time.perf_counter() - exchange.started,
        )
        if exchange.refusal is not None:
            measures.refusal(front=front, reason=exchange.refusal)

    app.after_each(count)


Admits: TypeAlias = Callable[[Headers], Awaitable[None]]
"""Raises what refuses whoever sends these headers."""


async def admit_everybody(_: Headers) -> None:
    """Refuse nobody."""


def add_metrics_page(
    app: Application, collect: Callable[[], Awaitable[Iterable[Metric]]], *, admits: Admits = admit_everybody
) -> None:
    """Serve /metrics in Prometheus's text format; `collect` is asked for the metrics at each request."""

    async def metrics(exchange: Exchange) -> Response:
        await admits(exchange.headers)
        return Response(metrics_page(await collect()), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    app.add_page("/metrics", metrics)


def metrics_page(metrics: Iterable[Metric]) -> bytes:
    """Return metrics in Prometheus's text format, version 0.0.4."""
    return generate_latest(_Collected(metrics))


class _Collected(Collector):
    """A collector of what has been collected already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
