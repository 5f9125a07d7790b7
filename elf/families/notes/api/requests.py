"""The bodies of the notes API: what a request may hold, and what comes back."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from elf.api.bodies import WHOLE, GivenIdentifier, Identifier, Request, Response
from elf.config.model import NoteType
from elf.core.blank_text import NOT_BLANK
from elf.core.json_strings import MAX_STRING_CHARS
from elf.families.notes.api import fields as f
from elf.families.notes.api.source_fields import SOURCE_SCHEMA

MAX_NOTES = 256
MAX_MESSAGES = 256
MAX_MESSAGE_CHARS = 16_384
MAX_QUERY_CHARS = 2048
CHANGES = ("text", "importance", "confidence", "ttl_days")


class InContext(Request):
    """A request inside one tenant, project and agent."""

    tenant_id: f.TenantIdGiven
    project_id: f.ProjectIdGiven
    agent_id: f.AgentIdGiven


class NewNote(Request):
    """One note to write. An unknown type or an unusable text is answered with op REJECTED, not with an error."""

    type: f.TypeName
    key: f.Key | None = None
    text: f.NoteText
    importance: f.Importance
    confidence: f.Confidence
    ttl_days: f.TtlGiven | None = None
    source_ref: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Where the note comes from: any JSON object, kept as it is and given back with the note; its "
        f"strings and keys have at most {MAX_STRING_CHARS:,} characters. An empty one, or none, leaves what is known "
        "of a note that says the same already; where it changes what a note says, the former source_ref stays in the "
        "history and the note has none.",
        examples=[{"ticket": "SUP-1204"}],
    )


class AddNoteRequest(InContext):
    scope: f.ScopeName
    merge_similar: bool = Field(
        default=True,
        description="Whether a note without a key may be merged with one that is merely alike. false: only one with "
        "exactly the same text is the same note, as an import wants it.",
    )
    notes: Annotated[
        list[NewNote],
        Field(min_length=1, max_length=MAX_NOTES, description="The notes; each is judged by itself."),
    ]


class WriteResult(Response):
    """What became of one note."""

    note_id: UUID | None = Field(description="The note that was written or found; null when it was rejected.")
    op: Literal["ADD", "UPDATE", "NONE", "REJECTED"] = Field(
        description="ADD: stored as a new note. UPDATE: an earlier note has its content now. NONE: it was known "
        "already. REJECTED: not stored."
    )
    reason_code: f.ReasonCode = None
    reason: f.Reason = None
    similar_to: UUID | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Of a new note: a stored one that looks much like it, but does not say the same. Left out when "
        "there is none. If the new one should have replaced it, change that one and delete this.",
    )


class AddNoteResponse(Response):
    results: list[WriteResult] = Field(description="What became of each note, in the order of the request.")


class EventMessage(Request):
    """One message of a conversation."""

    role: Literal["user", "assistant", "tool"] = Field(description="Who says it.", examples=["user"])
    content: Annotated[
        str,
        Field(
            max_length=MAX_MESSAGE_CHARS,
            description="What is said, in English.",
            examples=["From now on please answer in English, I read it faster."],
        ),
    ]
    ts: (
        Annotated[str, Field(max_length=128, description="When, in any form; kept with the evidence.")] | None
    ) = None
    msg_id: (
        Annotated[str, Field(max_length=128, description="Your id of the message; kept with the evidence.")]
        | None
    ) = None


class AddEventRequest(InContext):
    scope: (
        Annotated[
            str,
            Field(
                max_length=128,
                description="Who shares the notes. Without it, nobody: each is agent_private, whatever "
                "scope the extractor suggests.",
                examples=["agent_private"],
            ),
        ]
        | None
    ) = None
    dry_run: bool = Field(
        default=False, description="Whether to say what would be stored, and store nothing."
    )
    messages: Annotated[
        list[EventMessage],
        Field(min_length=1, max_length=MAX_MESSAGES, description="The conversation, oldest message first."),
    ]


class AddEventResponse(Response):
    """The extractor's notes and what became of each.

    In a dry run nothing is stored, the results say what would be, and a note that would be added has no id.
    """

    extracted: list[Any] = Field(
        description="What the extractor gave, cut to the largest number of notes, with secrets blanked."
    )
    results: list[WriteResult] = Field(description="What became of each of them, in the same order.")


class NoteResponse(Response):
    """A note with everything a reader may know of it."""

    note_id: f.NoteId
    tenant_id: f.TenantId
    project_id: f.ProjectId
    agent_id: Annotated[str, Field(description="The agent that wrote the note.")]
    scope: f.ScopeName
    type: f.TypeName
    key: f.Key | None
    text: f.NoteText
    importance: f.Importance
    confidence: f.Confidence
    status: f.Status
    created_at: f.CreatedAt
    updated_at: f.UpdatedAt
    expires_at: f.ExpiresAt
    source_ref: f.SourceRef


class GetNoteRequest(Request):
    """A shared note is found by its id alone; with a context, only within it. A private one needs its whole context."""

    note_id: f.NoteId
    tenant_id: f.TenantIdGiven | None = None
    project_id: f.ProjectIdGiven | None = None
    agent_id: f.AgentIdGiven | None = None


class ListRequest(Request):
    """Without a scope, the notes of all scopes that the read profile reads; without both, of all shared scopes.

    What is in agent_private must be asked for, by scope or profile, with its agent.
    """

    tenant_id: f.TenantIdGiven
    project_id: f.ProjectIdGiven
    agent_id: f.AgentIdGiven | None = None
    read_profile: f.ReadProfile | None = None
    scope: Annotated[Identifier, Field(description="Only notes of this scope.")] | None = None
    status: f.NoteStatus = Field(default="active", description="Only notes of this status.")
    type: Annotated[NoteType, Field(description="Only notes of this type.")] | None = None
    key_prefix: f.KeyPrefix | None = None
    updated_since: f.UpdatedSince | None = None
    updated_before: f.UpdatedBefore | None = None
    thread: (
        Annotated[
            GivenIdentifier, Field(description="Only notes that were said in this conversation, by its name.")
        ]
        | None
    ) = None
    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None
    detail: f.Detail = "full"


class ListResponse(Response):
    items: list[NoteResponse] = Field(description="The notes, the one changed last first.")
    next_cursor: f.NextCursor


class UpdateRequest(InContext):
    """Changes to one note; a field left out stays as it is, and at least one of the four must be given."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [name]} for name in CHANGES]})

    note_id: f.NoteId
    text: f.NoteText | None = None
    importance: f.Importance | None = None
    confidence: f.Confidence | None = None
    ttl_days: f.TtlGiven | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> UpdateRequest:
        if not set(CHANGES) & self.model_fields_set:
            raise ValueError("give at least one of text, importance, confidence and ttl_days")
        return self


