"""Spans reach the collector that the config names, and a collector that is away costs nothing but spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import anyio
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from structlog.testing import capture_logs

from actors.kernel import Supervisor
from actors.telemetry.span_exporter import SpanExporter, tracer_for
from elf.config.tracing import Tracing

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # the SDK sends from a thread, which knows no virtual time


class Collector(HTTPServer):
    """Takes OTLP over HTTP and keeps it."""

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.status = status
        self.taken: list[tuple[str, str, ExportTraceServiceRequest]] = []

    @property
    def endpoint(self) -> str:
        return f"http://elf:hunter2@127.0.0.1:{self.server_port}/v1/traces"


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        content = ExportTraceServiceRequest.FromString(body)
        self.server.taken.append((self.path, self.headers["content-type"], content))
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(params=[200])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    with Collector(request.param) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def send_one(config: Tracing) -> None:
    """Make a span and stop the exporter, which sends it before it ends."""
    exporter = SpanExporter(config)
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: exporter.run(task_status=task_status))
        with exporter.tracer.start_as_current_span("search_memory") as span:
            span.set_attribute("gen_ai.operation.name", "search_memory")
        group.cancel_scope.cancel()


async def test_spans_are_sent_as_otlp_under_the_services_name(collector: Collector) -> None:
    await send_one(Tracing(endpoint=collector.endpoint, service_name="elf of the lab"))
    ((path, kind, content),) = collector.taken
    assert (path, kind) == ("/v1/traces", "application/x-protobuf")
    (resource_spans,) = content.resource_spans
    resource = {pair.key: pair.value.string_value for pair in resource_spans.resource.attributes}
    assert resource["service.name"] == "elf of the lab"
    assert [span.name for scope in resource_spans.scope_spans for span in scope.spans] == ["search_memory"]


async def test_no_variable_of_the_environment_changes_what_is_sent(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "another")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=other")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "0")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    await send_one(Tracing(endpoint=collector.endpoint, service_name="elf"))
    ((_, _, content),) = collector.taken
    (resource_spans,) = content.resource_spans
    keys = {pair.key: pair.value.string_value for pair in resource_spans.resource.attributes}
    assert (keys["service.name"], "team" in keys) == ("elf", False)
    (span,) = resource_spans.scope_spans[0].spans
    assert [pair.key for pair in span.attributes] == ["gen_ai.operation.name"]


@pytest.mark.parametrize("collector", [503], indirect=True)
async def test_a_batch_that_is_not_taken_is_lost_and_the_log_says_so_without_the_address(
    collector: Collector,
) -> None:
    with capture_logs() as logs:
        await send_one(Tracing(endpoint=collector.endpoint, service_name="elf"))
    (lost,) = [line for line in logs if line["event"] == "spans_lost"]
    assert (lost["spans"], lost["error"]) == (1, "HTTPStatusError")
    assert "hunter2" not in str(logs)


async def test_a_collector_that_is_away_does_not_keep_the_service_from_stopping() -> None:
    with capture_logs() as logs:
        await send_one(Tracing(endpoint="http://127.0.0.1:1/v1/traces", service_name="elf"))
    assert [line["error"] for line in logs if line["event"] == "spans_lost"] == ["ConnectError"]


async def test_without_a_collector_there_is_no_exporter_and_no_span_is_kept() -> None:
    supervisor = Supervisor()
    tracer = tracer_for(None, supervisor)
    with tracer.start_as_current_span("search_memory") as span:
        assert not span.is_recording()
    assert supervisor.snapshot().actors == ()


async def test_with_a_collector_the_exporter_is_an_actor(collector: Collector) -> None:
    supervisor = Supervisor()
    tracer = tracer_for(Tracing(endpoint=collector.endpoint, service_name="elf"), supervisor)
    async with anyio.create_task_group() as group:
        await group.start(supervisor.run)
        with tracer.start_as_current_span("search_memory") as span:
            assert span.is_recording()
        assert [actor.name for actor in supervisor.snapshot().actors] == ["span_exporter"]
        group.cancel_scope.cancel()
    assert len(collector.taken) == 1
