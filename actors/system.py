"""The composition root: the only file that knows every concrete class."""

from __future__ import annotations

import gc
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from uuid import uuid4

import anyio
import structlog
from quart import Quart

from actors.database import DatabasePool, ReplicaPool
from actors.gc_ticker import GcTicker
from actors.http_front import HttpFront, bind, bound_address
from actors.index_host import IndexHost
from actors.index_link import IndexLink
from actors.index_rebuilder import IndexRebuilder
from actors.indexer import Indexer
from actors.kernel import Actor, Channel, Supervisor
from actors.mcp_front import McpFront
from actors.outbox_lessor import OutboxLessor
from actors.outbox_wake import OutboxBell, OutboxListener, OutboxRinger
from actors.postgres_host import PostgresHost
from actors.process import Say, new_supervisor, run_process
from actors.search_parts import SearchParts
from actors.trace_parts import Traces, add_traces
from elf.config.model import Config
from elf.core.clock import SystemClock
from elf.core.endpoint import Endpoint
from elf.core.evidence import EvidenceBounds
from elf.core.logs import configure_logging
from elf.core.scopes import ScopeRules
from elf.db.database import Database
from elf.db.garbage import GarbageCollector
from elf.db.queries import Queries, sql_folder
from elf.db.replica import ReadDatabase
from elf.families.notes.decision_audit import DecisionAudit
from elf.families.notes.drift import IndexDrift
from elf.families.notes.embedding import TextEmbedder
from elf.families.notes.endpoints import (
    history_endpoints,
    note_admin_endpoints,
    note_endpoints,
    trace_endpoints,
)
from elf.families.notes.events import EventService
from elf.families.notes.extraction import ExtractionLimits, NoteExtractor
from elf.families.notes.freshness import FreshWrites
from elf.families.notes.gate import WriteGate
from elf.families.notes.history import NoteHistory
from elf.families.notes.index_admin import IndexAdmin
from elf.families.notes.indexing import NoteIndexing
from elf.families.notes.leased_points import LeasedPoints
from elf.families.notes.lifecycle import LifecycleRules, NoteLifecycle
from elf.families.notes.rebuild import IndexRebuild
from elf.families.notes.rebuild_runs import RebuildRuns
from elf.families.notes.reconcile import IndexReconciler
from elf.families.notes.resolver import ResolverRules
from elf.families.notes.search import NoteSearch
from elf.families.notes.service import NotePolicy, NoteService
from elf.families.notes.store import NoteStore
from elf.index.edge.client import EdgeIndex
from elf.index.pgvector import PgvectorIndex
from elf.index.port import VectorIndex
from elf.index.server import QdrantServerIndex
from elf.mcp.api import client_of_app
from elf.outbox.leased import Job, LeasedOutbox
from elf.providers.factory import Providers, open_providers
from elf.providers.tokens import HfTokens
from elf.search.retention import retention_steps
from elf.web.admin import collect_endpoint
from elf.web.app import create_app
from elf.web.openapi import ADMIN, PUBLIC, About
from elf.web.readiness import Part, Readiness

CLOSE_TIMEOUT_S = 2.0
INDEX_TIMEOUT_S = 5.0
BM25_AVERAGE_LENGTH = 20.0  # words of a note that are no stop words

log = structlog.get_logger()


def run(config: Config, *, say: Say | None = None) -> int:
    """Run the whole service in this process until SIGTERM or SIGINT. Returns the process's exit code.

    `say` (by default, print) gets the lines for people: where the service listens once it is ready, and that it stops.
    Raises StartupError when it cannot start, ActorGaveUp when a part of it fails again and again.
    """
    configure_logging(config.service.log_level)
    return run_process(partial(_serve, config), say=say)


async def _serve(config: Config, say: Say) -> None:
    async with open_system(config) as system, anyio.create_task_group() as group:
        await group.start(system.run)
        _collect_garbage_less_often()
        say(f"elf: ready at http://{system.http_address}")
        say(f"elf: admin at http://{system.admin_address}")
        say(f"elf: mcp at http://{system.mcp_address}/mcp")


def _collect_garbage_less_often() -> None:
    # What start-up made stays for good and need not be looked through again, and a search makes thousands of objects
    # that die by themselves. Measured: 0.7 ms less a search, and no more pauses of 60 ms.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


