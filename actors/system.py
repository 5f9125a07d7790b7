"""The composition root: what a process runs is put together here, from the parts that its actors need."""

from __future__ import annotations

import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property, partial

import anyio
import httpx
from quart import Quart

from actors.assembly.index import Indexes, add_keepers, add_rebuilders, keeper_of, with_indexing
from actors.assembly.metrics import Metrics
from actors.assembly.queues import add_chores, add_queue
from actors.assembly.readings import add_stored_readings
from actors.assembly.search import add_search, token_store
from actors.assembly.shared import Shared, add_health, add_listener, add_news, share
from actors.assembly.traces import add_traces
from actors.connections import Connections
from actors.descriptors import connection_limit
from actors.families import FAMILIES, steps_on
from actors.fronts import Fronts
from actors.gc_ticker import GcTicker
from actors.host_names import visitors_of
from actors.http_front import HttpFront, bound_address
from actors.kernel import Supervisor
from actors.mcp_front import McpFront
from actors.outbox_wake import OutboxListener
from actors.process import Say, new_supervisor, run_process, start_log
from actors.sockets import Sockets, bound
from actors.span_exporter import tracer_for
from elf.api.operation import Handler, Operation
from elf.config.model import Config
from elf.config.places import Address, reachable_from_here
from elf.config.process import ACTOR_NAMES, ActorName
from elf.db.garbage import GarbageCollector
from elf.db.health import UNKNOWN, DatabaseHealth
from elf.db.queries import Queries
from elf.family import Family, Opened, families_on, refuse_doubles
from elf.ground import Ground, Models, Roles
from elf.indexing.admin import index_handlers
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.mcp.api import client_of_address, client_of_app
from elf.outbox.chores import ChoreRuns
from elf.outbox.leased import LeasedOutbox
from elf.providers.factory import open_embedder, open_providers
from elf.search.retention import retention_steps
from elf.search.trace_store import LEASE_S, TraceStore, search_queries, trace_outbox
from elf.web.admin import COLLECT_GARBAGE, common_admin_handlers
from elf.web.admission import Admission
from elf.web.app import create_app
from elf.web.openapi import ADMIN, PUBLIC, About
from elf.web.readiness import Part, Readiness, database_part
from elf.web.spans import traced

EVERYTHING: frozenset[ActorName] = frozenset(ACTOR_NAMES)
API: frozenset[ActorName] = frozenset({"http_front", "admin_front"})
WORKER: frozenset[ActorName] = frozenset({"indexer", "trace_writer", "gc_ticker"})


def run(
    config: Config,
    *,
    source: str,
    actors: Collection[ActorName] | None = None,
    families: Sequence[Family] = FAMILIES,
) -> int:
    """Run these actors in this process until SIGTERM or SIGINT. Returns the process's exit code.

    Without `actors`, those of the config's [process]; without that, all of them. `source` says to people which config
    that is. Where the service listens once it is ready, and that it stops, is printed. Raises StartupError when it
    cannot start, ActorGaveUp when a part of it fails again and again.
    """
    start_log(config.service, source=source)
    if actors is None:
        actors = config.process.actors if config.process else EVERYTHING
    return run_process(partial(_serve, config, frozenset(actors), source, families))


async def _serve(
    config: Config, actors: frozenset[ActorName], source: str, families: Sequence[Family], say: Say
) -> None:
    def ready(system: System) -> None:
        system.fronts.announce(config, source=source, say=say)

    await serve(config, actors, ready=ready, families=families)


async def serve(
    config: Config,
    actors: frozenset[ActorName],
    *,
    ready: Callable[[System], object],
    sockets: Sockets | None = None,
    process: str | None = None,
    families: Sequence[Family] = FAMILIES,
) -> None:
    """Run these actors until cancelled, and call `ready` once all of them are; the rest is as for `open_system`."""
    async with (
        open_system(config, actors=actors, sockets=sockets, process=process, families=families) as system,
        anyio.create_task_group() as group,
    ):
        await group.start(system.run)
        _collect_garbage_less_often()
        ready(system)


def _collect_garbage_less_often() -> None:
    # What start-up made stays for good and need not be looked through again, and a search makes thousands of objects
    # that die by themselves. Measured: 0.7 ms less a search, and no more pauses of 60 ms. The second generation is
    # looked through at 60,000 objects, which takes 10 ms, and not at more: a large request makes half a million.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 3, 300)


class System:
    """All actors of one process under their supervisor, and where its fronts listen."""

    def __init__(self, supervisor: Supervisor, sockets: Sockets) -> None:
        self.run = supervisor.run
        self.snapshot = supervisor.snapshot
        self.http_address = _address(sockets.http)
        self.fronts = Fronts(self.http_address, _address(sockets.admin), _address(sockets.mcp))


