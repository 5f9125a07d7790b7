"""Puts together what keeps the traces of searches."""

from __future__ import annotations

from actors.assembly.shared import Shared
from actors.kernel import Channel
from actors.signals.outbox_wake import OutboxListener
from actors.workers.trace_writer import TraceWriter
from elf.outbox.leased import LeasedOutbox
from elf.search.trace import SearchTrace, TraceSink
from elf.search.trace_store import TraceStore
from elf.web.spans import describing_spans

TRACES_WAITING = 1024  # of about 20 KB; more are dropped


def add_traces(
    shared: Shared, listener: OutboxListener, store: TraceStore, outbox: LeasedOutbox
) -> TraceSink:
    """Add the trace writer, which works off the outbox, too; return what takes the traces of searches."""
    waiting: Channel[SearchTrace] = Channel("traces", TRACES_WAITING, "drop")
    listener.tell(outbox.presence)
    redact = shared.config.security.redact_secrets_on_write
    shared.supervisor.add(TraceWriter(waiting, store=store, outbox=outbox, redact=redact))
    shared.metrics.watch_channels(waiting)
    return shared.metrics.count_searches(describing_spans(waiting.send_nowait))
