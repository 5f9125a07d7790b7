"""The bodies of explaining a search: its trace, its results, and the candidates that are none."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.families.notes.api import fields as f
from elf.families.notes.api.requests import Explanation, InContext

NoteTextNow = Annotated[
    str | None, Field(description="The note's text as it is now; null when there is no such note any more.")
]


class ExplainRequest(Request):
    """The handle alone explains a result that is a shared note; private notes are told of within their context.

    With a part of the context that is not the searcher's, the result is unknown.
    """

    result_handle: f.ResultHandle
    tenant_id: f.TenantIdGiven | None = None
    project_id: f.ProjectIdGiven | None = None
    agent_id: f.AgentIdGiven | None = None


class TraceRequest(InContext):
    """A trace holds the words of an agent's query, so only that agent's context finds it."""

    trace_id: f.TraceId
    detail: f.Detail = "full"


class TracesRequest(InContext):
    """The traces of one agent."""

    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class StageTime(Response):
    """How long a stage of the search took."""

    name: str = Field(description="Which stage.")
    ms: float = Field(description="Milliseconds it took.")


class Trace(Response):
    """A search as it was carried out."""

    trace_id: f.TraceId
    tenant_id: f.TenantId
    project_id: f.ProjectId
    agent_id: f.AgentId
    read_profile: f.ReadProfile
    query: str = Field(description="The query, with secrets blanked.")
    expansion_mode: Literal["off", "always", "dynamic"] = Field(description="When queries are reworded.")
    expanded_queries: list[str] = Field(description="The queries that were searched for.")
    allowed_scopes: list[str] = Field(description="The scopes that were read.")
    filters: dict[str, Any] = Field(
        description="The filters of the search, with secrets blanked; empty when it had none."
    )
    candidate_count: int = Field(
        description="How many candidates were looked at, after fusion and the prefilter."
    )
    top_k: int = Field(description="How many results were asked for.")
    config_snapshot: dict[str, Any] = Field(description="The part of the config that the answer depends on.")
    trace_version: int = Field(description="The version of this form of traces.")
    created_at: datetime = Field(description="When the search was made.")
    expires_at: datetime = Field(description="When its trace is forgotten.")
    degraded: f.Degraded
    stages: list[StageTime] = Field(description="The stages, in the order they ran in.")


class TracedItem(Response):
    """One result of a traced search; the boosts of `explain` add up to its final_score."""

    result_handle: f.ResultHandle
    note_id: f.NoteId
    chunk_id: UUID | None = Field(
        description="The piece of the note's text that was found; null for a note whose text is gone."
    )
    rank: int = Field(description="The place among the results, from 1.")
    relevance: f.Relevance
    text: NoteTextNow
    explain: Explanation


class DroppedItem(Response):
    """A candidate that is not among the results: where it was dropped, why, and what was known of it by then."""

    note_id: f.NoteId
    chunk_id: f.ChunkId
    text: NoteTextNow
    stage: str = Field(description="The stage that dropped it.")
    reason_code: str = Field(description="Why, for programs.")
    reason: str = Field(description="Why, for people.")
    retrieval_score: f.RetrievalScore
    retrieval_rank: f.RetrievalRank
    dense_score: float | None = Field(
        description="The cosine of query and text; null when the dense search did not name it."
    )
    bm25_score: float | None = Field(description="The BM25 score; null when the word search did not name it.")
    rerank_score: float | None = Field(description="The reranker's score; null when it did not get so far.")
    final_score: float | None = Field(description="The final score; null when it did not get so far.")
    filter: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Of a candidate with the reason FILTERED: the filter that dropped it.",
    )


class ExplainResponse(Response):
    """One result, the results it is ranked among, and what is not among them.

    A note that is neither in `other_items` nor in `dropped` was no candidate: the index did not name it for the query.
    """

    trace: Trace = Field(description="The search.")
    item: TracedItem = Field(description="The result asked for.")
    other_items: list[TracedItem] = Field(description="The other results, by rank.")
    dropped: list[DroppedItem] = Field(description="The candidates that are no results.")


class TraceResponse(Response):
    """A whole trace: the results by rank, and the candidates that are none."""

    trace: Trace = Field(description="The search.")
    items: list[TracedItem] = Field(description="The results, by rank.")
    dropped: list[DroppedItem] = Field(description="The candidates that are no results.")


class TraceSummary(Response):
    """A traced search in a listing."""

    trace_id: f.TraceId
    query: str = Field(description="The query, with secrets blanked.")
    read_profile: f.ReadProfile
    filters: dict[str, Any] = Field(description="The filters of the search, with secrets blanked.")
    expansion_mode: str = Field(description="When queries are reworded.")
    candidate_count: int = Field(
        description="How many candidates were looked at, after fusion and the prefilter."
    )
    top_k: int = Field(description="How many results were asked for.")
    result_count: int = Field(description="How many results there were.")
    degraded: f.Degraded
    stages: list[StageTime] = Field(description="The stages, in the order they ran in.")
    created_at: datetime = Field(description="When the search was made.")


class TracesResponse(Response):
    """The searches of an agent, newest first."""

    items: list[TraceSummary] = Field(description="The searches.")
    next_cursor: f.NextCursor
