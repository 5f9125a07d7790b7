"""What the service answers, as frozen structs. Times are aware datetimes, ids are UUIDs.

Fields that a newer service adds are passed over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Generic, Literal, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from elf.client.inputs import NoteStatus, NoteType
from elf.client.json_value import JsonObject, JsonValue
from elf.core.structs import read_value

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """A part of a listing; `next_cursor` continues it, and is None on the last page."""

    items: list[T]
    next_cursor: str | None


# Writing


class WriteResult(Struct, frozen=True):
    """What became of one note; a note that was REJECTED has no id, and `reason_code` says why.

    `similar_to` is a stored note that a new one looks much like without saying the same.
    """

    note_id: UUID | None
    op: Literal["ADD", "UPDATE", "NONE", "REJECTED"]
    reason_code: str | None
    reason: str | None
    similar_to: UUID | None = None

    @property
    def stored(self) -> bool:
        """Whether memory holds the note: stored now, or known already; after a dry run, whether it would."""
        return self.op != "REJECTED"


class NotesWritten(Struct, frozen=True):
    """The body that `results` comes in."""

    results: list[WriteResult]


class Quote(Struct, frozen=True):
    """Words of a message, by its place in the event."""

    message_index: int
    quote: str


class ExtractedNote(Struct, frozen=True):
    """A note as the extractor proposes it, before the service has judged it.

    What does not read as a note, a language model being what it is, has only `raw`; the service rejects it, too.
    """

    raw: JsonValue
    type: str = ""
    key: str | None = None
    text: str = ""
    importance: float | None = None
    confidence: float | None = None
    ttl_days: float | None = None
    scope_suggestion: str | None = None
    evidence: list[Quote] = []  # msgspec gives each note a list of its own
    reason: str = ""

    @classmethod
    def of(cls, raw: JsonValue) -> ExtractedNote:
        """Read a note as it came."""
        try:
            return read_value({**raw, "raw": raw} if isinstance(raw, dict) else {"raw": raw}, cls)
        except msgspec.ValidationError:
            return cls(raw)


class EventWritten(Struct, frozen=True):
    """What the extractor gave, and what became of each of its notes, in the same order."""

    extracted: list[ExtractedNote]
    results: list[WriteResult]

    @property
    def stored(self) -> list[ExtractedNote]:
        """The extracted notes that memory holds: stored now, or known already; after a dry run, that it would."""
        return [note for note, result in zip(self.extracted, self.results, strict=True) if result.stored]


class RawEvent(Struct, frozen=True):
    """The body that an event's answer comes in."""

    extracted: list[JsonValue]
    results: list[WriteResult]

    def read(self) -> EventWritten:
        """Return it with its notes. Raises ValueError unless there is a result for each."""
        if len(self.extracted) != len(self.results):
            raise ValueError(f"{len(self.results)} results for {len(self.extracted)} notes")
        return EventWritten([ExtractedNote.of(raw) for raw in self.extracted], self.results)


class Updated(Struct, frozen=True):
    """What became of a change."""

    note_id: UUID
    op: Literal["UPDATE", "NONE", "REJECTED"]
    reason_code: str | None
    reason: str | None

    @property
    def stored(self) -> bool:
        """Whether the note is as it was asked to be."""
        return self.op != "REJECTED"


class Restored(Struct, frozen=True):
    """What became of restoring a note; `version_id` is the version whose text it has now."""

    note_id: UUID
    version_id: UUID | None
    op: Literal["UPDATE", "NONE", "REJECTED"]
    reason_code: str | None
    reason: str | None

    @property
    def stored(self) -> bool:
        """Whether the note is as that version was."""
        return self.op != "REJECTED"


class Deleted(Struct, frozen=True):
    """What became of a deletion; NONE: the note was deleted before."""

    note_id: UUID
    op: Literal["DELETE", "NONE"]


# Reading


class Note(Struct, frozen=True):
    """A note with everything a reader may know of it."""

    note_id: UUID
    tenant_id: str
    project_id: str
    agent_id: str
    scope: str
    type: NoteType
    key: str | None
    text: str
    importance: float
    confidence: float
    status: NoteStatus
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    source_ref: JsonObject


class NoteVersion(Struct, frozen=True):
    """One change of a note: the note before it and after it, as JSON objects."""

    version_id: UUID
    op: str
    reason: str
    actor: str
    ts: datetime
    prev_snapshot: JsonObject | None
    new_snapshot: JsonObject | None


class Repetition(Struct, frozen=True):
    """What was written again of a note in other words, and answered NONE."""

    text: str
    similarity: float
    actor: str
    ts: datetime


