"""The bodies of the notes API: what a request may hold, and what comes back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from elf.config.model import NoteType

MAX_NOTES = 256
MAX_MESSAGES = 256
MAX_MESSAGE_CHARS = 16_384
MAX_QUERY_CHARS = 2048
MAX_TTL_DAYS = 36_500

Identifier = Annotated[str, Field(min_length=1, max_length=128, pattern=r"\S")]
UnitInterval = Annotated[float, Field(ge=0.0, le=1.0)]
TtlDays = Annotated[float, Field(ge=-MAX_TTL_DAYS, le=MAX_TTL_DAYS)]


class Request(BaseModel):
    """A request: types are strict, unknown fields are refused, and so are NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Response(BaseModel):
    """A response body."""

    model_config = ConfigDict(frozen=True)


class InContext(Request):
    """A request inside one tenant, project and agent."""

    tenant_id: Identifier
    project_id: Identifier
    agent_id: Identifier


class NewNote(Request):
    """One note to write. An unknown type or an unusable text is answered with op REJECTED, not with an error."""

    type: Annotated[str, Field(max_length=128)]
    key: Identifier | None = None
    text: str
    importance: UnitInterval
    confidence: UnitInterval
    ttl_days: TtlDays | None = None
    source_ref: dict[str, JsonValue] = Field(default_factory=dict)


class AddNoteRequest(InContext):
    scope: Annotated[str, Field(max_length=128)]
    notes: Annotated[list[NewNote], Field(min_length=1, max_length=MAX_NOTES)]


class WriteResult(Response):
    """What became of one note; `note_id` is null when it was rejected."""

    note_id: UUID | None
    op: Literal["ADD", "UPDATE", "NONE", "REJECTED"]
    reason_code: str | None = None
    reason: str | None = None


class AddNoteResponse(Response):
    results: list[WriteResult]


class EventMessage(Request):
    """One message of a conversation; `ts` and `msg_id` are the client's own and are kept with the evidence."""

    role: Literal["user", "assistant", "tool"]
    content: Annotated[str, Field(max_length=MAX_MESSAGE_CHARS)]
    ts: Annotated[str, Field(max_length=128)] | None = None
    msg_id: Annotated[str, Field(max_length=128)] | None = None


class AddEventRequest(InContext):
    """Without a scope, each note goes where the extractor suggests."""

    scope: Annotated[str, Field(max_length=128)] | None = None
    dry_run: bool = False
    messages: Annotated[list[EventMessage], Field(min_length=1, max_length=MAX_MESSAGES)]


class AddEventResponse(Response):
    """The extractor's notes, cut to the maximum and with secrets blanked, and what became of each.

    In a dry run nothing is stored, the results say what would be, and a note that would be added has no id.
    """

    extracted: list[Any]
    results: list[WriteResult]


class NoteResponse(Response):
    """A note with everything a reader may know of it."""

    note_id: UUID
    tenant_id: str
    project_id: str
    agent_id: str
    scope: str
    type: str
    key: str | None
    text: str
    importance: float
    confidence: float
    status: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    source_ref: dict[str, Any]


class GetNoteRequest(Request):
    """Without a context the id alone is the capability; with one, a note outside it is not found."""

    note_id: UUID
    tenant_id: Identifier | None = None
    project_id: Identifier | None = None
    agent_id: Identifier | None = None


class ListRequest(Request):
    tenant_id: Identifier
    project_id: Identifier
    agent_id: Identifier | None = None
    scope: Identifier | None = None
    status: Literal["active", "deleted", "deprecated", "expired"] = "active"
    type: NoteType | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


class ListResponse(Response):
    items: list[NoteResponse]
    next_cursor: str | None


class UpdateRequest(InContext):
    """Changes to one note; a field left out stays as it is."""

    note_id: UUID
    text: str | None = None
    importance: UnitInterval | None = None
    confidence: UnitInterval | None = None
    ttl_days: TtlDays | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> UpdateRequest:
        if not {"text", "importance", "confidence", "ttl_days"} & self.model_fields_set:
            raise ValueError("give at least one of text, importance, confidence and ttl_days")
        return self


class UpdateResponse(Response):
    note_id: UUID
    op: Literal["UPDATE", "NONE", "REJECTED"]
    reason_code: str | None = None
    reason: str | None = None


class DeleteRequest(InContext):
    note_id: UUID


class DeleteResponse(Response):
    note_id: UUID
    op: Literal["DELETE", "NONE"]


class SearchRequest(InContext):
    read_profile: Identifier
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=r"\S")]
    top_k: Annotated[int, Field(ge=1, le=100)] | None = None
    candidate_k: Annotated[int, Field(ge=1, le=1000)] | None = None
    record_hits: bool = False

    @model_validator(mode="after")
    def _asks_for_enough_candidates(self) -> SearchRequest:
        if self.top_k is not None and self.candidate_k is not None and self.top_k > self.candidate_k:
            raise ValueError("top_k must not be greater than candidate_k")
        return self


class Boost(Response):
    """One named term of the final score."""

    name: str
    score: float


class Explanation(Response):
    """Why an item stands where it stands; the boosts add up to final_score."""

    retrieval_score: float | None
    retrieval_rank: int | None
    rerank_score: float
    tie_breaker_score: float
    final_score: float
    boosts: list[Boost]
    matched_terms: list[str]
    matched_fields: list[str]


class SearchItem(Response):
    result_handle: UUID
    note_id: UUID
    chunk_id: UUID
    chunk_index: int
    start_offset: int
    end_offset: int
    snippet: str
    type: str
    key: str | None
    scope: str
    importance: float
    confidence: float
    updated_at: datetime
    expires_at: datetime | None
    final_score: float
    source_ref: dict[str, Any]
    explain: Explanation


class SearchResponse(Response):
    """The items, best first. `degraded` names the parts that could not help with this answer."""

    trace_id: UUID
    items: list[SearchItem]
    degraded: list[str]
