"""The bodies of explaining a search: its trace, its results, and the candidates that are none."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from elf.families.notes.requests import Explanation, Identifier, InContext, Request, Response

MAX_PAGE = 200


class ExplainRequest(Request):
    """Without a context the handle alone is the capability; with one, a search outside it is unknown."""

    result_handle: UUID
    tenant_id: Identifier | None = None
    project_id: Identifier | None = None
    agent_id: Identifier | None = None


class TraceRequest(InContext):
    """A trace holds the words of an agent's query, so only that agent's context finds it."""

    trace_id: UUID


class TracesRequest(InContext):
    """The traces of one agent."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: str | None = None


class StageTime(Response):
    """How long a stage of the search took."""

    name: str
    ms: float


class Trace(Response):
    """A search. `degraded` names the parts that could not help; `stages` are in the order they ran in."""

    trace_id: UUID
    tenant_id: str
    project_id: str
    agent_id: str
    read_profile: str
    query: str
    expansion_mode: Literal["off", "always", "dynamic"]
    expanded_queries: list[str]
    allowed_scopes: list[str]
    candidate_count: int
    top_k: int
    config_snapshot: dict[str, Any]
    trace_version: int
    created_at: datetime
    expires_at: datetime
    degraded: list[str]
    stages: list[StageTime]


class TracedItem(Response):
    """One result of a traced search; the boosts of `explain` add up to its final_score."""

    result_handle: UUID
    note_id: UUID
    chunk_id: UUID | None
    rank: int
    explain: Explanation


class DroppedItem(Response):
    """A candidate that is not among the results: where it was dropped, why, and what was known of it by then."""

    note_id: UUID
    chunk_id: UUID
    stage: str
    reason_code: str
    reason: str
    retrieval_score: float | None
    retrieval_rank: int | None
    dense_score: float | None
    bm25_score: float | None
    rerank_score: float | None
    final_score: float | None


class ExplainResponse(Response):
    """One result, the results it is ranked among, and what is not among them.

    A note that is neither in `other_items` nor in `dropped` was no candidate: the index did not name it for the query.
    """

    trace: Trace
    item: TracedItem
    other_items: list[TracedItem]
    dropped: list[DroppedItem]


class TraceResponse(Response):
    """A whole trace: the results by rank, and the candidates that are none."""

    trace: Trace
    items: list[TracedItem]
    dropped: list[DroppedItem]


class TraceSummary(Response):
    """A traced search in a listing."""

    trace_id: UUID
    query: str
    read_profile: str
    expansion_mode: str
    candidate_count: int
    top_k: int
    result_count: int
    degraded: list[str]
    stages: list[StageTime]
    created_at: datetime


class TracesResponse(Response):
    """The searches of an agent, newest first."""

    items: list[TraceSummary]
    next_cursor: str | None