@asynccontextmanager
async def open_system(
    config: Config,
    *,
    actors: frozenset[ActorName] = EVERYTHING,
    sockets: Sockets | None = None,
    process: str | None = None,
    families: Sequence[Family] = FAMILIES,
) -> AsyncIterator[System]:
    """Build these actors and what they need. `sockets` are bound ones for the fronts; without them they are taken now.

    `process` is the name of this process when it is one of several; /ready tells it.
    Raises StartupError, before anything is started, when a port is taken, a provider cannot be opened, or two families
    cannot be told apart.
    """
    refuse_doubles(families)
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        sockets = sockets or stack.enter_context(bound(config.service, actors))
        models = await stack.enter_async_context(_models(config, _roles(actors), metrics))
        builder = _Builder(config, families_on(families, config), actors, sockets, models, metrics, process)
        builder.build()
        stack.push_async_callback(builder.close)
        yield System(builder.supervisor, sockets)


@asynccontextmanager
async def _models(config: Config, roles: Roles, metrics: Metrics) -> AsyncIterator[Models]:
    if roles.serves:
        async with await open_providers(config, measures=metrics.measures) as providers:
            # A pass of its own for each text would cost what a remote embedder saves: searches make what they need.
            late = providers.late if config.providers.embedding.is_local else None
            yield Models(embedder=providers.embedder, late=late, all=providers)
    elif roles.works:
        async with open_embedder(config, measures=metrics.measures) as (embedder, late):
            yield Models(embedder=embedder, late=late)
    else:
        yield Models()


def _roles(actors: Collection[ActorName]) -> Roles:
    return Roles(
        serves="http_front" in actors, administers="admin_front" in actors, works="indexer" in actors
    )


