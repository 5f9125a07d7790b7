"""The part of the composition root that puts the search together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actors.cache_writer import CacheWriter
from actors.kernel import Channel, Supervisor
from actors.metrics_parts import Metrics
from actors.token_writer import TokenWriter
from elf.config.model import Config
from elf.config.optional import WEAK_BELOW
from elf.core.clock import Clock
from elf.core.scopes import ScopeRules
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.chunk_tokens import NOTE_CHUNK_TOKENS
from elf.families.notes.exact_search import ExactSearch
from elf.families.notes.ranking import NoteRanking, RankingRules
from elf.families.notes.reranking import Reranking, SnippetReranking, TokenReranking
from elf.families.notes.search import NoteSearch, SearchRules
from elf.families.notes.store import NoteStore
from elf.index.port import VectorIndex
from elf.indexing.fresh import FreshWrites
from elf.providers.factory import Providers
from elf.search.cache import AnswerCache, LatePut
from elf.search.expand import ExpansionRules, QueryExpander
from elf.search.fuse import FusionRules
from elf.search.guards import SearchProviders, guarded
from elf.search.late_rerank import LateReranker
from elf.search.rerank import CachedReranker
from elf.search.retrieve import CandidateRetrieval, RetrievalRules
from elf.search.token_store import TokenRow, TokenStore
from elf.search.trace import TraceSink

TOKEN_PUTS = 32  # searches whose token vectors wait to be stored
CACHE_PUTS = 256  # answers waiting to be written; more are not kept


@dataclass(frozen=True, kw_only=True)
class SearchParts:
    """Builds the search from the config and the parts that are there already."""

    config: Config
    database: Database
    reads: Database
    store: NoteStore
    note_queries: Queries
    search_queries: Queries
    index: VectorIndex
    providers: Providers
    scopes: ScopeRules
    fresh: FreshWrites
    clock: Clock
    trace: TraceSink
    metrics: Metrics
    tokens: TokenStore | None

    def note_search(self, supervisor: Supervisor) -> NoteSearch:
        """Return the search; the actors that it needs are added to the supervisor."""
        cache, puts = self._cache(supervisor)
        asked = guarded(self.config, self.providers, self.index)
        supervisor.add(asked.embedder)
        self.metrics.watch_breakers(asked.breakers)
        return NoteSearch(
            database=self.database,
            reads=self.reads,
            store=self.store,
            retrieval=self._retrieval(cache, asked),
            exactly=ExactSearch(
                database=self.reads,
                queries=self.note_queries,
                embedding_version=self.config.embedding_version,
            ).query,
            fresh=self.fresh,
            reranking=self._reranking(supervisor, cache, puts, asked),
            ranking=NoteRanking(self._ranking_rules(), self.scopes),
            scopes=self.scopes,
            rules=self._search_rules(),
            trace=self.trace,
            clock=self.clock,
        )

    def _cache(self, supervisor: Supervisor) -> tuple[AnswerCache | None, Channel[LatePut]]:
        puts: Channel[LatePut] = Channel("cache_puts", CACHE_PUTS, "drop")
        self.metrics.watch_channels(puts)
        if not self.config.search.cache.enabled:
            return None, puts
        cache = AnswerCache(
            database=self.database,
            queries=self.search_queries,
            clock=self.clock,
            max_payload_bytes=self.config.search.cache.max_payload_bytes,
        )
        supervisor.add(CacheWriter(cache, puts), needs=["database"])
        self.metrics.watch_cache(cache)
        return cache, puts

    def _retrieval(self, cache: AnswerCache | None, asked: SearchProviders) -> CandidateRetrieval:
        search, model = self.config.search, self.config.providers.llm_extractor
        expander = QueryExpander(
            chat=asked.chat,
            rules=ExpansionRules(
                mode=search.expansion.mode,
                max_queries=search.expansion.max_queries,
                include_original=search.expansion.include_original,
                min_candidates=search.dynamic.min_candidates,
                min_top_score=search.dynamic.min_top_score,
            ),
            cache=cache,
            material={
                "provider_id": model.provider_id,
                "model": model.model,
                "temperature": model.temperature,
                "expansion_version": search.cache.expansion_version,
            },
            ttl_days=search.cache.expansion_ttl_days,
        )
        fusion = search.fusion
        rules = RetrievalRules(
            expansion=search.expansion.mode,
            fusion=FusionRules(
                method=fusion.method,
                k=fusion.k,
                dense_weight=fusion.dense_weight,
                bm25_weight=fusion.bm25_weight,
            ),
            prefilter=search.prefilter.max_candidates,
            points_per_subject=search.rerank.chunks_per_note if search.rerank else 0,
        )
        return CandidateRetrieval(
            index=asked.index,
            embedder=asked.embedder,
            expander=expander,
            rules=rules,
        )

    def _reranking(
        self,
        supervisor: Supervisor,
        cache: AnswerCache | None,
        puts: Channel[LatePut],
        asked: SearchProviders,
    ) -> Reranking:
        rules, late = self.config.search.rerank, self.providers.late
        if rules is not None and late is not None and self.tokens is not None:
            made: Channel[Sequence[TokenRow]] = Channel("token_puts", TOKEN_PUTS, "drop")
            self.metrics.watch_channels(made)
            supervisor.add(
                TokenWriter(database=self.database, store=self.tokens, table=NOTE_CHUNK_TOKENS, puts=made),
                needs=["database"],
            )
            reranker = LateReranker(late=late, max_words=rules.max_words, later=made.send_nowait)
            return TokenReranking(reranker, self.tokens, length_weight=rules.length_weight)
        tells_relevance = rules is not None and rules.weak_below is not None
        return SnippetReranking(self._reranker(cache, puts, asked), tells_relevance=tells_relevance)

    def _reranker(
        self, cache: AnswerCache | None, puts: Channel[LatePut], asked: SearchProviders
    ) -> CachedReranker:
        provider, rules = self.config.providers.rerank, self.config.search.cache
        return CachedReranker(
            reranker=asked.reranker,
            cache=cache,
            material={
                "provider_id": provider.provider_id,
                "model": provider.model,
                "rerank_version": rules.rerank_version,
            },
            ttl_days=rules.rerank_ttl_days,
            later=puts.send_nowait,
        )

    def _ranking_rules(self) -> RankingRules:
        fusion, ranking = self.config.search.fusion, self.config.ranking
        return RankingRules(
            rerank_weight=fusion.rerank_weight,
            retrieval_weight=fusion.retrieval_weight,
            tie_breaker_weight=ranking.tie_breaker_weight,
            recency_tau_days=ranking.recency_tau_days,
        )

    def _search_rules(self) -> SearchRules:
        search, memory = self.config.search, self.config.memory
        return SearchRules(
            candidate_k=memory.candidate_k,
            top_k=memory.top_k,
            budget_s=None if search.budget is None else search.budget.total_ms / 1000.0,
            expansion_mode=search.expansion.mode,
            trace_days=search.explain.retention_days,
            weak_below=self._weak_below(),
            min_relevance=(search.rerank.min_relevance or None) if search.rerank else None,
            snapshot=self._snapshot(),
        )

    def _weak_below(self) -> float | None:
        rules = self.config.search.rerank
        if rules is None:
            return None
        return WEAK_BELOW if rules.weak_below is None and self.config.compares_tokens else rules.weak_below

    def _snapshot(self) -> dict[str, Any]:
        """Return what of the config an answer depends on."""
        providers = self.config.providers
        return {
            "search": self.config.search.model_dump(mode="json"),
            "ranking": self.config.ranking.model_dump(mode="json"),
            "memory": self.config.memory.model_dump(mode="json", include={"candidate_k", "top_k"}),
            "embedding_version": self.config.embedding_version,
            "rerank_model": f"{providers.rerank.provider_id}:{providers.rerank.model}",
        }
