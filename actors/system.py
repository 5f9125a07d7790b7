"""The composition root: what a process runs is put together here, from the parts that its actors need."""

from __future__ import annotations

import gc
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from typing import NamedTuple

import anyio
import httpx
from quart import Quart

from actors.admin_parts import add_stored_readings, admin_handlers
from actors.connections import Connections
from actors.descriptors import connection_limit
from actors.families import FAMILIES
from actors.fleet_parts import add_fleet
from actors.fronts import Fronts
from actors.gc_ticker import GcTicker
from actors.host_names import visitors_of
from actors.http_front import HttpFront, bound_address
from actors.index_parts import add_index
from actors.indexing_parts import add_indexing
from actors.kernel import Supervisor
from actors.mcp_front import McpFront
from actors.metrics_parts import Metrics
from actors.note_parts import NoteParts
from actors.outbox_wake import OutboxListener
from actors.process import Say, new_supervisor, run_process, start_log
from actors.shared_parts import SharedParts
from actors.sockets import Sockets, bound
from actors.span_exporter import tracer_for
from actors.trace_parts import Traces, add_traces
from elf.api.operation import Handler, Operation
from elf.config.model import Config
from elf.config.places import Address, reachable_from_here
from elf.config.process import ACTOR_NAMES, ActorName
from elf.families.notes.fleet import Fleet
from elf.families.notes.manifest import NOTES
from elf.families.notes.spans import MEMORY_SPANS
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.indexing.embedding import TextEmbedder
from elf.indexing.indexed import IndexedCorpus
from elf.mcp.api import client_of_address, client_of_app
from elf.providers.factory import Providers, open_embedder, open_providers
from elf.providers.port import Embedder, LateInteraction
from elf.web.admin import COLLECT_GARBAGE
from elf.web.admission import Admission
from elf.web.app import create_app
from elf.web.openapi import ADMIN, PUBLIC, About
from elf.web.readiness import Part, Readiness, database_part
from elf.web.spans import traced

CLOSE_TIMEOUT_S = 2.0

EVERYTHING: frozenset[ActorName] = frozenset(ACTOR_NAMES)
API: frozenset[ActorName] = frozenset({"http_front", "admin_front"})
WORKER: frozenset[ActorName] = frozenset({"indexer", "trace_writer", "gc_ticker"})


def run(config: Config, *, source: str, actors: Collection[ActorName] | None = None) -> int:
    """Run these actors in this process until SIGTERM or SIGINT. Returns the process's exit code.

    Without `actors`, those of the config's [process]; without that, all of them. `source` says to people which config
    that is. Where the service listens once it is ready, and that it stops, is printed. Raises StartupError when it
    cannot start, ActorGaveUp when a part of it fails again and again.
    """
    start_log(config.service, source=source)
    if actors is None:
        actors = config.process.actors if config.process else EVERYTHING
    return run_process(partial(_serve, config, frozenset(actors), source))


async def _serve(config: Config, actors: frozenset[ActorName], source: str, say: Say) -> None:
    def ready(system: System) -> None:
        system.fronts.announce(config, source=source, say=say)

    await serve(config, actors, ready=ready)


async def serve(
    config: Config,
    actors: frozenset[ActorName],
    *,
    ready: Callable[[System], object],
    sockets: Sockets | None = None,
    process: str | None = None,
) -> None:
    """Run these actors until cancelled, and call `ready` once all of them are; the rest is as for `open_system`."""
    async with (
        open_system(config, actors=actors, sockets=sockets, process=process) as system,
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
) -> AsyncIterator[System]:
    """Build these actors and what they need. `sockets` are bound ones for the fronts; without them they are taken now.

    `process` is the name of this process when it is one of several; /ready tells it.
    Raises StartupError, before anything is started, when a port is taken or a provider cannot be opened.
    """
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        sockets = sockets or stack.enter_context(bound(config.service, actors))
        models = await stack.enter_async_context(_models(config, actors, metrics))
        builder = _Builder(config, actors, sockets, models, metrics, process)
        builder.build()
        stack.push_async_callback(builder.close)
        yield System(builder.supervisor, sockets)


class _Models(NamedTuple):
    """What a process needs of the model providers; `late` makes token vectors in the pass of the embedder."""

    embedder: Embedder | None = None
    late: LateInteraction | None = None
    all: Providers | None = None


@asynccontextmanager
async def _models(config: Config, actors: frozenset[ActorName], metrics: Metrics) -> AsyncIterator[_Models]:
    if "http_front" in actors:
        async with await open_providers(config, measures=metrics.measures) as providers:
            # A pass of its own for each text would cost what a remote embedder saves: searches make what they need.
            late = providers.late if config.providers.embedding.is_local else None
            yield _Models(providers.embedder, late, providers)
    elif "indexer" in actors:
        async with open_embedder(config, measures=metrics.measures) as (embedder, late):
            yield _Models(embedder, late)
    else:
        yield _Models()


