"""What every process with a database has: the database itself, and the ways in which processes tell each other."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from actors.kernel import Channel, Supervisor
from actors.owners.database import DatabasePool, ReplicaPool
from actors.owners.database_probe import DatabaseProbe
from actors.owners.postgres_host import PostgresHost
from actors.signals.fresh_news import NEWS_WAITING, FreshHerald, FreshListener
from actors.signals.outbox_wake import QUEUES_AT_ONCE, OutboxBell, OutboxListener, OutboxRinger
from actors.telemetry.metrics import Metrics
from actors.workers.leased_work import Caution
from elf.config.model import Config
from elf.core.clock import Clock, SystemClock
from elf.db.database import Database
from elf.db.health import DatabaseHealth
from elf.db.queries import Queries, sql_folder
from elf.db.replica import ReadDatabase
from elf.db.schema import COMMON, Step, created_by
from elf.ground import ProcessId
from elf.indexing.fresh import FreshNews, FreshWrites


class Bells:
    """What is rung when there is work in a queue, by the queue's name."""

    def __init__(self, metrics: Metrics) -> None:
        self.announce: Channel[str] = Channel("outbox_announce", QUEUES_AT_ONCE, "drop")
        self._metrics = metrics
        self._bells: dict[str, OutboxBell] = {}
        metrics.watch_channels(self.announce)

    def of(self, queue: str) -> OutboxBell:
        if queue not in self._bells:
            wake: Channel[None] = Channel(f"{queue}_wake", 1, "drop")
            self._metrics.watch_channels(wake)
            self._bells[queue] = OutboxBell(queue, wake, self.announce)
        return self._bells[queue]

    def ring(self, queue: str) -> Callable[[], None]:
        """Return what rings it."""
        return self.of(queue).ring

    def ring_if_there(self, queue: str) -> Callable[[], None]:
        """Return what rings it; nothing does for a queue that is looked into from time to time, and has no bell."""
        return self._bells[queue].ring if queue in self._bells else lambda: None


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What the parts of a process are put together from. `dsn` is known once the server runs; `reads` may be a replica.

    `news` are the writes that other processes are told of, `caution` is what all leased work here heeds.
    """

    config: Config
    process: ProcessId
    supervisor: Supervisor
    metrics: Metrics
    database: Database
    reads: Database
    dsn: Callable[[], str]
    steps: Sequence[Step]
    bells: Bells
    news: Channel[FreshNews]
    fresh: FreshWrites
    caution: Caution
    clock: Clock = field(default_factory=SystemClock)


def share(
    config: Config, supervisor: Supervisor, metrics: Metrics, steps: Sequence[Step], *, process: str | None
) -> Shared:
    """Add the database, with the schema of these steps, and what rings in other processes; return what is shared."""
    database = Database(max_conns=config.storage.postgres.pool_max_conns)
    dsn = _add_database(config, supervisor, database, steps)
    metrics.watch_pools({"primary": database})
    reads = _add_replica(config, supervisor, metrics, database)
    this = ProcessId(id=uuid4(), name=_name(process))
    bells = Bells(metrics)
    supervisor.add(OutboxRinger(database, bells.announce, sender=str(this.id)), needs=["database"])
    news: Channel[FreshNews] = Channel("fresh_news", NEWS_WAITING, "drop")
    metrics.watch_channels(news)
    return Shared(
        config=config,
        process=this,
        supervisor=supervisor,
        metrics=metrics,
        database=database,
        reads=reads,
        dsn=dsn,
        steps=steps,
        bells=bells,
        news=news,
        fresh=FreshWrites(tell=news.send_nowait),
        caution=Caution(max_process_deaths=config.outbox.max_process_deaths),
    )


def add_health(shared: Shared, *, needed_to_read: Sequence[str]) -> DatabaseHealth:
    """Add what looks whether the database can be read, from these tables, and written; return what it finds."""
    health = DatabaseHealth(
        shared.database,
        Queries.load(sql_folder() / COMMON),
        read_from=needed_to_read,
        all_of=created_by(shared.steps),
    )
    shared.supervisor.add(DatabaseProbe(health), needs=["database"])
    shared.metrics.watch_database(lambda: health.state)
    return health


def add_listener(shared: Shared) -> OutboxListener:
    """Add what hears of work elsewhere and tells that this process leases. What leases is added after it."""
    listener = OutboxListener(shared.dsn, but_not_from=str(shared.process.id))
    shared.supervisor.add(listener, needs=["database"])
    return listener


def add_news(shared: Shared, *, hears: bool) -> None:
    """Add what tells other processes what is written and indexed here, and what `hears` of theirs."""
    herald = FreshHerald(shared.database, shared.news, sender=str(shared.process.id))
    shared.supervisor.add(herald, needs=["database"])
    if hears:
        listener = FreshListener(shared.dsn, shared.fresh.hear, but_not_from=str(shared.process.id))
        shared.supervisor.add(listener, needs=["database"])


def _add_database(
    config: Config, supervisor: Supervisor, database: Database, steps: Sequence[Step]
) -> Callable[[], str]:
    place = config.storage.postgres.place
    needs: list[str] = []
    if place.folder is not None:
        host = PostgresHost(place.folder)
        supervisor.add(host, stop_timeout_s=8.0)
        needs = [host.name]
        dsn: Callable[[], str] = lambda: host.dsn  # noqa: E731 - the DSN is known once the server runs
    else:
        dsn = lambda: str(place.dsn)  # noqa: E731
    vector_dim = config.storage.qdrant.vector_dim
    supervisor.add(DatabasePool(database, dsn=dsn, steps=steps, vector_dim=vector_dim), needs=needs)
    return dsn


def _add_replica(config: Config, supervisor: Supervisor, metrics: Metrics, database: Database) -> Database:
    postgres = config.storage.postgres
    if not postgres.read_dsn:
        return database
    reads = ReadDatabase(database, max_conns=postgres.pool_max_conns)
    supervisor.add(ReplicaPool(reads, dsn=postgres.read_dsn), needs=["database"])
    metrics.watch_pools({"replica": reads})
    return reads


def _name(process: str | None) -> str:
    place = f"{socket.gethostname()}:{os.getpid()}"
    return place if process is None else f"{process}@{place}"
