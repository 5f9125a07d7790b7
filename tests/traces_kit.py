"""Traces as searches make them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from elf.search.fuse import Candidate
from elf.search.trace import DroppedCandidate, DropReason, SearchTrace, TraceItem, dropped
from tests.notes_kit import CONTEXT, NOW


def an_item(rank: int = 1, *, note_id: UUID | None = None, **fields: Any) -> TraceItem:
    """A result whose boosts add up to its final score."""
    rerank, retrieval, recency = 0.9 / (rank + 0.7), 0.1 / rank, 0.0301234567891234 / rank
    boosts = [("rerank", rerank), ("retrieval", retrieval), ("recency_importance", recency)]
    values: dict[str, Any] = {
        "item_id": uuid4(), "subject_id": note_id or uuid4(), "point_id": uuid4(), "rank": rank,
        "retrieval_score": retrieval * 10, "retrieval_rank": rank, "rerank_score": rerank / 0.9,
        "tie_breaker_score": recency, "final_score": rerank + retrieval + recency, "relevance": 0.61,
        "boosts": [{"name": name, "score": score} for name, score in boosts],
        "matched_terms": ["tea"], "matched_fields": ["text"],
    }  # fmt: skip
    return TraceItem(**(values | fields))


def a_candidate(rank: int = 1, *, note_id: UUID | None = None) -> Candidate:
    return Candidate(uuid4(), note_id or uuid4(), 1.0 / rank, rank, 0.5 / rank, None)


def a_dropped(reason: DropReason = "BELOW_TOP_K", rank: int = 13, **scores: Any) -> DroppedCandidate:
    return dropped(a_candidate(rank), reason, **scores)


def a_trace(**fields: Any) -> SearchTrace:
    values: dict[str, Any] = {
        "trace_id": uuid4(), "family": "notes", "tenant_id": CONTEXT.tenant_id, "project_id": CONTEXT.project_id,
        "agent_id": CONTEXT.agent_id, "read_profile": "all_scopes", "query": "hot tea", "expansion_mode": "off",
        "expanded_queries": ["hot tea"], "allowed_scopes": ["agent_private", "project_shared", "org_shared"],
        "filters": {}, "candidate_count": 60, "top_k": 12,
        "config_snapshot": {"fusion": {"method": "minmax", "k": 60}, "candidate_k": 60},
        "created_at": NOW, "expires_at": NOW + timedelta(days=7), "items": [an_item(1), an_item(2)],
        "dropped": [a_dropped(rerank_score=0.25, final_score=0.2)], "degraded": [],
        "stages": [("embed", 1.5), ("index", 2.25)],
    }  # fmt: skip
    return SearchTrace(**(values | fields))
