"""Puts the search of conversations together, from the config and the parts that all families share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from elf.db.queries import Queries
from elf.families.conversations.api.search import SearchType
from elf.families.conversations.finding.bare import BareSearch
from elf.families.conversations.finding.by_both import BothWays
from elf.families.conversations.finding.by_meaning import MeaningSearch
from elf.families.conversations.finding.by_words import WordSearch
from elf.families.conversations.finding.corpus import CHUNK_TOKENS, SPACE
from elf.families.conversations.finding.passages import Passages
from elf.families.conversations.finding.ranking import RankingRules
from elf.families.conversations.finding.search import ConversationSearch, Search
from elf.ground import Ground
from elf.index.port import VectorIndex
from elf.search.reranking import open_reranking
from elf.search.toolkit import SearchToolkit


class Searches(NamedTuple):
    """The search that answers callers, and the one for somebody else who compares what it finds."""

    full: ConversationSearch
    bare: BareSearch


def open_searches(ground: Ground, search: SearchToolkit, index: VectorIndex, queries: Queries) -> Searches:
    """Return both searches; `queries` are those of the family."""
    config, database = ground.config, ground.database
    budget_s = None if config.search.budget is None else config.search.budget.total_ms / 1000.0
    embedder = search.models.embedder
    passages = Passages(database, queries, ground.tokens, embedding_version=embedder.version)
    words = WordSearch(database, queries)
    retrieval = search.retrieval(index, SPACE)
    both = BothWays(
        retrieval=retrieval,
        passages=passages,
        words=words,
        reranking=open_reranking(config, search, ground.tokens, CHUNK_TOKENS),
        rules=RankingRules(
            rerank_weight=config.search.fusion.rerank_weight,
            retrieval_weight=config.search.fusion.retrieval_weight,
        ),
        candidates=config.memory.candidate_k,
    )
    meaning = MeaningSearch(index=retrieval.index, embedder=embedder, passages=passages)
    ways: Mapping[SearchType, Search] = {"auto": both, "semantic": meaning, "fulltext": words}
    bare = BareSearch(
        retrieval=retrieval, passages=passages, words=words, candidates=config.memory.candidate_k
    )
    return Searches(
        ConversationSearch(database, queries, ways, measures=search.measures, budget_s=budget_s), bare
    )