class Sockets(NamedTuple):
    """The ports of a process, taken before anything is started."""

    http: socket.socket
    admin: socket.socket
    mcp: socket.socket


class System:
    """All actors of one process under their supervisor."""

    def __init__(self, supervisor: Supervisor, sockets: Sockets) -> None:
        self._supervisor = supervisor
        self.http_address = bound_address(sockets.http)
        self.admin_address = bound_address(sockets.admin)
        self.mcp_address = bound_address(sockets.mcp)
        self.run = supervisor.run
        self.snapshot = supervisor.snapshot


@asynccontextmanager
async def open_system(config: Config) -> AsyncIterator[System]:
    """Build everything the config names. Raises StartupError, before anything is started, when a port is taken."""
    service = config.service
    with (
        bind(service.http_address, key="service.http_bind") as http,
        bind(service.admin_address, key="service.admin_bind") as admin,
        bind(service.mcp_address, key="service.mcp_bind") as mcp,
    ):
        tokens = HfTokens.open(config.chunking.tokenizer_repo, config.providers.embedding)
        async with await open_providers(config) as providers:
            builder = _Builder(config, providers, tokens, Sockets(http, admin, mcp))
            system = builder.build()
            try:
                yield system
            finally:
                with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
                    await builder.index.aclose()


@dataclass
class _Builder:
    """Puts the parts together; each method is one part."""

    config: Config
    providers: Providers
    tokens: HfTokens
    sockets: Sockets

    def __post_init__(self) -> None:
        self.clock = SystemClock()
        self.process_id = str(uuid4())
        self.queries = Queries.load(sql_folder() / "notes")
        self.search_queries = Queries.load(sql_folder() / "search")
        self.fresh = FreshWrites()
        self.store = NoteStore(self.queries, self.fresh)
        self.database = Database(max_conns=self.config.storage.postgres.pool_max_conns)
        self.scopes = _scope_rules(self.config)
        self.wake: Channel[None] = Channel("outbox_wake", 1, "drop")
        self.announce: Channel[None] = Channel("outbox_announce", 1, "drop")
        self.work: Channel[list[Job]] = Channel("indexing_work", 1, "block")
        self.bell = OutboxBell(self.wake, self.announce)
        self.supervisor = new_supervisor()
        self.outbox = LeasedOutbox(
            self.database, self.queries, lease_seconds=self.config.indexing.lease_seconds
        )
        self.texts = TextEmbedder(
            self.providers.embedder,
            self.tokens,
            self.config.chunking.max_tokens,
            self.config.chunking.overlap_tokens,
        )

    def build(self) -> System:
        dsn = self._add_postgres()
        traces = self._add_traces()
        self._add_indexing(dsn, needs=["database", self._add_index()])
        collector = self._add_collector()
        policy = self._note_policy()
        notes = self._note_service(policy)
        public = [
            *note_endpoints(notes, self._event_service(notes, policy), self._note_search(traces)),
            *history_endpoints(self._history(policy)),
            *trace_endpoints(traces.explainer),
        ]
        api = self._add_front("http_front", public, self.sockets.http, about=PUBLIC)
        decisions = DecisionAudit(database=self.database, queries=self.queries)
        operators = [collect_endpoint(collector), *note_admin_endpoints(decisions, self._add_index_admin())]
        self._add_front("admin_front", operators, self.sockets.admin, about=ADMIN)
        self._add_mcp_front(api)
        return System(self.supervisor, self.sockets)

    def _add_front(
        self, name: str, endpoints: Sequence[Endpoint], sock: socket.socket, *, about: About
    ) -> Quart:
        app = create_app(endpoints, readiness=self._readiness, about=about)
        self.supervisor.add(HttpFront(name, app, sock), stop_timeout_s=6.0)
        return app

    def _add_mcp_front(self, api: Quart) -> None:
        front = McpFront(self.config, self.sockets.mcp, connect=lambda: client_of_app(api))
        self.supervisor.add(front, stop_timeout_s=6.0)

    def _add_collector(self) -> GarbageCollector:
        config = self.config
        rules = LifecycleRules(
            purge_deleted_after_days=config.lifecycle.purge_deleted_after_days,
            purge_deprecated_after_days=config.lifecycle.purge_deprecated_after_days,
        )
        notes = NoteLifecycle(
            database=self.database,
            queries=self.queries,
            store=self.store,
            rules=rules,
            ring=self.bell.ring,
        )
        search = retention_steps(self.database, self.search_queries)
        collector = GarbageCollector(
            self.database, [*notes.steps(), *search], clock=self.clock, batch_size=config.gc.batch_size
        )
        ticker = GcTicker(collector, interval_s=config.gc.interval_hours * 3600.0)
        self.supervisor.add(ticker, needs=["database"])
        return collector

    def _add_postgres(self) -> Callable[[], str]:
        place = self.config.storage.postgres.place
        needs: list[str] = []
        if place.folder is not None:
            host = PostgresHost(place.folder)
            self.supervisor.add(host, stop_timeout_s=8.0)
            needs = [host.name]
            dsn: Callable[[], str] = lambda: host.dsn  # noqa: E731 - the DSN is known once the server runs
        else:
            dsn = lambda: str(place.dsn)  # noqa: E731
        vector_dim = self.config.storage.qdrant.vector_dim
        self.supervisor.add(DatabasePool(self.database, dsn=dsn, vector_dim=vector_dim), needs=needs)
        self.reads = self.database
        if read_dsn := self.config.storage.postgres.read_dsn:
            self.reads = ReadDatabase(self.database, max_conns=self.config.storage.postgres.pool_max_conns)
            self.supervisor.add(ReplicaPool(self.reads, dsn=read_dsn), needs=["database"])
        return dsn

    def _add_index(self) -> str:
        """Add the actor that keeps the index usable, and return its name."""
        storage = self.config.storage.qdrant
        self.index: VectorIndex
        keeper: Actor
        if storage.place.folder is not None:
            self.index = EdgeIndex(storage.place.folder, timeout_s=INDEX_TIMEOUT_S)
            keeper = IndexHost(
                storage.place.folder,
                vector_dim=storage.vector_dim,
                avg_len=BM25_AVERAGE_LENGTH,
                on_open=lambda info: self._bring_index_up_to_date(clean=info.clean),
            )
        elif storage.place.url is not None:
            self.index = QdrantServerIndex.connect(
                storage.place.url,
                collection=storage.collection,
                vector_dim=storage.vector_dim,
                timeout_s=INDEX_TIMEOUT_S,
                avg_len=BM25_AVERAGE_LENGTH,
                server=storage.server,
            )
            keeper = self._index_link()
        else:
            self.index = PgvectorIndex(
                self.database,
                reads=self.reads,
                vector_dim=storage.vector_dim,
                timeout_s=INDEX_TIMEOUT_S,
                avg_len=BM25_AVERAGE_LENGTH,
            )
            keeper = self._index_link()
        self.supervisor.add(keeper, needs=["database"], stop_timeout_s=8.0)
        return keeper.name

    def _index_link(self) -> IndexLink:
        return IndexLink(self.index, on_open=lambda: self._bring_index_up_to_date(clean=True))

    def _reconciler(self) -> IndexReconciler:
        return IndexReconciler(
            database=self.database,
            queries=self.queries,
            index=self.index,
            embedding_version=self.texts.version,
            clock=self.clock,
            ring=self.bell.ring,
        )

    def _add_index_admin(self) -> IndexAdmin:
        points = LeasedPoints(
            database=self.database,
            queries=self.queries,
            embedding_version=self.texts.version,
            lease_seconds=self.config.indexing.lease_seconds,
            clock=self.clock,
            ring=self.bell.ring,
        )
        rebuild = IndexRebuild(
            database=self.database,
            queries=self.queries,
            index=self.index,
            points=points,
            reconciler=self._reconciler(),
            embedding_version=self.texts.version,
            clock=self.clock,
        )
        runs = RebuildRuns(rebuild.run, clock=self.clock)
        self.supervisor.add(IndexRebuilder(runs), needs=["database"])
        drift = IndexDrift(database=self.database, queries=self.queries, reconciler=self._reconciler())
        return IndexAdmin(runs, drift)

    async def _bring_index_up_to_date(self, *, clean: bool) -> None:
        reconciler = self._reconciler()
        await reconciler.enqueue_unindexed()
        if clean and await reconciler.is_whole():
            return
        drift = await reconciler.reconcile()
        log.info("index_reconciled", clean=clean, **drift._asdict())

    def _add_indexing(self, dsn: Callable[[], str], *, needs: Sequence[str]) -> None:
        indexing = self.config.indexing
        handler = NoteIndexing(
            database=self.database,
            queries=self.queries,
            store=self.store,
            embedder=self.texts,
            index=self.index,
            fresh=self.fresh,
            clock=self.clock,
        )
        for number in range(1, indexing.indexers + 1):
            indexer = Indexer(number, work=self.work, outbox=self.outbox, handle=handler.handle)
            self.supervisor.add(indexer, needs=needs)
        lessor = OutboxLessor(
            self.outbox,
            wake=self.wake,
            work=self.work,
            batch_size=indexing.batch_size,
            poll_interval_s=indexing.poll_interval_ms / 1000,
        )
        self.supervisor.add(lessor, needs=needs)
        self.supervisor.add(
            OutboxRinger(self.database, self.announce, sender=self.process_id), needs=["database"]
        )
        self.supervisor.add(OutboxListener(dsn, self.wake, but_not_from=self.process_id), needs=["database"])

    def _add_traces(self) -> Traces:
        return add_traces(
            self.supervisor,
            database=self.database,
            queries=self.search_queries,
            redact=self.config.security.redact_secrets_on_write,
            clock=self.clock,
        )

    def _note_policy(self) -> NotePolicy:
        config = self.config
        rules = ResolverRules(
            dup_sim_threshold=config.memory.dup_sim_threshold,
            update_sim_threshold=config.memory.update_sim_threshold,
            default_ttl_days=config.lifecycle.ttl_days.model_dump(),
        )
        return NotePolicy(
            gate=WriteGate(self.scopes, config.memory.max_note_chars),
            scopes=self.scopes,
            rules=rules,
            redact=config.security.redact_secrets_on_write,
        )

    def _note_service(self, policy: NotePolicy) -> NoteService:
        return NoteService(
            database=self.database,
            store=self.store,
            embedder=self.texts,
            policy=policy,
            clock=self.clock,
            ring=self.bell.ring,
        )

    def _history(self, policy: NotePolicy) -> NoteHistory:
        return NoteHistory(
            database=self.database,
            queries=self.queries,
            store=self.store,
            policy=policy,
            embedding_version=self.texts.version,
            clock=self.clock,
            ring=self.bell.ring,
        )

    def _event_service(self, notes: NoteService, policy: NotePolicy) -> EventService:
        memory, security = self.config.memory, self.config.security
        limits = ExtractionLimits(
            max_notes=memory.max_notes_per_add_event,
            max_note_chars=memory.max_note_chars,
            scopes=self.scopes.allowed,
        )
        evidence = EvidenceBounds(
            min_quotes=security.evidence_min_quotes,
            max_quotes=security.evidence_max_quotes,
            max_quote_chars=security.evidence_max_quote_chars,
        )
        extractor = NoteExtractor(self.providers.extractor, limits)
        return EventService(extractor=extractor, notes=notes, policy=policy, evidence=evidence)

    def _note_search(self, traces: Traces) -> NoteSearch:
        parts = SearchParts(
            config=self.config,
            database=self.database,
            reads=self.reads,
            store=self.store,
            note_queries=self.queries,
            search_queries=self.search_queries,
            index=self.index,
            providers=self.providers,
            scopes=self.scopes,
            fresh=self.fresh,
            clock=self.clock,
            trace=traces.sink,
        )
        return parts.note_search(self.supervisor)

    def _readiness(self) -> Readiness:
        snapshot = self.supervisor.snapshot()
        parts = [
            Part(name=actor.name, state=actor.state, restarts=actor.restarts, last_error=actor.last_error)
            for actor in snapshot.actors
        ]
        return Readiness(ready=snapshot.ready, parts=parts)


def _scope_rules(config: Config) -> ScopeRules:
    scopes = config.scopes
    return ScopeRules(
        allowed=scopes.allowed,
        read_profiles=scopes.read_profiles,
        precedence=scopes.precedence,
        write_allowed=scopes.write_allowed,
    )