class _Builder:
    """Puts the actors of a process together."""

    def __init__(
        self,
        config: Config,
        families: Sequence[Family],
        actors: frozenset[ActorName],
        sockets: Sockets,
        models: Models,
        metrics: Metrics,
        process: str | None,
    ) -> None:
        self._config = config
        self._families = families
        self._actors = actors
        self._roles = _roles(actors)
        self._sockets = sockets
        self._process = process
        self._metrics = metrics
        self.supervisor = new_supervisor()
        metrics.watch_actors(self.supervisor.snapshot)
        self._models = models
        self._needs_data = bool(actors - {"mcp_front"})
        self._warnings: Sequence[Callable[[], Sequence[str]]] = ()
        self._health: DatabaseHealth | None = None
        self.close: Callable[[], Awaitable[None]] = _nothing_to_close

    def build(self) -> None:
        api = self._add_data() if self._needs_data else None
        if self._sockets.mcp is not None:
            front = McpFront(
                self._config,
                self._sockets.mcp,
                families=self._families,
                connect=self._way_to(api),
                connections=self._connections(McpFront.name),
            )
            self.supervisor.add(front, stop_timeout_s=6.0)

    def _add_data(self) -> Quart | None:
        """Add all that works on the database, and the fronts to it; returns the public one."""
        roles = self._roles
        shared = share(
            self._config, self.supervisor, self._metrics, steps_on(self._families), process=self._process
        )
        queries = search_queries()
        traces = TraceStore(shared.database, queries, lease_seconds=LEASE_S)
        outbox = trace_outbox(shared.database, queries)
        tokens = token_store(self._config, queries)
        listener = add_listener(shared)
        sink = (
            add_traces(shared, listener, traces, outbox)
            if self._actors & {"http_front", "trace_writer"}
            else None
        )
        if roles.serves or roles.works:
            add_news(shared, hears=roles.serves)
        search = None
        if sink is not None and self._models.all is not None:
            search = add_search(shared, queries, self._models.all, tokens, sink)
        indexes = Indexes(shared)
        self.close = indexes.aclose
        ground = Ground(
            config=self._config,
            process=shared.process,
            roles=roles,
            clock=shared.clock,
            database=shared.database,
            reads=shared.reads,
            models=self._models,
            ring=shared.bells.ring,
            index=indexes.of,
            fresh=shared.fresh,
            tokens=tokens,
            traces=traces,
            search=search,
        )
        opened = {family.name: with_indexing(family.open(ground), roles) for family in self._families}
        self._add_families(shared, opened, listener)
        if search is not None:
            self._metrics.watch_breakers(search.models.breakers)
        collector = self._collector(shared, opened, queries)
        if "gc_ticker" in self._actors:
            ticker = GcTicker(collector, interval_s=self._config.gc.interval_hours * 3600.0)
            self.supervisor.add(ticker, needs=["database"])
        return self._add_fronts(shared, opened, outbox, collector)

    def _add_families(self, shared: Shared, opened: Mapping[str, Opened], listener: OutboxListener) -> None:
        """Add what the families run in this process."""
        families = opened.values()
        needed = [table for family in families for table in family.needed_to_read]
        self._health = add_health(shared, needed_to_read=needed)
        self._warnings = [family.warnings for family in families]
        corpora = [corpus for family in families for corpus in family.corpora]
        for family in families:
            for owner in family.owners:
                self.supervisor.add(owner, needs=["database"])
            self._metrics.watch_gauges(family.gauges)
        if self._roles.serves or self._roles.works or self._roles.administers:
            add_keepers(shared, corpora)
        if self._roles.works:
            keepers = {corpus.corpus.name: keeper_of(shared, corpus) for corpus in corpora}
            for queue in (queue for family in families for queue in family.queues):
                needs = ["database", *([keepers[queue.corpus]] if queue.corpus is not None else [])]
                add_queue(shared, queue, listener, needs=needs, is_crowded=self._is_crowded)
            chores = [chore for family in families for chore in family.chores]
            add_chores(shared, chores, listener)
        if self._roles.administers:
            add_rebuilders(shared, corpora)

    def _collector(self, shared: Shared, opened: Mapping[str, Opened], queries: Queries) -> GarbageCollector:
        """Return what collects everything that has outlived its time."""
        steps = [
            *(step for family in opened.values() for step in family.garbage),
            *retention_steps(shared.database, queries),
            ChoreRuns(shared.database).garbage(),
        ]
        collector = GarbageCollector(
            shared.database, steps, clock=shared.clock, batch_size=self._config.gc.batch_size
        )
        self._metrics.watch_garbage(collector.failures)
        return collector

    def _add_fronts(
        self,
        shared: Shared,
        opened: Mapping[str, Opened],
        traces: LeasedOutbox,
        collector: GarbageCollector,
    ) -> Quart | None:
        handlers = {name: do for family in opened.values() for name, do in family.handlers.items()}
        api = None
        if self._sockets.http is not None:
            spans = {name: span for family in self._families for name, span in family.spans.items()}
            api = self._add_front(
                "http_front",
                [operation for family in self._families for operation in family.operations],
                traced(handlers, spans, tracer_for(self._config.tracing, self.supervisor)),
                self._sockets.http,
                about=PUBLIC,
                admission=self._admission,
            )
        if self._sockets.admin is not None:
            add_stored_readings(shared, opened, traces)
            corpora = [corpus for family in opened.values() for corpus in family.corpora]
            admin = self._add_front(
                "admin_front",
                [
                    COLLECT_GARBAGE,
                    *(one for family in self._families for one in family.admin_operations),
                    *INDEX_OPERATIONS,
                ],
                common_admin_handlers(collector) | index_handlers(corpora) | handlers,
                self._sockets.admin,
                about=ADMIN,
            )
            self._metrics.add_page(admin)
        return api

    @cached_property
    def _admission(self) -> Admission | None:
        limits = self._config.service.limits
        return None if limits is None or self._sockets.http is None else Admission(limits)

    def _is_crowded(self) -> bool:
        return self._admission is not None and self._admission.is_crowded

    def _add_front(
        self,
        name: str,
        operations: Sequence[Operation],
        handlers: Mapping[str, Handler],
        sock: socket.socket,
        *,
        about: About,
        admission: Admission | None = None,
    ) -> Quart:
        visitors = visitors_of(name, self._config.service, sock)
        app = create_app(
            operations,
            handlers,
            readiness=self._readiness,
            about=about,
            visitors=visitors,
            admission=admission,
        )
        self._metrics.count_requests(app, front=name)
        if admission is not None:
            self._metrics.watch_admission(admission.statistics)
        front = HttpFront(name, app, sock, self._connections(name))
        self.supervisor.add(front, stop_timeout_s=6.0)
        return app

    @cached_property
    def _connection_limit(self) -> int:
        postgres = self._config.storage.postgres
        return connection_limit(
            self._config.service.limits,
            fronts=sum(sock is not None for sock in self._sockets),
            pooled=postgres.pool_max_conns * (2 if postgres.read_dsn else 1),
        )

    def _connections(self, front: str) -> Connections:
        connections = Connections(front, self._connection_limit)
        self._metrics.watch_connections(connections)
        return connections

    def _way_to(self, api: Quart | None) -> Callable[[], httpx.AsyncClient]:
        if api is not None:
            return partial(client_of_app, api)
        return partial(client_of_address, reachable_from_here(self._config.service.http_address))

    def _readiness(self) -> Readiness:
        snapshot = self.supervisor.snapshot()
        parts = [
            Part(name=actor.name, state=actor.state, restarts=actor.restarts, last_error=actor.last_error)
            for actor in snapshot.actors
        ]
        database = UNKNOWN if self._health is None else self._health.state
        works = [database_part(name, why) for name, why in database._asdict().items()]
        return Readiness(
            ready=snapshot.ready and not any(database),
            process=self._process,
            parts=[*parts, *works],
            warnings=[warning for warnings in self._warnings for warning in warnings()],
        )


async def _nothing_to_close() -> None:
    return


def _address(sock: socket.socket | None) -> Address | None:
    return None if sock is None else bound_address(sock)
