"""What the service answers of an assistant's memory, as frozen structs. Times are aware datetimes.

Fields that a newer service adds are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from msgspec import Struct

from elf.client.families.assistant.inputs import (
    ContextField,
    HistoryEvent,
    MemoryState,
    MemoryType,
    ProposalState,
    Quote,
    RelationType,
    Role,
)

TurnOutcome: TypeAlias = Literal["ADD", "UPDATE", "RECREATE", "NONE", "REJECTED", "PROPOSED", "DEFERRED"]

# Memories


class Memory(Struct, frozen=True, kw_only=True):
    """A memory of a user. `purge_at` is when one that is deleted goes for good."""

    id: UUID
    tenant_id: str
    user_id: str
    agent_id: str | None
    run_id: str | None
    actor_id: str | None
    thread_id: str | None
    role: Role | None
    type: MemoryType
    category: str
    text: str
    steps_text: str | None
    tags: list[str]
    importance: int
    pinned: bool
    state: MemoryState
    source: str
    evidence: list[Quote]
    created_at: datetime
    updated_at: datetime
    last_accessed: datetime | None
    hit_count: int
    purge_at: datetime | None


class AddedMemory(Struct, frozen=True, kw_only=True):
    """What became of a memory to be kept. `warnings` are what its text lacks of one that an assistant writes."""

    result: Literal["ADD", "NONE"]
    memory: Memory
    warnings: list[str]
    reason_code: str | None
    degraded: list[str]


class UpdatedMemory(Struct, frozen=True, kw_only=True):
    """What became of a memory to be changed."""

    result: Literal["UPDATE", "NONE"]
    memory: Memory
    warnings: list[str]
    reason_code: str | None
    degraded: list[str]


class DeletedMemory(Struct, frozen=True, kw_only=True):
    """What became of a memory to be deleted, and until when it can be restored; None: it is gone."""

    id: UUID
    result: Literal["DELETE", "NONE"]
    purge_at: datetime | None


class RestoredMemory(Struct, frozen=True, kw_only=True):
    """What became of a memory to be brought back."""

    result: Literal["RESTORE", "NONE"]
    memory: Memory


class HistoryRow(Struct, frozen=True, kw_only=True):
    """A change of a memory: as it was before and after, and who did it."""

    id: UUID
    memory_id: UUID
    event: HistoryEvent
    old_ref: Mapping[str, Any] | None
    new_ref: Mapping[str, Any] | None
    actor: str | None
    meta: Mapping[str, Any]
    ts: datetime


# Turns and consent


class TurnResult(Struct, frozen=True, kw_only=True):
    """What became of something that was said."""

    result: TurnOutcome
    memory_id: UUID | None
    proposal_id: UUID | None
    category: str | None
    type: MemoryType
    text: str | None
    reason_code: str | None
    similar_to: UUID | None
    contradicts: list[UUID]
    sim: float | None


class TurnTaken(Struct, frozen=True, kw_only=True):
    """What became of all that a turn told; `repeated`: it was taken in before, and nothing was done twice."""

    thread_id: str
    turn_id: str
    repeated: bool
    results: list[TurnResult]
    degraded: list[str]


class UserContext(Struct, frozen=True, kw_only=True):
    """What a user agreed to be known by."""

    preferred_name: str | None
    pronouns: str | None
    city: str | None
    language: str | None
    tone: str | None
    goals: list[str]


class Proposal(Struct, frozen=True, kw_only=True):
    """A value that a field gets if the user agrees."""

    proposal_id: UUID
    field: ContextField
    value: str
    state: ProposalState
    thread_id: str | None
    evidence: list[Quote]
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None


# Answers


class Bullet(Struct, frozen=True, kw_only=True):
    """A memory in a line."""

    id: UUID
    category: str
    text: str


class FullMemory(Memory, frozen=True, kw_only=True):
    """A memory with all that is known of it, and by what it was ranked; `score` is None in context."""

    score: float | None


class Related(Bullet, frozen=True, kw_only=True):
    """A memory that is related to the item with the id `of`."""

    of: UUID
    relation_type: RelationType
    strength: float


class Explanation(Struct, frozen=True, kw_only=True):
    """What the score of an item is the sum of."""

    id: UUID
    score: float
    terms: Mapping[str, float]
    cosine: float | None
    words: float


class Tokens(Struct, frozen=True, kw_only=True):
    """How many tokens the texts of an answer have, as `tokenizer` counts."""

    budget: int
    used: int
    tokenizer: str


class Delta(Struct, frozen=True, kw_only=True):
    """What changed since the thread was told last: `total` memories, the newest three of them in `text`."""

    since_rev: int
    rev: int
    total: int
    text: str


class _Answered(Struct, frozen=True, kw_only=True):
    delta: Delta | None
    related: list[Related]
    tokens: Tokens
    warnings: list[str]
    degraded: list[str]
    explanations: list[Explanation] | None


class Answer(_Answered, frozen=True, kw_only=True):
    """What is known that helps with a query: `items` best first, `context` what comes whole, and what is related."""

    items: list[Bullet]
    context: list[Bullet]


class FullAnswer(_Answered, frozen=True, kw_only=True):
    """The same with whole memories."""

    items: list[FullMemory]
    context: list[FullMemory]


# Threads


class ThreadCheckpoint(Struct, frozen=True, kw_only=True):
    """What the newest checkpoint of a thread says."""

    id: UUID
    tenant_id: str
    user_id: str
    thread_id: str
    checkpoint_data: Mapping[str, Any]
    encrypted: bool
    created_at: datetime
    updated_at: datetime


class RedactedCheckpoints(Struct, frozen=True, kw_only=True):
    """Of how many threads the readable copy of the newest checkpoint was removed."""

    redacted: int


# All of a user


class RejectedLine(Struct, frozen=True, kw_only=True):
    """The place of a line among those that were sent, and what its text lacks."""

    place: int
    reason_code: str


class Imported(Struct, frozen=True, kw_only=True):
    """What became of lines. `left` are those that are told and not taken in."""

    new: int
    known: int
    proposed: int
    left: int
    rejected: list[RejectedLine]


class Erased(Struct, frozen=True, kw_only=True):
    """The receipt: how many rows of each table went."""

    erased: Mapping[str, int]


# For operators


class Consolidated(Struct, frozen=True, kw_only=True):
    """What comparing memories came to: how many pairs became one, are opposites, or stay two for now, by reason."""

    dry_run: bool
    users: int
    duplicates_before: int
    duplicates_after: int
    pairs_seen: int
    pairs_asked: int
    questions: int
    merged: int
    contradictions: int
    tokens: int
    skipped: Mapping[str, int]
