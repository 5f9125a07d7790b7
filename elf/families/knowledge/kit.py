"""What the parts of the knowledge family share in a process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from elf.config.tables.knowledge import KnowledgeTable
from elf.db.database import Connection
from elf.db.queries import Queries, sql_folder
from elf.families.knowledge.access import Reach
from elf.families.knowledge.model import FAMILY
from elf.families.knowledge.writing.events import Event, record
from elf.families.knowledge.writing.vectors import MemoryEmbedder
from elf.ground import Ground
from elf.outbox.leased import LeasedOutbox, outbox_queries

OUTBOX: Final = "knowledge_outbox"
QUEUE: Final = "knowledge"
LEASE_S: Final = 60.0


@dataclass(frozen=True)
class Kit:
    """Each part is made once, and where it is asked for."""

    ground: Ground

    @cached_property
    def config(self) -> KnowledgeTable:
        return self.ground.config.of(KnowledgeTable)

    @cached_property
    def queries(self) -> Queries:
        return outbox_queries(OUTBOX, subject="memory_id", own=Queries.load(sql_folder() / FAMILY))

    @cached_property
    def outbox(self) -> LeasedOutbox:
        """The vectors and inversions that are still to be made."""
        return LeasedOutbox(self.ground.database, self.queries, table=OUTBOX, lease_seconds=LEASE_S)

    @cached_property
    def embedder(self) -> MemoryEmbedder:
        """What makes the vectors of memories, in a process that serves or works."""
        assert self.ground.texts is not None, "who serves or works has a model"
        return MemoryEmbedder(self.ground.texts)

    def now(self) -> datetime:
        return self.ground.clock.now()

    def ring(self) -> None:
        """Wake whoever makes vectors and inversions; to be called after the commit of what left some to make."""
        self.ground.ring(QUEUE)()

    async def record(
        self, connection: Connection, reach: Reach, events: list[Event], *, now: datetime
    ) -> None:
        """Write events of a caller with the transaction of what they tell."""
        await record(connection, self.queries, events, tenant_id=reach.tenant_id, actor=reach.actor, now=now)