class UpdateResponse(Response):
    note_id: f.NoteId
    op: Literal["UPDATE", "NONE", "REJECTED"] = Field(
        description="UPDATE: changed. NONE: it was like that already. REJECTED: the new text may not be stored."
    )
    reason_code: f.ReasonCode = None
    reason: f.Reason = None


class DeleteRequest(InContext):
    note_id: f.NoteId


class DeleteResponse(Response):
    note_id: f.NoteId
    op: Literal["DELETE", "NONE"] = Field(description="DELETE: deleted now. NONE: it was deleted before.")


class SearchFilters(Request):
    """What notes have to be to be found; every one that is given has to hold. Without any, all that the reader may see.

    Both the index and Postgres apply them before the best notes are chosen.
    """

    type: (
        Annotated[
            list[NoteType], Field(min_length=1, max_length=6, description="Only notes of one of these types.")
        ]
        | None
    ) = None
    key_prefix: f.KeyPrefix | None = None
    scope: (
        Annotated[
            list[Identifier],
            Field(
                min_length=1,
                max_length=100,
                description="Only notes of one of these scopes, each of which the read profile has to read.",
                examples=[["project_shared"]],
            ),
        ]
        | None
    ) = None
    updated_since: f.UpdatedSince | None = None
    updated_before: f.UpdatedBefore | None = None
    created_since: f.CreatedSince | None = None
    created_before: f.CreatedBefore | None = None
    source: (
        Annotated[
            dict[str, JsonValue],
            WithJsonSchema(SOURCE_SCHEMA),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _leaves_time(self) -> SearchFilters:
        for name in ("updated", "created"):
            since, before = getattr(self, f"{name}_since"), getattr(self, f"{name}_before")
            if since is not None and before is not None and since >= before:
                raise ValueError(f"{name}_since must be earlier than {name}_before")
        return self


class SearchRequest(InContext):
    read_profile: f.ReadProfile
    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUERY_CHARS,
            pattern=NOT_BLANK,
            description="What to look for: a question or words, in English.",
            examples=["Which language does Ana want answers in?"],
        ),
    ]
    top_k: (
        Annotated[
            int,
            Field(
                ge=1,
                le=100,
                description="Most results; without it, memory.top_k of the config.",
                examples=[5],
            ),
            WHOLE,
        ]
        | None
    ) = None
    candidate_k: (
        Annotated[
            int,
            Field(
                ge=1,
                le=1000,
                description="How many candidates are looked at, not fewer than top_k; without it, memory.candidate_k "
                "of the config.",
            ),
            WHOLE,
        ]
        | None
    ) = None
    filters: SearchFilters | None = Field(default=None, description="What notes have to be to be found.")
    min_relevance: (
        Annotated[
            float,
            Field(
                ge=-1.0,
                le=1e6,
                allow_inf_nan=False,
                description="Results of a relevance below this, such as 0.42, are left out; without it, those below "
                "search.rerank.min_relevance of the config. Refused where relevance is not told.",
            ),
        ]
        | None
    ) = None
    record_hits: bool = Field(
        default=False, description="Whether to count the results as hits of their notes."
    )
    detail: f.Detail = "full"

    @model_validator(mode="after")
    def _asks_for_enough_candidates(self) -> SearchRequest:
        if self.top_k is not None and self.candidate_k is not None and self.top_k > self.candidate_k:
            raise ValueError("top_k must not be greater than candidate_k")
        return self