class _Builder:
    """Puts the actors of a process together. A part is made when something needs it, and not at all otherwise."""

    def __init__(
        self,
        config: Config,
        actors: frozenset[ActorName],
        sockets: Sockets,
        models: _Models,
        metrics: Metrics,
        process: str | None,
    ) -> None:
        self._config = config
        self._actors = actors
        self._sockets = sockets
        self._models = models
        self._process = process
        self.supervisor = new_supervisor()
        self._metrics = metrics
        metrics.watch_actors(self.supervisor.snapshot)
        self._corpora: Mapping[str, IndexedCorpus] = {}
        self._fleet: Fleet | None = None

    def build(self) -> None:
        leases = self._actors & {"http_front", "trace_writer", "indexer"}
        listener = self._shared.add_listener() if leases else None
        traces = (
            self._add_traces(listener) if listener and self._actors & {"http_front", "trace_writer"} else None
        )
        if self._actors & {"http_front", "indexer"}:
            self._shared.add_news(hears="http_front" in self._actors)
        if self._actors & {"http_front", "indexer", "admin_front"}:
            self._fleet = self._add_fleet()
        if "indexer" in self._actors:
            assert self._fleet is not None
            assert listener is not None
            for reach in self._index().values():
                add_indexing(
                    self._shared, reach, self._texts, self._fleet, listener, is_crowded=self._is_crowded
                )
        if "gc_ticker" in self._actors:
            interval_s = self._config.gc.interval_hours * 3600.0
            self.supervisor.add(GcTicker(self._shared.collector, interval_s=interval_s), needs=["database"])
        api = None
        if self._sockets.http is not None and traces is not None:
            api = self._add_front(
                "http_front",
                [operation for family in FAMILIES for operation in family.operations],
                self._note_handlers(traces),
                self._sockets.http,
                about=PUBLIC,
                admission=self._admission,
            )
        if self._sockets.admin is not None:
            handlers = admin_handlers(self._shared, self._index())
            add_stored_readings(self._shared)
            operations = [
                COLLECT_GARBAGE,
                *(operation for family in FAMILIES for operation in family.admin_operations),
                *INDEX_OPERATIONS,
            ]
            admin = self._add_front("admin_front", operations, handlers, self._sockets.admin, about=ADMIN)
            self._metrics.add_page(admin)
        if self._sockets.mcp is not None:
            front = McpFront(
                self._config,
                self._sockets.mcp,
                family=NOTES,
                connect=self._way_to(api),
                connections=self._connections(McpFront.name),
            )
            self.supervisor.add(front, stop_timeout_s=6.0)

    async def close(self) -> None:
        for reach in self._corpora.values():
            with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
                await reach.index.aclose()

    @cached_property
    def _shared(self) -> SharedParts:
        return SharedParts(self._config, self.supervisor, self._metrics)

    @cached_property
    def _admission(self) -> Admission | None:
        limits = self._config.service.limits
        return None if limits is None or self._sockets.http is None else Admission(limits)

    def _is_crowded(self) -> bool:
        return self._admission is not None and self._admission.is_crowded

    @cached_property
    def _texts(self) -> TextEmbedder:
        assert self._models.embedder is not None
        return self._shared.texts(self._models.embedder, self._models.late)

    def _index(self) -> Mapping[str, IndexedCorpus]:
        if not self._corpora:
            self._corpora = add_index(self._shared, [self._shared.notes])
        return self._corpora

    def _add_fleet(self) -> Fleet:
        texts = None if self._models.embedder is None else self._texts
        return add_fleet(self._shared, texts, indexes="indexer" in self._actors, process=self._process)

    def _add_traces(self, listener: OutboxListener) -> Traces:
        return add_traces(
            self.supervisor,
            listener,
            database=self._shared.database,
            queries=self._shared.search_queries,
            note_queries=self._shared.queries,
            redact=self._config.security.redact_secrets_on_write,
            clock=self._shared.clock,
            metrics=self._metrics,
        )

    def _note_handlers(self, traces: Traces) -> dict[str, Handler]:
        assert self._models.all is not None
        parts = NoteParts(
            shared=self._shared,
            reach=self._index()[NOTES.name],
            providers=self._models.all,
            texts=self._texts,
            traces=traces,
        )
        return traced(parts.handlers(), MEMORY_SPANS, tracer_for(self._config.tracing, self.supervisor))

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
        database = self._shared.health.state
        works = [database_part(name, why) for name, why in database._asdict().items()]
        warnings = [] if self._fleet is None else self._fleet.warnings()
        return Readiness(
            ready=snapshot.ready and not any(database),
            process=self._process,
            parts=[*parts, *works],
            warnings=warnings,
        )


def _address(sock: socket.socket | None) -> Address | None:
    return None if sock is None else bound_address(sock)
