"""What the searches of all families are put together from: the models behind breakers, the cache, and the traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from elf.config.model import Config
from elf.core.measures import Measures
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.providers.factory import Providers
from elf.providers.port import LateInteraction
from elf.search.cache import AnswerCache, LatePut
from elf.search.expand import ExpansionRules, QueryExpander
from elf.search.fuse import FusionRules
from elf.search.guards import GuardedIndex, SearchModels, guarded_index, guarded_models
from elf.search.late_rerank import LateReranker
from elf.search.rerank import CachedReranker
from elf.search.retrieve import CandidateRetrieval, RetrievalRules
from elf.search.token_store import TokenPut, TokenRow, TokenTable
from elf.search.trace import TraceSink


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchToolkit:
    """Each part is one for the whole process, so families share calls, breakers, answers and what is kept of them.

    `late` compares tokens, where the config has the packaged model rerank; `reranker` is asked otherwise. `trace` takes
    what a search did. What is passed to `later_tokens` is stored behind the search's back.
    """

    config: Config
    models: SearchModels
    expander: QueryExpander
    reranker: CachedReranker
    late: LateInteraction | None
    trace: TraceSink
    measures: Measures
    later_tokens: Callable[[TokenPut], object]

    def retrieval(self, index: VectorIndex, space: Space) -> CandidateRetrieval:
        """Return what finds candidates in the index of a space."""
        return CandidateRetrieval(
            index=self._guarded(index, space),
            embedder=self.models.embedder,
            expander=self.expander,
            rules=_retrieval_rules(self.config),
        )

    def late_reranker(self, table: TokenTable) -> LateReranker | None:
        """Return what reranks by token vectors, and stores those it makes in a table; or None."""
        rules = self.config.search.rerank
        if rules is None or self.late is None:
            return None
        return LateReranker(late=self.late, max_words=rules.max_words, later=partial(self._keep, table))

    def _guarded(self, index: VectorIndex, space: Space) -> GuardedIndex:
        guarded = guarded_index(index, space)
        self.models.breakers.append(guarded.breaker)
        return guarded

    def _keep(self, table: TokenTable, rows: Sequence[TokenRow]) -> None:
        self.later_tokens(TokenPut(table, rows))


def search_toolkit(
    config: Config,
    providers: Providers,
    *,
    cache: AnswerCache | None,
    later_answer: Callable[[LatePut], object],
    later_tokens: Callable[[TokenPut], object],
    trace: TraceSink,
    measures: Measures,
) -> SearchToolkit:
    """Put the toolkit together. `later_answer` is handed what is to be cached; without a cache nothing is kept."""
    models = guarded_models(config, providers)
    return SearchToolkit(
        config=config,
        models=models,
        expander=_expander(config, models, cache),
        reranker=_reranker(config, models, cache, later_answer),
        late=providers.late,
        trace=trace,
        measures=measures,
        later_tokens=later_tokens,
    )


def _expander(config: Config, models: SearchModels, cache: AnswerCache | None) -> QueryExpander:
    search, model = config.search, config.providers.llm_extractor
    return QueryExpander(
        chat=models.chat,
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


def _reranker(
    config: Config, models: SearchModels, cache: AnswerCache | None, later: Callable[[LatePut], object]
) -> CachedReranker:
    provider, rules = config.providers.rerank, config.search.cache
    return CachedReranker(
        reranker=models.reranker,
        cache=cache,
        material={
            "provider_id": provider.provider_id,
            "model": provider.model,
            "rerank_version": rules.rerank_version,
        },
        ttl_days=rules.rerank_ttl_days,
        later=later,
    )


def _retrieval_rules(config: Config) -> RetrievalRules:
    search = config.search
    fusion = search.fusion
    return RetrievalRules(
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
