"""Spans as OTLP over HTTP.

The SDK's own exporter takes addresses, headers and certificates from environment variables, which configure nothing
here, so what it does is done with the HTTP client of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import httpx
import structlog
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

from elf.config.tracing import Tracing

QUEUE_SPANS = 4096  # waiting to be sent; more are dropped
BATCH_SPANS = 512
SEND_EVERY_S = 2.0
SEND_TIMEOUT_S = 2.0

log = structlog.get_logger()


class OtlpExporter(SpanExporter):
    """Posts batches of spans; the SDK calls it in a thread of its own. What the collector does not take is lost."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._http = httpx.Client(
            trust_env=False, timeout=SEND_TIMEOUT_S, headers={"content-type": "application/x-protobuf"}
        )

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; a failure is logged."""
        content = encode_spans(spans).SerializeToString()
        try:
            self._http.post(self._endpoint, content=content).raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Not its message, which quotes the address, and with it a password.
            log.warning("spans_lost", spans=len(spans), error=type(error).__name__)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the connection."""
        self._http.close()


def sending_provider(config: Tracing) -> tuple[TracerProvider, BatchSpanProcessor]:
    """Return a provider whose spans are sent in batches, and what sends them."""
    processor = BatchSpanProcessor(
        OtlpExporter(config.endpoint),
        max_queue_size=QUEUE_SPANS,
        schedule_delay_millis=SEND_EVERY_S * 1000,
        max_export_batch_size=BATCH_SPANS,
        export_timeout_millis=SEND_TIMEOUT_S * 1000,
    )
    provider = TracerProvider(
        resource=Resource({"service.name": config.service_name, "service.version": version("elf-memory")}),
        sampler=ParentBased(ALWAYS_ON),  # a caller that does not sample is not overruled
        shutdown_on_exit=False,
        # Said here, or they would be taken from the environment.
        span_limits=SpanLimits(
            max_attributes=128,
            max_span_attributes=128,
            max_events=128,
            max_links=128,
            max_event_attributes=128,
            max_link_attributes=128,
            max_attribute_length=1024,
            max_span_attribute_length=1024,
        ),
    )
    provider.add_span_processor(processor)
    return provider, processor