class Boost(Response):
    """One named term of the final score."""

    name: str = Field(description="Which term.")
    score: float = Field(description="What it adds to the final score.")


class Explanation(Response):
    """Why an item stands where it stands; the boosts add up to final_score."""

    retrieval_score: f.RetrievalScore
    retrieval_rank: f.RetrievalRank
    rerank_score: float = Field(description="How well the snippet answers the query, as the reranker says.")
    tie_breaker_score: float = Field(description="What recency and importance add.")
    final_score: f.FinalScore
    boosts: list[Boost] = Field(description="Every term of the final score.")
    matched_terms: list[str] = Field(description="Up to 8 words of the query that the snippet or key holds.")
    matched_fields: list[str] = Field(description="Where they are: key, text or both.")


class SearchItem(Response):
    """One result."""

    result_handle: f.ResultHandle
    note_id: f.NoteId
    chunk_id: f.ChunkId
    chunk_index: int = Field(description="Which piece of the note's text it is, from 0.")
    start_offset: int = Field(description="Where the piece begins in the note's text, in code points.")
    end_offset: int = Field(description="Where the piece ends.")
    snippet: str = Field(description="The piece with its neighbours, cut from the note's text.")
    type: f.TypeName
    key: f.Key | None
    scope: f.ScopeName
    importance: f.Importance
    confidence: f.Confidence
    updated_at: f.UpdatedAt
    expires_at: f.ExpiresAt
    final_score: f.FinalScore
    relevance: f.Relevance
    source_ref: f.SourceRef
    explain: Explanation


class SearchResponse(Response):
    trace_id: f.TraceId
    items: list[SearchItem] = Field(description="The results, best first, one a note.")
    weak_match: f.WeakMatch
    degraded: f.Degraded
