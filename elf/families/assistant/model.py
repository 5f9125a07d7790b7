"""What the assistant family keeps: its types, states and events, and the records that its parts hand one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args
from uuid import UUID

FAMILY: Final = "assistant"

MemoryType: TypeAlias = Literal["semantic", "episodic", "insight", "procedural"]
MemoryState: TypeAlias = Literal["active", "soft_deleted"]
Role: TypeAlias = Literal["user", "assistant", "tool"]
RelationType: TypeAlias = Literal["related_to", "contradicts"]
ChangeEvent: TypeAlias = Literal["created", "updated", "merged", "deleted", "soft_deleted", "restored"]
HistoryEvent: TypeAlias = Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
Node: TypeAlias = Literal["hotpath", "context", "episodic", "worker"]
Op: TypeAlias = Literal["classify", "search", "create", "update", "merge", "delete"]
Status: TypeAlias = Literal["ok", "error", "skipped"]

MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)

COMPARED_TYPES: Final[tuple[MemoryType, ...]] = ("semantic", "insight")
"""What happened on two days is two things, however alike, and steps are compared by nobody."""

DEFAULT_IMPORTANCE: Final = 2
MAX_TAGS: Final = 16
MAX_TAG_CHARS: Final = 64
MAX_TEXT_CHARS: Final = 4096
MAX_STEPS_CHARS: Final = 8192
MAX_QUOTES: Final = 16
MAX_QUOTE_CHARS: Final = 1024

PURGED_AFTER: Final = timedelta(days=30)
"""How long a memory that was deleted softly can be restored."""

SEEN_WITHIN: Final = timedelta(days=7)
MOST_THREADS: Final = 20
MOST_CHANGES: Final = 200
MOST_NEIGHBOURS: Final = 5
WORKER: Final = "worker"  # the actor of what the service does by itself


class Place(NamedTuple):
    """Whose memory it is."""

    tenant_id: str
    user_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Words that a memory is drawn from: who said them, and in which turn of a thread."""

    quote: str
    role: Role | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory of a user. `unchecked`: nobody has looked yet for what is like it."""

    tenant_id: str
    user_id: str
    memory_id: UUID
    type: MemoryType
    category: str
    text: str
    importance: int
    pinned: bool
    state: MemoryState
    source: str
    created_at: datetime
    updated_at: datetime
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    thread_id: str | None = None
    role: Role | None = None
    steps_text: str | None = None
    tags: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()
    last_accessed: datetime | None = None
    hit_count: int = 0
    purge_at: datetime | None = None
    imported_at: datetime | None = None
    unchecked: bool = False

    @property
    def place(self) -> Place:
        return Place(self.tenant_id, self.user_id)

    @property
    def embedded_text(self) -> str:
        """What the vector is of."""
        return self.text if self.steps_text is None else f"{self.text}\n{self.steps_text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a memory has to do with another one; strength is a cosine."""

    relation_id: UUID
    from_id: UUID
    to_id: UUID
    relation_type: RelationType
    strength: float
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a memory as a thread is told of it; `meta` has category, text and importance."""

    rev: int
    memory_id: UUID
    event: ChangeEvent
    meta: Mapping[str, Any]
    ts: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """What became of a memory: as it was before and after, and who did it."""

    id: UUID
    memory_id: UUID
    event: HistoryEvent
    old_ref: str | None
    new_ref: str | None
    actor: str | None
    meta: Mapping[str, Any]
    ts: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """An event to be counted: what a node did, and how it went. `sim` is the score of the best neighbour."""

    node: Node
    op: Op
    status: Status = "ok"
    thread_id: str | None = None
    memory_id: UUID | None = None
    category: str | None = None
    sim: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work to be left in the outbox."""

    kind: str
    subject_id: UUID
    payload: Mapping[str, Any] = field(default_factory=dict)