class History(Page[NoteVersion], frozen=True):
    """A page of the versions of a note, newest first. Those made before `dropped_before` are not kept any more.

    The first page has the latest `repetitions`, newest first.
    """

    dropped_before: datetime | None
    repetitions: list[Repetition] = []  # msgspec gives each page a list of its own


# Searching


class Boost(Struct, frozen=True):
    """One named term of a final score."""

    name: str
    score: float


class Explanation(Struct, frozen=True):
    """Why a result stands where it stands; the boosts add up to `final_score`."""

    retrieval_score: float | None
    retrieval_rank: int | None
    rerank_score: float
    tie_breaker_score: float
    final_score: float
    boosts: list[Boost]
    matched_terms: list[str]
    matched_fields: list[str]


class SearchItem(Struct, frozen=True):
    """One result; `result_handle` is for `explain`. Offsets are code points of the note's text.

    `relevance` is on one scale for every query, which `final_score` is not; None when it is not known.
    """

    result_handle: UUID
    note_id: UUID
    chunk_id: UUID
    chunk_index: int
    start_offset: int
    end_offset: int
    snippet: str
    type: NoteType
    key: str | None
    scope: str
    importance: float
    confidence: float
    updated_at: datetime
    expires_at: datetime | None
    final_score: float
    relevance: float | None
    source_ref: JsonObject
    explain: Explanation


class SearchAnswer(Struct, frozen=True):
    """The results, best first; `degraded` names the parts of the service that could not help.

    `weak_match` says that none is relevant enough to count on; None when that is not known.
    """

    trace_id: UUID
    items: list[SearchItem]
    weak_match: bool | None
    degraded: list[str]


class StageTime(Struct, frozen=True):
    """How many milliseconds a stage of a search took."""

    name: str
    ms: float


class Trace(Struct, frozen=True):
    """A search as it was carried out."""

    trace_id: UUID
    tenant_id: str
    project_id: str
    agent_id: str
    read_profile: str
    query: str
    expansion_mode: str
    expanded_queries: list[str]
    allowed_scopes: list[str]
    filters: JsonObject
    candidate_count: int
    top_k: int
    config_snapshot: JsonObject
    trace_version: int
    created_at: datetime
    expires_at: datetime
    degraded: list[str]
    stages: list[StageTime]


class FoundId(Struct, frozen=True):
    """A whole id, and the text of what it stands for: a note, a version, a result, or the query of a search."""

    id: UUID
    text: str


class FoundIds(Struct, frozen=True):
    """The ids that begin as was asked."""

    items: list[FoundId]


class TracedItem(Struct, frozen=True):
    """One result of a traced search; ranks count from 1."""

    result_handle: UUID
    note_id: UUID
    chunk_id: UUID | None
    rank: int
    relevance: float | None
    text: str | None
    explain: Explanation


class DroppedItem(Struct, frozen=True):
    """A candidate that is no result: the stage that dropped it, why, and what was known of it by then.

    `filter` is the one that dropped it, where a filter did.
    """

    note_id: UUID
    chunk_id: UUID
    text: str | None
    stage: str
    reason_code: str
    reason: str
    retrieval_score: float | None
    retrieval_rank: int | None
    dense_score: float | None
    bm25_score: float | None
    rerank_score: float | None
    final_score: float | None
    filter: str | None = None


class ExplainedItem(Struct, frozen=True):
    """One result with its search, the results it is ranked among, and the candidates that are none."""

    trace: Trace
    item: TracedItem
    other_items: list[TracedItem]
    dropped: list[DroppedItem]


class ExplainedSearch(Struct, frozen=True):
    """A whole trace: its results by rank, and the candidates that are none."""

    trace: Trace
    items: list[TracedItem]
    dropped: list[DroppedItem]


class TraceSummary(Struct, frozen=True):
    """A traced search in a listing."""

    trace_id: UUID
    query: str
    read_profile: str
    filters: JsonObject
    expansion_mode: str
    candidate_count: int
    top_k: int
    result_count: int
    degraded: list[str]
    stages: list[StageTime]
    created_at: datetime


# The service itself


class Part(Struct, frozen=True):
    """One part of the service as it is now."""

    name: str
    state: str
    restarts: int
    last_error: str | None


class Readiness(Struct, frozen=True):
    """Whether every part of the process that answers is ready, the state of each, and what is wrong beside that."""

    ready: bool
    parts: list[Part]
    process: str | None = None
    warnings: list[str] = []
