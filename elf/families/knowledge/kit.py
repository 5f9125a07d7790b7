"""What the rooms of the knowledge family share in a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pgvector import Vector

from elf.config.tables.knowledge import KnowledgeTable
from elf.core.clock import Clock
from elf.db.database import Connection, Database
from elf.db.queries import Queries, sql_folder
from elf.families.knowledge.access import Reach
from elf.families.knowledge.model import FAMILY
from elf.families.knowledge.writing.events import Event, record
from elf.families.knowledge.writing.vectors import MemoryEmbedder
from elf.families.knowledge.writing.versions import EmbeddingVersions
from elf.ground import Ground
from elf.indexing.embedding import TextEmbedder
from elf.outbox.leased import LeasedOutbox, outbox_queries
from elf.providers.micro_batch import MicroBatchingEmbedder
from elf.search.breaker import BreakerState, CircuitBreaker
from elf.search.guards import GuardedEmbedder

OUTBOX: Final = "knowledge_outbox"
QUEUE: Final = "knowledge"
LEASE_S: Final = 60.0
# Calls that writers share. A model of this process is quicker with what waits in one call than with two calls at once.
CALLS_AT_ONCE: Final = 4
# How long one who stores waits for a call of a model behind a URL, and for one that tells whether it is back. Whoever
# makes the vector later tries for as long as the config says. A model of this process is never away, only busy.
PATIENCE_S: Final = 3.0
PATIENCE_WITH_A_PROBE_S: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class Kit:
    """`reads` may be a replica. `texts` is what embeds here, if anything does; `shared_calls` is the actor that owns
    the calls which writers share, and `patience_s` tells how long one who stores waits for a call, None: as long as it
    takes. `redact` tells whether credentials are blanked in what is stored. `ring` wakes whoever makes vectors and
    inversions: after a commit that left some to make.
    """

    config: KnowledgeTable
    database: Database
    reads: Database
    clock: Clock
    queries: Queries
    outbox: LeasedOutbox
    texts: TextEmbedder | None
    redact: bool
    ring: Callable[[], None]
    shared_calls: MicroBatchingEmbedder | None = None
    patience_s: Callable[[], float | None] = lambda: None
    versions: EmbeddingVersions = field(default_factory=EmbeddingVersions)

    def now(self) -> datetime:
        return self.clock.now()

    @property
    def embedder(self) -> MemoryEmbedder:
        """What makes the vectors of memories, in a process that serves or works."""
        assert self.texts is not None, "who serves or works has a model"
        return MemoryEmbedder(self.texts, patience_s=self.patience_s)

    async def wrote(self, connection: Connection, vectors: Iterable[Vector | None], now: datetime) -> None:
        """Record by which model vectors are, with the transaction that writes them."""
        await self.versions.record(connection, self.queries, self.embedder.version, vectors, now)

    async def record(
        self, connection: Connection, reach: Reach, events: Sequence[Event], *, now: datetime
    ) -> None:
        """Write events of a caller with the transaction of what they tell."""
        await record(connection, self.queries, events, tenant_id=reach.tenant_id, actor=reach.actor, now=now)


def knowledge_queries() -> Queries:
    """Read the statements of the family. Raises StartupError when a file cannot be read."""
    return outbox_queries(OUTBOX, subject="memory_id", own=Queries.load(sql_folder() / FAMILY))


def kit_of(ground: Ground) -> Kit:
    """Return the kit of a process. Raises StartupError when the statements cannot be read."""
    queries = knowledge_queries()
    breaker = CircuitBreaker("embedding of knowledge")
    texts, shared_calls = _guarded(ground, breaker)
    return Kit(
        config=ground.config.of(KnowledgeTable),
        database=ground.database,
        reads=ground.reads,
        clock=ground.clock,
        queries=queries,
        outbox=LeasedOutbox(
            ground.database, queries, table=OUTBOX, lease_seconds=LEASE_S, is_paused=lambda: breaker.refuses
        ),
        texts=texts,
        shared_calls=shared_calls,
        patience_s=(lambda: None) if ground.config.providers.embedding.is_local else _patience_with(breaker),
        redact=ground.config.security.redact_secrets_on_write,
        ring=ground.ring(QUEUE),
    )


def _patience_with(breaker: CircuitBreaker) -> Callable[[], float]:
    return lambda: PATIENCE_S if breaker.state is BreakerState.CLOSED else PATIENCE_WITH_A_PROBE_S


def _guarded(
    ground: Ground, breaker: CircuitBreaker
) -> tuple[TextEmbedder | None, MicroBatchingEmbedder | None]:
    """Put a breaker around the model: what is stored without a vector gets one later, so no writer waits in vain.

    Where the process serves, writers share calls of the model, which an actor owns.
    """
    if ground.texts is None:
        return None, None
    embedder = GuardedEmbedder(ground.texts.embedder, breaker)
    if not ground.roles.serves:
        return replace(ground.texts, embedder=embedder, late=None), None
    in_flight = 1 if ground.config.providers.embedding.is_local else CALLS_AT_ONCE
    shared = MicroBatchingEmbedder(embedder, name="knowledge_batcher", max_in_flight=in_flight)
    return replace(ground.texts, embedder=shared, late=None), shared
