"""What the rooms of the assistant family share in a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from elf.config.tables.assistant import AssistantTable
from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.assistant.access import Access
from elf.families.assistant.model import FAMILY
from elf.families.assistant.rules.filters import CLAUSES
from elf.families.assistant.store.changes import VECTOR_JOB
from elf.families.assistant.store.rows import COLUMNS
from elf.families.assistant.store.writer import Writer
from elf.ground import Ground
from elf.indexing.embedding import TextEmbedder
from elf.memory_embedding import MemoryEmbedder, memory_model
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, outbox_queries
from elf.providers.micro_batch import MicroBatchingEmbedder
from elf.providers.port import Chat
from elf.search.breaker import CircuitBreaker
from elf.search.guards import GuardedChat

OUTBOX: Final = "assistant_outbox"
QUEUE: Final = "assistant"
# Turns of a user are read in the order in which they were taken in: a later one waits while an earlier one is open.
# What is made after turns waits for those that it is made after, for it leaves out what they have kept.
IN_TURN: Final = f"""NOT (o.kind IN ('turn', 'episode', 'insights') AND EXISTS (
  SELECT FROM {OUTBOX} AS e
  WHERE e.tenant_id = o.tenant_id AND e.user_id = o.user_id AND e.kind = 'turn' AND e.status IN ('PENDING', 'FAILED')
    AND e.created_at <= o.created_at AND e.outbox_id <> o.outbox_id
    AND (o.kind <> 'turn' OR (e.created_at, e.outbox_id) < (o.created_at, o.outbox_id))))"""
LOCAL: Final = "local"
"""The engine that judges by fixed rules, as events name it."""
LONGEST_OPEN_S: Final = 30.0
"""As long as a failed job waits at most: what needs the language model waits in the outbox anyway."""


@dataclass(frozen=True, kw_only=True)
class Kit:
    """`reads` may be a replica. `texts` is what embeds here, if anything does; `shared_calls` is the actor that owns
    the calls which writers share, and `patience_s` tells how long one who stores waits for a call, None: as long as it
    takes. `redact` tells whether credentials are blanked in what is stored. `ring` wakes whoever does jobs: after a
    commit that left some. `chat` is the language model, behind the breaker of the family: no request waits for it, only
    jobs and chores; None where fixed rules judge. `engine` is what judges, as events name it: `local`, or the model.
    `most_extractions` is how many messages of what is remembered at once the model reads. `passes` counts by engine
    what became of texts that it took out of turns: first_pass, trimmed or rejected.
    """

    config: AssistantTable
    access: Access
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
    chat: Chat | None = None
    engine: str = LOCAL
    most_extractions: int = 1
    passes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def now(self) -> datetime:
        return self.clock.now()

    @property
    def embedder(self) -> MemoryEmbedder:
        """What makes the vectors of memories, in a process that serves or works."""
        assert self.texts is not None, "who serves or works has a model"
        return MemoryEmbedder(self.texts, family=FAMILY, patience_s=self.patience_s)

    @property
    def writer(self) -> Writer:
        """What writes memories, in a process that serves or works."""
        return Writer(
            self.database, self.queries, version=self.embedder.version, link_min=self.config.link_min,
            clock=self.clock, ring=self.ring,
        )  # fmt: skip


def assistant_queries() -> Queries:
    """Read the statements of the family. Raises StartupError when a file cannot be read."""
    own = Queries.load(sql_folder() / FAMILY, values={"columns": COLUMNS, "filters": CLAUSES})
    about = JobSubject(kind=f"CASE o.kind WHEN '{VECTOR_JOB}' THEN 'memory' ELSE o.kind END")
    return outbox_queries(OUTBOX, subject="subject_id", about=about, lane="tenant_id", due=IN_TURN, own=own)


def kit_of(ground: Ground) -> Kit:
    """Return the kit of a process. Raises StartupError when the statements cannot be read."""
    queries = assistant_queries()
    model = memory_model(ground, FAMILY)
    chat = _guarded(ground.models.extractor)
    return Kit(
        config=ground.config.of(AssistantTable),
        access=Access(
            proves_users=ground.config.security.auth.mode == "required",
            allowlists=ground.config.of(AssistantTable).allowlists,
        ),
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
        chat=chat,
        most_extractions=ground.config.remember.max_extractions,
        engine=LOCAL if chat is None else ground.config.providers.llm_extractor.model,
    )


def _guarded(chat: Chat | None) -> Chat | None:
    """Put a breaker of the family around its language model, where there is one."""
    if chat is None:
        return None
    return GuardedChat(chat, CircuitBreaker("language model of the assistant", longest_open_s=LONGEST_OPEN_S))
