"""The part of the composition root that keeps and explains what searches did."""

from __future__ import annotations

from typing import NamedTuple

from actors.kernel import Channel, Supervisor
from actors.metrics_parts import Metrics
from actors.trace_writer import TraceWriter
from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.explain import SearchExplainer
from elf.outbox.leased import LeasedOutbox
from elf.search.trace import SearchTrace, TraceSink
from elf.search.trace_store import TraceStore
from elf.web.spans import describing_spans

TRACES_WAITING = 1024  # of about 20 KB; more are dropped
LEASE_S = 10.0  # much longer than it takes to write a batch


class Traces(NamedTuple):
    """What takes the traces of searches, and what reads them."""

    sink: TraceSink
    explainer: SearchExplainer


def add_traces(
    supervisor: Supervisor,
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
    outbox = LeasedOutbox(database, queries, lease_seconds=LEASE_S)
    supervisor.add(TraceWriter(waiting, store=store, outbox=outbox, redact=redact))
    metrics.watch_channels(waiting)
    sink = metrics.count_searches(describing_spans(waiting.send_nowait))
    explainer = SearchExplainer(traces=store, database=database, queries=note_queries, clock=clock)
    return Traces(sink, explainer)
