"""What a search did, kept to explain its results: why this note, why at this rank, why not that one.

A search only builds a trace and hands it to a sink. Writing it as JSON, and storing it, is the trace writer's work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from elf.core.secrets import redacting, redacting_json
from elf.core.slices import Slices, at_once
from elf.search.fuse import Candidate

TRACE_VERSION: Final = 1

DropStage = Literal["prefilter", "revalidation", "aggregation", "relevance", "top_k"]
DropReason = Literal[
    "BEYOND_CANDIDATE_K",
    "BEYOND_CHUNKS_PER_NOTE",
    "BEYOND_PREFILTER",
    "NOT_LIVE",
    "FILTERED",
    "BETTER_CHUNK",
    "BELOW_MIN_RELEVANCE",
    "BELOW_TOP_K",
]

DROP_STAGES: Final[Mapping[DropReason, DropStage]] = {
    "BEYOND_CANDIDATE_K": "prefilter",
    "BEYOND_CHUNKS_PER_NOTE": "prefilter",
    "BEYOND_PREFILTER": "prefilter",
    "NOT_LIVE": "revalidation",
    "FILTERED": "revalidation",
    "BETTER_CHUNK": "aggregation",
    "BELOW_MIN_RELEVANCE": "relevance",
    "BELOW_TOP_K": "top_k",
}


class DroppedCandidate(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """A candidate that is not among the results, with what was known of it when it was dropped (else None).

    It is a point of the index, and a part of the subject: of a note, say.
    `filter` is the name of the filter that dropped it.

    Its JSON is an array in the order of the fields: a trace holds many, and names would be most of it.
    """

    point_id: UUID
    subject_id: UUID
    stage: DropStage
    reason: DropReason
    retrieval_score: float | None = None
    retrieval_rank: int | None = None
    dense_score: float | None = None
    bm25_score: float | None = None
    rerank_score: float | None = None
    final_score: float | None = None
    filter: str | None = None


def dropped(
    candidate: Candidate,
    reason: DropReason,
    *,
    rerank_score: float | None = None,
    final_score: float | None = None,
    filter: str | None = None,
) -> DroppedCandidate:
    """Return a candidate as dropped for a reason."""
    return DroppedCandidate(
        point_id=candidate.point_id,
        subject_id=candidate.owner_id,
        stage=DROP_STAGES[reason],
        reason=reason,
        retrieval_score=candidate.score,
        retrieval_rank=candidate.rank,
        dense_score=candidate.dense_score,
        bm25_score=candidate.bm25_score,
        rerank_score=rerank_score,
        final_score=final_score,
        filter=filter,
    )


class TraceItem(msgspec.Struct, frozen=True, kw_only=True):
    """One result: what it is (its subject), by which point of the index it was found, and how it scored.

    `item_id` is its result_handle; `boosts` are {"name", "score"} and add up to the final score. The columns that keep
    a subject and a point are named after those of notes.
    """

    item_id: UUID
    subject_id: UUID = msgspec.field(name="note_id")
    point_id: UUID = msgspec.field(name="chunk_id")
    rank: int
    retrieval_score: float | None
    retrieval_rank: int | None
    rerank_score: float
    tie_breaker_score: float
    final_score: float
    relevance: float | None
    boosts: Sequence[Mapping[str, Any]]
    matched_terms: Sequence[str]
    matched_fields: Sequence[str]

    @classmethod
    def of(cls, item: Mapping[str, Any], rank: int, *, subject_id: UUID, point_id: UUID) -> TraceItem:
        """Return the trace of an item of a search answer (result_handle, relevance, explain); rank from 1."""
        return cls(
            item_id=item["result_handle"],
            subject_id=subject_id,
            point_id=point_id,
            rank=rank,
            relevance=item["relevance"],
            **item["explain"],
        )


class SearchTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One search in a family of memory. `stages` are pairs of a stage and its milliseconds, in the order they ran in.

    `filters` are those that were given, as JSON.
    """

    trace_id: UUID
    family: str
    tenant_id: str
    project_id: str
    agent_id: str
    read_profile: str
    query: str
    expansion_mode: Literal["off", "always", "dynamic"]
    expanded_queries: Sequence[str]
    allowed_scopes: Sequence[str]
    filters: Mapping[str, Any]
    candidate_count: int
    top_k: int
    config_snapshot: Mapping[str, Any]
    created_at: datetime
    expires_at: datetime
    items: Sequence[TraceItem]
    dropped: Sequence[DroppedCandidate]
    degraded: Sequence[str]
    stages: Sequence[tuple[str, float]]
    trace_version: int = TRACE_VERSION


TraceSink = Callable[[SearchTrace], object]
"""Takes a trace and never blocks or raises; what it cannot take, it drops and counts."""


def redacted(trace: SearchTrace) -> SearchTrace:
    """Return the trace with secrets redacted in queries and filters, and no matched terms that were part of one."""
    return at_once(redacting_trace(trace))


def redacting_trace(trace: SearchTrace) -> Slices[SearchTrace]:
    """Do what `redacted` does, in slices."""
    query = yield from redacting(trace.query)
    items = (
        trace.items if query == trace.query else [_without_lost_terms(item, query) for item in trace.items]
    )
    # The original is mostly the only query, and need not be read twice.
    queries = []
    for text in trace.expanded_queries:
        shown = query if text == trace.query else (yield from redacting(text))
        queries.append(shown)
    filters = yield from redacting_json(trace.filters)
    return msgspec.structs.replace(trace, query=query, expanded_queries=queries, items=items, filters=filters)


def _without_lost_terms(item: TraceItem, query: str) -> TraceItem:
    terms = [term for term in item.matched_terms if term in query]
    return msgspec.structs.replace(item, matched_terms=terms)


def reason_in_words(
    candidate: DroppedCandidate, *, top_k: int, last_score: float | None, ranks: Mapping[UUID, int]
) -> str:
    """Say why a candidate is not among the results.

    `last_score` is the final score of the last result, if there is one; `ranks` are those of the results, by subject.
    """
    match candidate.reason:
        case "BEYOND_CANDIDATE_K":
            return f"number {candidate.retrieval_rank} after fusion, beyond the candidates asked for"
        case "BEYOND_CHUNKS_PER_NOTE":
            return f"number {candidate.retrieval_rank} after fusion, behind other parts of the same note"
        case "BEYOND_PREFILTER":
            return f"number {candidate.retrieval_rank} after fusion, beyond what the prefilter keeps for the reranker"
        case "NOT_LIVE":
            return (
                "the index named it, but Postgres had no such text that this search may read: it was deleted, has "
                "expired, was rewritten, is out of scope or was embedded by another model"
            )
        case "FILTERED":
            return (
                f"the index named it, but by the note that Postgres has now, the filter {candidate.filter} does not"
                " hold for it: it has just changed, or it has more in its source_ref than the index knows"
            )
        case "BETTER_CHUNK":
            rank = ranks.get(candidate.subject_id)
            place = "also not among the results" if rank is None else f"result number {rank}"
            return f"another part of the same note scored higher; that note is {place}"
        case "BELOW_MIN_RELEVANCE":
            return "its relevance is below the least that was asked for"
        case "BELOW_TOP_K":
            words = f"scored {_shown(candidate.final_score)}, the last of the {top_k} results {_shown(last_score)}"
            tied = candidate.final_score == last_score
            return words + "; among equals the scope, the rank after fusion and the id decide" * tied


def _shown(score: float | None) -> str:
    return "nothing" if score is None else f"{score:.6f}"
