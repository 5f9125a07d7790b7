"""What the rooms of the knowledge family share in a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
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
from elf.families.knowledge.writing.versions import EmbeddingVersions
from elf.ground import Ground
from elf.indexing.embedding import TextEmbedder
from elf.memory_embedding import MemoryEmbedder, memory_model
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, outbox_queries
from elf.providers.micro_batch import MicroBatchingEmbedder

OUTBOX: Final = "knowledge_outbox"
QUEUE: Final = "knowledge"


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
        return MemoryEmbedder(self.texts, family=FAMILY, patience_s=self.patience_s)

    def indexed(self, text: str) -> str:
        """Return what a memory is found by of a text: its beginning."""
        return text[: self.config.indexed_content_chars]

    async def wrote(self, connection: Connection, vectors: Iterable[Vector | None], now: datetime) -> None:
        """Record by which model vectors are, with the transaction that writes them."""
        await self.versions.record(connection, self.queries, self.embedder.version, vectors, now)

    async def record(
        self, connection: Connection, reach: Reach, events: Sequence[Event], *, now: datetime
    ) -> None:
        """Write events of a caller with the transaction of what they tell."""
        await record(
            connection, self.queries, events,
            tenant_id=reach.tenant_id, actor=reach.actor, user=reach.user, now=now,
        )  # fmt: skip


def knowledge_queries() -> Queries:
    """Read the statements of the family. Raises StartupError when a file cannot be read."""
    about = JobSubject(kind="o.memory_type")
    own = Queries.load(sql_folder() / FAMILY)
    return outbox_queries(OUTBOX, subject="memory_id", about=about, lane="tenant_id", own=own)


def kit_of(ground: Ground) -> Kit:
    """Return the kit of a process. Raises StartupError when the statements cannot be read."""
    queries = knowledge_queries()
    model = memory_model(ground, FAMILY)
    return Kit(
        config=ground.config.of(KnowledgeTable),
        database=ground.database,
        reads=ground.reads,
        clock=ground.clock,
        queries=queries,
        outbox=model.outbox(ground.database, queries, OUTBOX),
        texts=model.texts,
        shared_calls=model.shared_calls,
        patience_s=model.patience_s,
        redact=ground.config.security.redact_secrets_on_write,
        ring=ground.ring(QUEUE),
    )
