"""Puts the search for notes together, from the config and the parts that all families share."""

from __future__ import annotations

from typing import Any

from elf.config.model import Config
from elf.config.optional import WEAK_BELOW
from elf.core.scopes import ScopeRules
from elf.db.queries import Queries
from elf.families.notes.keeping.chunk_tokens import NOTE_CHUNK_TOKENS
from elf.families.notes.keeping.space import NOTES
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.reading.exact_search import ExactSearch
from elf.families.notes.reading.finding import NoteFinding
from elf.families.notes.reading.ranking import NoteRanking, RankingRules
from elf.families.notes.reading.search import NoteSearch, SearchRules
from elf.ground import Ground
from elf.index.port import VectorIndex
from elf.search.reranking import open_reranking
from elf.search.toolkit import SearchToolkit


def open_finding(
    ground: Ground, search: SearchToolkit, index: VectorIndex, store: NoteStore, queries: Queries
) -> NoteFinding:
    """Return what finds chunks; `queries` are those of sql/notes."""
    version = ground.config.embedding_version
    exactly = ExactSearch(database=ground.reads, queries=queries, embedding_version=version)
    return NoteFinding(
        database=ground.database,
        reads=ground.reads,
        store=store,
        retrieval=search.retrieval(index, NOTES),
        exactly=exactly.query,
        fresh=ground.fresh,
    )


def open_search(
    ground: Ground, search: SearchToolkit, finding: NoteFinding, store: NoteStore, scopes: ScopeRules
) -> NoteSearch:
    """Return the search."""
    config = ground.config
    return NoteSearch(
        database=ground.database,
        store=store,
        finding=finding,
        reranking=open_reranking(config, search, ground.tokens, NOTE_CHUNK_TOKENS),
        ranking=NoteRanking(_ranking_rules(config), scopes),
        scopes=scopes,
        rules=_search_rules(config),
        trace=search.trace,
        clock=ground.clock,
    )


def _ranking_rules(config: Config) -> RankingRules:
    fusion, ranking = config.search.fusion, config.ranking
    return RankingRules(
        rerank_weight=fusion.rerank_weight,
        retrieval_weight=fusion.retrieval_weight,
        tie_breaker_weight=ranking.tie_breaker_weight,
        recency_tau_days=ranking.recency_tau_days,
    )


def _search_rules(config: Config) -> SearchRules:
    search, memory = config.search, config.memory
    return SearchRules(
        candidate_k=memory.candidate_k,
        top_k=memory.top_k,
        budget_s=None if search.budget is None else search.budget.total_ms / 1000.0,
        expansion_mode=search.expansion.mode,
        trace_days=search.explain.retention_days,
        weak_below=_weak_below(config),
        min_relevance=(search.rerank.min_relevance or None) if search.rerank else None,
        snapshot=_snapshot(config),
    )


def _weak_below(config: Config) -> float | None:
    rules = config.search.rerank
    if rules is None:
        return None
    return WEAK_BELOW if rules.weak_below is None and config.compares_tokens else rules.weak_below


def _snapshot(config: Config) -> dict[str, Any]:
    """Return what of the config an answer depends on."""
    providers = config.providers
    return {
        "search": config.search.model_dump(mode="json"),
        "ranking": config.ranking.model_dump(mode="json"),
        "memory": config.memory.model_dump(mode="json", include={"candidate_k", "top_k"}),
        "embedding_version": config.embedding_version,
        "rerank_model": f"{providers.rerank.provider_id}:{providers.rerank.model}",
    }
