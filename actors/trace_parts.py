"""The part of the composition root that keeps and explains what searches did."""

from __future__ import annotations

from typing import NamedTuple

from actors.kernel import Channel, Supervisor
from actors.metrics_parts import Metrics
from actors.outbox_wake import OutboxListener
from actors.trace_writer import TraceWriter
from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.explain import SearchExplainer
from elf.search.trace import SearchTrace, TraceSink
from elf.search.trace_store import LEASE_S, TraceStore, trace_outbox
from elf.web.spans import describing_spans

TRACES_WAITING = 1024  # of about 20 KB; more are dropped


class Traces(NamedTuple):
    """What takes the traces of searches, and what reads them."""

    sink: TraceSink
    explainer: SearchExplainer


def add_traces(
    supervisor: Supervisor,
    listener: OutboxListener,
    *,
    database: Database,
    queries: Queries,
    note_queries: Queries,
    redact: bool,
    clock: Clock,
    metrics: Metrics,
) -> Traces:
    """Add the trace writer to the supervisor; `queries` are those of sql/search, `note_queries` of sql/notes."""
    waiting: Channel[SearchTrace] = Channel("traces", TRACES_WAITING, "drop")
    store = TraceStore(database, queries, lease_seconds=LEASE_S)
    outbox = trace_outbox(database, queries)
    listener.tell(outbox.presence)
    supervisor.add(TraceWriter(waiting, store=store, outbox=outbox, redact=redact))
    metrics.watch_channels(waiting)
    sink = metrics.count_searches(describing_spans(waiting.send_nowait))
    explainer = SearchExplainer(traces=store, database=database, queries=note_queries, clock=clock)
    return Traces(sink, explainer)
