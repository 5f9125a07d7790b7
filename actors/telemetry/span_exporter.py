"""Sends spans to a collector, in batches and beside the work."""

from __future__ import annotations

from importlib.metadata import version

import anyio
import anyio.to_thread
import structlog
from anyio.abc import TaskStatus
from opentelemetry.trace import ProxyTracerProvider, Tracer

from actors.kernel import Supervisor
from elf.config.tracing import Tracing

STOP_TIMEOUT_S = 3.0

log = structlog.get_logger()


class SpanExporter:
    """The actor behind `tracer`: the spans made with it are sent to the collector that the config names.

    They are sent by a thread of the SDK. A batch that the collector does not take is lost, and the log says so.
    """

    name = "span_exporter"

    def __init__(self, config: Tracing) -> None:
        from actors.telemetry.otlp import sending_provider  # its SDK is loaded where it is asked for

        provider, self._processor = sending_provider(config)
        self.tracer: Tracer = provider.get_tracer("elf", version("elf-memory"))

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Wait until cancelled, then send what is left, within STOP_TIMEOUT_S seconds."""
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.move_on_after(STOP_TIMEOUT_S, shield=True) as scope:
                await anyio.to_thread.run_sync(self._processor.shutdown, abandon_on_cancel=True)
            if scope.cancelled_caught:
                log.warning("spans_not_sent_in_time", after_s=STOP_TIMEOUT_S)


def tracer_for(config: Tracing | None, supervisor: Supervisor) -> Tracer:
    """Return the tracer of the config's collector, its exporter added to the supervisor.

    Without a collector, that of the provider that the program around ELF has set, if any: its spans go nowhere else.
    """
    if config is None:
        # Not `get_tracer`: without such a program it would have a variable of the environment name one.
        return ProxyTracerProvider().get_tracer("elf", version("elf-memory"))
    exporter = SpanExporter(config)
    supervisor.add(exporter, stop_timeout_s=STOP_TIMEOUT_S + 1.0)
    return exporter.tracer
