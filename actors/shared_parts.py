"""The part of the composition root that every process with a database has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from actors.database import DatabasePool, ReplicaPool
from actors.database_probe import DatabaseProbe
from actors.fresh_news import NEWS_WAITING, FreshHerald, FreshListener
from actors.kernel import Channel, Supervisor
from actors.metrics_parts import Metrics
from actors.outbox_wake import QUEUES_AT_ONCE, OutboxBell, OutboxListener, OutboxRinger
from actors.postgres_host import PostgresHost
from elf.config.model import Config
from elf.core.clock import Clock, SystemClock
from elf.core.scopes import ScopeRules
from elf.db.database import Database
from elf.db.garbage import GarbageCollector, GarbageStep
from elf.db.health import DatabaseHealth
from elf.db.queries import Queries, sql_folder
from elf.db.replica import ReadDatabase
from elf.db.schema import COMMON, created_by
from elf.families.notes.corpus import notes_corpus
from elf.families.notes.lifecycle import LifecycleRules, NoteLifecycle
from elf.families.notes.queries import INDEXING, note_queries
from elf.families.notes.retention import NoteRetention, RetentionRules
from elf.families.notes.store import NEEDED_TO_READ, NoteStore
from elf.families.schema import steps_on
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fresh import FreshNews, FreshWrites
from elf.indexing.garbage import corpus_garbage
from elf.indexing.indexed import indexing_outbox
from elf.outbox.chores import ChoreRuns
from elf.outbox.leased import LeasedOutbox
from elf.providers.local.model import tokens_version
from elf.providers.port import Embedder, LateInteraction
from elf.providers.tokens import HfTokens
from elf.search.retention import retention_steps
from elf.search.token_store import TokenStore
from elf.search.trace_store import search_queries, trace_outbox


@dataclass
class SharedParts:
    """What the parts of a process share; making it adds the actors of the database to the supervisor."""

    config: Config
    supervisor: Supervisor
    metrics: Metrics
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        self.process_id = str(uuid4())
        self.steps = steps_on()
        self.queries = note_queries()
        self.search_queries = search_queries()
        self.database = Database(max_conns=self.config.storage.postgres.pool_max_conns)
        self.dsn = self._add_database()
        self.reads = self._add_replica()
        self._announce: Channel[str] = Channel("outbox_announce", QUEUES_AT_ONCE, "drop")
        self._bells: dict[str, OutboxBell] = {}
        self._news: Channel[FreshNews] = Channel("fresh_news", NEWS_WAITING, "drop")
        self.metrics.watch_channels(self._announce, self._news)
        ringer = OutboxRinger(self.database, self._announce, sender=self.process_id)
        self.supervisor.add(ringer, needs=["database"])
        self.fresh = FreshWrites(tell=self._news.send_nowait)
        self.tokens = self._token_store()
        self.store = NoteStore(self.queries, self.fresh, self.tokens)
        self.notes = notes_corpus(self.queries, self.store, embedding_version=self.config.embedding_version)
        self.scopes = _scope_rules(self.config)

    def _token_store(self) -> TokenStore | None:
        """Return where token vectors are kept, if the config has tokens compared."""
        rules = self.config.search.rerank
        if rules is None or not self.config.compares_tokens:
            return None
        version = tokens_version(rules.words_per_chunk)
        return TokenStore(self.search_queries, version=version, max_words=rules.max_words)

    def _add_database(self) -> Callable[[], str]:
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
        self.supervisor.add(
            DatabasePool(self.database, dsn=dsn, steps=self.steps, vector_dim=vector_dim), needs=needs
        )
        self.health = self._add_health()
        self.metrics.watch_pools({"primary": self.database})
        return dsn

    def _add_health(self) -> DatabaseHealth:
        health = DatabaseHealth(
            self.database,
            Queries.load(sql_folder() / COMMON),
            read_from=NEEDED_TO_READ,
            all_of=created_by(self.steps),
        )
        self.supervisor.add(DatabaseProbe(health), needs=["database"])
        self.metrics.watch_database(lambda: health.state)
        return health

    def _add_replica(self) -> Database:
        postgres = self.config.storage.postgres
        if not postgres.read_dsn:
            return self.database
        reads = ReadDatabase(self.database, max_conns=postgres.pool_max_conns)
        self.supervisor.add(ReplicaPool(reads, dsn=postgres.read_dsn), needs=["database"])
        self.metrics.watch_pools({"replica": reads})
        return reads

    def bell(self, queue: str) -> OutboxBell:
        """Return what is rung when there is work in a queue."""
        if queue not in self._bells:
            wake: Channel[None] = Channel(f"{queue}_wake", 1, "drop")
            self.metrics.watch_channels(wake)
            self._bells[queue] = OutboxBell(queue, wake, self._announce)
        return self._bells[queue]

    def add_listener(self) -> OutboxListener:
        """Add what hears of work elsewhere and tells that this process leases. What leases is added after it."""
        listener = OutboxListener(self.dsn, but_not_from=self.process_id)
        self.supervisor.add(listener, needs=["database"])
        return listener

    def add_news(self, *, hears: bool) -> None:
        """Add what tells other processes of what is written and indexed here, and what `hears` of theirs."""
        herald = FreshHerald(self.database, self._news, sender=self.process_id)
        self.supervisor.add(herald, needs=["database"])
        if hears:
            listener = FreshListener(self.dsn, self.fresh.hear, but_not_from=self.process_id)
            self.supervisor.add(listener, needs=["database"])

    def texts(self, embedder: Embedder, late: LateInteraction | None) -> TextEmbedder:
        """Return what cuts texts into chunks as the config says, and embeds them."""
        chunking = self.config.chunking
        kept = Path(self.config.local_model.cache_dir) / "tokenizers"
        tokens = HfTokens.open(chunking.tokenizer_repo, self.config.providers.embedding, kept=kept)
        return TextEmbedder(
            embedder, tokens, chunking.max_tokens, chunking.overlap_tokens, tokenizer=tokens.name, late=late
        )

    @cached_property
    def collector(self) -> GarbageCollector:
        """What collects everything that has outlived its time."""
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
            ring=self.bell(INDEXING).ring,
        )
        search = retention_steps(self.database, self.search_queries)
        runs = ChoreRuns(self.database).garbage()
        jobs = corpus_garbage(self.database, self.notes)
        steps = [*notes.steps(), *jobs, *search, runs, *self._retention_steps()]
        collector = GarbageCollector(self.database, steps, clock=self.clock, batch_size=config.gc.batch_size)
        self.metrics.watch_garbage(collector.failures)
        return collector

    def indexing_outbox(self) -> LeasedOutbox:
        """Return the outbox by which notes get into the index, only to look into."""
        lease_seconds = self.config.indexing.lease_seconds
        return indexing_outbox(self.database, self.notes, lease_seconds=lease_seconds)

    def trace_outbox(self) -> LeasedOutbox:
        """Return the outbox by which traces get into their tables."""
        return trace_outbox(self.database, self.search_queries)

    def _retention_steps(self) -> list[GarbageStep]:
        table = self.config.lifecycle.retention
        if table is None:
            return []
        rules = RetentionRules(**table.model_dump())
        return NoteRetention(database=self.database, queries=self.queries, rules=rules).steps()


def _scope_rules(config: Config) -> ScopeRules:
    scopes = config.scopes
    return ScopeRules(
        allowed=scopes.allowed,
        read_profiles=scopes.read_profiles,
        precedence=scopes.precedence,
        write_allowed=scopes.write_allowed,
    )
