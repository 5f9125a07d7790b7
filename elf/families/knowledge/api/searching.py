"""Search, recall, context, their explanation, and the statistics: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import AfterValidator, Field

from elf.api.bodies import WHOLE, NulDropped, Request, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f
from elf.families.knowledge.api import rows
from elf.families.knowledge.api.listing import Page
from elf.families.knowledge.api.writing import InTenant
from elf.families.knowledge.rules.searchable_text import without_nul

TAG: Final = "knowledge: finding"


class Search(InTenant):
    """What to look for, where and how."""

    query: f.Query
    types: (
        Annotated[list[m.MemoryType], Field(max_length=3, description="Which kinds; null is all.")] | None
    ) = None
    scope: f.ScopeGiven | None = None
    mode: (
        Annotated[m.SearchMode, Field(description="semantic, keyword or hybrid; null: as the config says.")]
        | None
    ) = None
    limit: f.Limit = 10
    min_confidence: f.MinConfidence = 0.2


class Recall(InTenant):
    """What a situation is about."""

    topic: f.Query
    scope: f.ScopeGiven | None = None
    limit: f.Limit = 10
    min_confidence: f.MinConfidence = 0.2


class Context(InTenant):
    """For which prompt of which agent, and how long at most."""

    trigger_prompt: Annotated[
        str,
        Field(max_length=m.MAX_PROMPT_CHARS, description="What the agent is about to work on."),
        AfterValidator(without_nul),
        NulDropped(),
    ]
    butler: f.ButlerGiven
    token_budget: (
        Annotated[int, Field(ge=5, le=100_000, description="Most tokens, of 4 characters; null: as the config says."),
                  WHOLE]
        | None
    ) = None  # fmt: skip


class Found(Response):
    """How a result was found: null where a way was not gone, or did not find it."""

    result_handle: f.ResultHandle
    similarity: float | None = Field(description="The cosine of query and memory.")
    rank: float | None = Field(description="ts_rank of the words of the query in it.")
    semantic_rank: int | None = Field(description="Its place by meaning, from 1.")
    keyword_rank: int | None = Field(description="Its place by words, from 1.")
    rrf_score: float | None = Field(
        description="1 / (60 + place), added over both ways; null for one way alone."
    )
    score: float = Field(description="What results are ordered by.")
    terms: dict[str, float] = Field(description="What the score is the sum of.")


class FoundEpisode(rows.Episode, Found):
    """An episode that was found."""


class FoundFact(rows.Fact, Found):
    """A fact that was found."""


class FoundRule(rows.Rule, Found):
    """A rule that was found."""


class Recalled(Found):
    """A result of recall."""

    composite_score: float = Field(description="The score.")


class RecalledFact(rows.Fact, Recalled):
    """A fact that was recalled."""


class RecalledRule(rows.Rule, Recalled):
    """A rule that was recalled."""


class SearchAnswer(Response):
    """The results, best first."""

    trace_id: UUID
    items: list[Annotated[FoundEpisode | FoundFact | FoundRule, Field(discriminator="memory_type")]]
    degraded: f.Degraded


class RecallAnswer(Response):
    """The results, best first."""

    trace_id: UUID
    items: list[Annotated[RecalledFact | RecalledRule, Field(discriminator="memory_type")]]
    degraded: f.Degraded


class ContextAnswer(Response):
    """The block of text, which ids stand in it, and what was away."""

    context: str
    facts: list[UUID]
    rules: list[UUID]
    degraded: f.Degraded


class Explain(InTenant):
    result_handle: f.ResultHandle


class TraceSummary(Response):
    """A search or a recall in a listing."""

    trace_id: UUID
    kind: str = Field(description="search or recall.")
    query: str = Field(description="With secrets blanked.")
    limit: int = Field(description="How many results were asked for.")
    candidate_count: int
    result_count: int
    degraded: f.Degraded
    stages: dict[str, float] = Field(description="Milliseconds that each took.")
    created_at: datetime


class TracedSearch(TraceSummary):
    """A search or a recall as it was carried out."""

    scopes: list[str]
    settings: dict[str, Any] = Field(
        description="What the answer depends on: mode, least confidence, weights."
    )
    expires_at: datetime


class TracedItem(Response):
    result_handle: f.ResultHandle
    memory_type: m.MemoryType | None = Field(description="Null when the memory is gone.")
    memory_id: f.MemoryId
    rank: int
    score: float
    terms: dict[str, float]
    found_by: list[str] = Field(description="semantic, keyword or both.")
    content: str | None = Field(description="What it says now; null when it is gone.")


class DroppedMemory(Response):
    memory_id: f.MemoryId
    content: str | None
    reason_code: str = Field(description="Why, for programs.")
    reason: str = Field(description="Why, for people.")
    score: float | None


class Explanation(Response):
    trace: TracedSearch
    item: TracedItem
    other_items: list[TracedItem]
    dropped: list[DroppedMemory]


class Traces(Response):
    items: list[TraceSummary]
    next_cursor: f.NextCursor


class Stats(InTenant):
    scope: f.ScopeGiven | None = None


class EpisodeStats(Response):
    total: int
    unconsolidated: int
    backlog_age_hours: float | None
    retrying: int
    dead_letter: int


class FactStats(Response):
    active: int
    fading: int
    superseded: int
    expired: int
    retracted: int


class RuleStats(Response):
    candidate: int
    established: int
    proven: int
    anti_pattern: int
    forgotten: int


class StatsAnswer(Response):
    episodes: EpisodeStats
    facts: FactStats
    rules: RuleStats


def _post(
    name: str, path: str, summary: str, request: type[Request], response: type[Response], **more: Any
) -> Operation:
    return Operation(
        name, "POST", f"/v1/knowledge/{path}", summary, request, response,
        tag=TAG, text="any", errors=(ScopeDenied,), **more,
    )  # fmt: skip


SEARCH: Final = _post("search_knowledge", "search", "Find memories", Search, SearchAnswer, reads=True)
RECALL: Final = _post(
    "recall", "recall", "Find what matters most, which counts as a reference", Recall, RecallAnswer
)
CONTEXT: Final = _post("memory_context", "context", "Put what is known into words for a prompt", Context, ContextAnswer,
                       reads=True)  # fmt: skip
EXPLAIN: Final = Operation(
    "explain_result", "GET", "/v1/knowledge/explain", "Explain one result", Explain, Explanation,
    tag=TAG, text="any", errors=(NotFound,),
)  # fmt: skip
TRACES: Final = Operation(
    "knowledge_traces", "GET", "/v1/knowledge/traces", "List one's searches, newest first", Page, Traces,
    tag=TAG, text="any",
)  # fmt: skip
STATS: Final = Operation(
    "knowledge_stats", "GET", "/v1/knowledge/stats", "Count memories by state", Stats, StatsAnswer,
    tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip

FINDING: Final = (SEARCH, RECALL, CONTEXT, EXPLAIN, TRACES, STATS)
