"""What the rooms of the store family share in a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from elf.api.caller import Caller
from elf.api.whose import user_asked_for
from elf.config.tables.store import StoreTable
from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.store.api.fields import OfUser
from elf.families.store.model import FAMILY, QUEUE, Place
from elf.ground import Ground
from elf.indexing.embedding import TextEmbedder
from elf.memory_embedding import MemoryEmbedder, memory_model
from elf.outbox.leased import LeasedOutbox, outbox_queries
from elf.providers.micro_batch import MicroBatchingEmbedder

OUTBOX: Final = "store_outbox"

# Of a value i, at the moment $3: that it is there, within the paths from $5 to before $6 that begin with $4.
WITHIN: Final = """(i.expires_at IS NULL OR i.expires_at > $3)
  AND left(i.path, 300) >= $5 AND left(i.path, 300) < $6 AND starts_with(i.path, $4)"""
# That it meets each of the conditions $7. Only values of one kind are ordered, and what a value has not meets nothing.
# A value is read once for all conditions, and not at all without any.
MEETS: Final = """NOT EXISTS (
    SELECT FROM (SELECT i.value::jsonb AS whole WHERE $7::jsonb <> '[]' OFFSET 0) AS v
    CROSS JOIN LATERAL jsonb_array_elements($7::jsonb) AS c (one)
    CROSS JOIN LATERAL (SELECT v.whole -> (c.one ->> 'key') AS held, c.one -> 'operand' AS wanted) AS f
    WHERE NOT coalesce(CASE c.one ->> 'op'
      WHEN '$eq' THEN f.held = f.wanted
      WHEN '$ne' THEN f.held <> f.wanted
      WHEN '$gt' THEN jsonb_typeof(f.held) = jsonb_typeof(f.wanted) AND f.held > f.wanted
      WHEN '$gte' THEN jsonb_typeof(f.held) = jsonb_typeof(f.wanted) AND f.held >= f.wanted
      WHEN '$lt' THEN jsonb_typeof(f.held) = jsonb_typeof(f.wanted) AND f.held < f.wanted
      WHEN '$lte' THEN jsonb_typeof(f.held) = jsonb_typeof(f.wanted) AND f.held <= f.wanted
    END, false))"""


@dataclass(frozen=True, kw_only=True)
class Kit:
    """`texts` is what embeds here, if anything does; `shared_calls` is the actor that owns the calls which writers
    share, and `patience_s` tells how long one who writes waits for a call, None: as long as it takes. `redact` tells
    whether credentials are blanked in what a model is given. `ring` wakes whoever makes vectors.
    """

    config: StoreTable
    proves_users: bool
    database: Database
    clock: Clock
    queries: Queries
    outbox: LeasedOutbox
    texts: TextEmbedder | None
    redact: bool
    ring: Callable[[], None]
    shared_calls: MicroBatchingEmbedder | None = None
    patience_s: Callable[[], float | None] = lambda: None

    def now(self) -> datetime:
        return self.clock.now()

    def place(self, request: OfUser, caller: Caller) -> Place:
        """Return whose values are asked for. Raises ScopeDenied and InvalidRequest."""
        user = user_asked_for(
            request.user_id, caller, proves_users=self.proves_users, what="what is kept here"
        )
        return Place(request.tenant_id, user)

    @property
    def embedder(self) -> MemoryEmbedder:
        """What makes vectors, in a process that serves or works."""
        assert self.texts is not None, "who serves or works has a model"
        return MemoryEmbedder(self.texts, family=FAMILY, patience_s=self.patience_s)


def store_queries() -> Queries:
    """Read the statements of the family. Raises StartupError when a file cannot be read."""
    own = Queries.load(sql_folder() / FAMILY, values={"within": WITHIN, "meets": MEETS})
    return outbox_queries(OUTBOX, subject="revision", own=own)


def kit_of(ground: Ground) -> Kit:
    """Return the kit of a process. Raises StartupError when the statements cannot be read."""
    queries = store_queries()
    model = memory_model(ground, FAMILY)
    return Kit(
        config=ground.config.of(StoreTable),
        proves_users=ground.config.security.auth.mode == "required",
        database=ground.database,
        clock=ground.clock,
        queries=queries,
        outbox=model.outbox(ground.database, queries, OUTBOX),
        texts=model.texts,
        shared_calls=model.shared_calls,
        patience_s=model.patience_s,
        redact=ground.config.security.redact_secrets_on_write,
        ring=ground.ring(QUEUE),
    )
