"""Puts together everything between the database and the fronts: what families share, the families, and their work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from actors.assembly.fleet import add_fleet
from actors.assembly.index import Indexes, add_keepers, add_rebuilders, keeper_of, with_indexing
from actors.assembly.queues import add_chores, add_queue
from actors.assembly.readings import add_stored_readings
from actors.assembly.search import add_search, token_store
from actors.assembly.shared import Shared, add_health, add_listener, add_news, share
from actors.assembly.traces import add_traces
from actors.kernel import Supervisor
from actors.signals.outbox_wake import OutboxListener
from actors.telemetry.metrics import Metrics
from actors.workers.gc_ticker import GcTicker
from elf.api.operation import Handler
from elf.api.rpc import Servicer
from elf.audit.admin import audit_handlers
from elf.audit.log import AuditRows
from elf.config.model import Config
from elf.db.garbage import GarbageCollector
from elf.db.health import DatabaseHealth
from elf.db.queries import Queries, sql_folder
from elf.db.schema import schema_steps
from elf.family import Family, Opened
from elf.ground import Ground, Models, Roles, texts_of
from elf.indexing.admin import index_handlers
from elf.indexing.fleet import Fleet
from elf.indexing.indexed import IndexedCorpus
from elf.memory.erasing.audited import audit_rows
from elf.memory.model import FAMILY as MEMORY
from elf.outbox.admin import job_handlers
from elf.outbox.chores import ChoreRuns
from elf.outbox.given_up import OperatorJobs
from elf.outbox.leased import LeasedOutbox
from elf.search.retention import retention_steps
from elf.search.trace_store import LEASE_S, TraceStore, search_queries, trace_outbox
from elf.web.admin import common_admin_handlers

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Work:
    """What the fronts of a process are made of: what carries out each operation, by its name, and how it is.

    `servicers` are what is served over gRPC, `audit` keeps the calls of operators, `warnings` are what an operator has
    to know now. `close` ends what is open once the actors have stopped.
    """

    handlers: Mapping[str, Handler]
    audit: AuditRows
    servicers: Sequence[Servicer]
    health: DatabaseHealth
    warnings: Callable[[], Sequence[str]]
    close: Callable[[], Awaitable[None]]


def add_work(
    config: Config,
    families: Sequence[Family],
    supervisor: Supervisor,
    metrics: Metrics,
    models: Models,
    *,
    roles: Roles,
    process: str | None,
    is_crowded: Callable[[], bool],
) -> Work:
    """Add all that works on the database in this process, which is one of several if it has a name.

    `is_crowded` tells whether requests of this process wait for their turn. Raises StartupError when what it needs
    cannot be read.
    """
    steps = schema_steps((family.name, family.sql_folder) for family in families)
    shared = share(config, supervisor, metrics, steps, process=process)
    queries = search_queries()
    listener = add_listener(shared)
    indexes = Indexes(shared)
    outboxes: dict[str, LeasedOutbox] = {}
    ground = replace(_ground(shared, listener, indexes, queries, models, roles), outboxes=outboxes)
    opened: dict[str, Opened] = {}
    for family in families:
        below = {name: one.offers() for name, one in opened.items()}
        opened[family.name] = with_indexing(family.open(replace(ground, below=below)), roles)
        outboxes.update(opened[family.name].outboxes)
    if ground.search is not None:
        metrics.watch_breakers(ground.search.models.breakers)
    health = add_health(shared, needed_to_read=_all(one.needed_to_read for one in opened.values()))
    corpora = _all(one.corpora for one in opened.values())
    add_fleet(shared, ground.fleet, ground.texts, corpora, indexes=roles.works)
    _add_families(shared, opened.values(), listener, roles, is_crowded)
    audit = _audit(shared)
    collector = _collector(shared, opened.values(), queries, audit)
    if roles.works:
        ticker = GcTicker(collector, interval_s=config.gc.interval_hours * 3600.0)
        supervisor.add(ticker, needs=["database"])
    traces = trace_outbox(shared.database, queries)
    if roles.administers:
        add_stored_readings(shared, opened, traces)
    handlers = {name: do for one in opened.values() for name, do in one.handlers.items()}
    return Work(
        handlers={
            **common_admin_handlers(collector),
            **audit_handlers(audit),
            **index_handlers(corpora),
            **job_handlers(_operator_jobs(shared, opened.values(), traces), shared.bells.ring_if_there),
            **handlers,
        },
        audit=audit,
        servicers=_all(one.grpc for one in opened.values()),
        health=health,
        warnings=lambda: [*ground.fleet.warnings(), *_all(one.warnings() for one in opened.values())],
        close=indexes.aclose,
    )


def _ground(
    shared: Shared,
    listener: OutboxListener,
    indexes: Indexes,
    queries: Queries,
    models: Models,
    roles: Roles,
) -> Ground:
    traces = TraceStore(shared.database, queries, lease_seconds=LEASE_S)
    texts = texts_of(shared.config, models)
    chunking = None if texts is None else texts.chunking
    tokens = token_store(shared.config, queries)
    search = None
    if roles.serves or roles.works:
        sink = add_traces(shared, listener, traces, trace_outbox(shared.database, queries))
        add_news(shared, hears=roles.serves)
        if models.all is not None:
            search = add_search(shared, queries, models.all, tokens, sink)
    return Ground(
        config=shared.config,
        process=shared.process,
        roles=roles,
        clock=shared.clock,
        database=shared.database,
        reads=shared.reads,
        dsn=shared.dsn,
        models=models,
        texts=texts,
        fleet=Fleet(shared.config.embedding_version, chunking),
        ring=shared.bells.ring,
        index=indexes.of,
        fresh=shared.fresh,
        tokens=tokens,
        traces=traces,
        search=search,
        turns=shared.caution.turns,
    )


def _add_families(
    shared: Shared,
    families: Collection[Opened],
    listener: OutboxListener,
    roles: Roles,
    is_crowded: Callable[[], bool],
) -> None:
    """Add what the families run in this process."""
    corpora = _all(family.corpora for family in families)
    for family in families:
        for owner in family.owners:
            shared.supervisor.add(owner, needs=["database"])
        shared.metrics.watch_gauges(family.gauges)
        shared.metrics.watch_totals(family.totals)
    add_keepers(shared, corpora)
    if roles.works:
        _add_queues(shared, families, corpora, listener, is_crowded)
        add_chores(shared, _all(family.chores for family in families), listener)
    if roles.administers:
        add_rebuilders(shared, corpora)


def _add_queues(
    shared: Shared,
    families: Collection[Opened],
    corpora: Sequence[IndexedCorpus],
    listener: OutboxListener,
    is_crowded: Callable[[], bool],
) -> None:
    keepers = {corpus.corpus.name: keeper_of(shared, corpus) for corpus in corpora}
    for queue in _all(family.queues for family in families):
        needs = ["database", *([] if queue.corpus is None else [keepers[queue.corpus]])]
        add_queue(shared, queue, listener, needs=needs, is_crowded=is_crowded)


def _operator_jobs(
    shared: Shared, families: Iterable[Opened], traces: LeasedOutbox
) -> Mapping[str, OperatorJobs]:
    """Return the jobs of all queues, by name, which operators may retry or discard."""
    jobs: dict[str, OperatorJobs] = {"traces": traces.jobs, "chores": ChoreRuns(shared.database).outbox.jobs}
    for family in families:
        jobs.update({name: outbox.jobs for name, outbox in family.outboxes.items()})
        jobs.update(family.jobs)
    return jobs


def _audit(shared: Shared) -> AuditRows:
    """Return the audit log, which hashes the names of those who are erased as receipts do."""
    return audit_rows(shared.database, Queries.load(sql_folder() / MEMORY), shared.clock)


def _collector(
    shared: Shared, families: Collection[Opened], queries: Queries, audit: AuditRows
) -> GarbageCollector:
    """Return what collects everything that has outlived its time."""
    steps = [
        *_all(family.garbage for family in families),
        *retention_steps(shared.database, queries),
        ChoreRuns(shared.database).garbage(),
        audit.garbage(timedelta(days=shared.config.audit.retention_days)),
    ]
    batch_size = shared.config.gc.batch_size
    collector = GarbageCollector(shared.database, steps, clock=shared.clock, batch_size=batch_size)
    shared.metrics.watch_garbage(collector.failures)
    return collector


def _all(several: Iterable[Sequence[T]]) -> list[T]:
    return [one for some in several for one in some]
