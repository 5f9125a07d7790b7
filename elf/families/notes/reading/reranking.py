"""How well each candidate answers the query: asked of the reranker, whichever it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Protocol

from elf.families.notes.reading.ranking import FoundChunk, RerankScore
from elf.providers.port import LateScore
from elf.search.late_rerank import LateDocument, LateReranker
from elf.search.rerank import CachedReranker
from elf.search.token_store import TokenStore

_SHORT_CHARS: Final = 240  # texts up to this length have no handicap


class Reranking(Protocol):
    """Scores candidates against a query; `tells_relevance` says whether the scores come with a relevance."""

    @property
    def tells_relevance(self) -> bool: ...

    async def scores(self, query: str, found: Sequence[FoundChunk]) -> list[RerankScore] | None:
        """Return a score for each candidate, or None when there are none to be had."""
        ...


class SnippetReranking:
    """Has the text around each candidate reranked. `tells_relevance`: whether the scores may be compared."""

    def __init__(self, reranker: CachedReranker, *, tells_relevance: bool) -> None:
        self._reranker = reranker
        self.tells_relevance = tells_relevance

    async def scores(self, query: str, found: Sequence[FoundChunk]) -> list[RerankScore] | None:
        """Return a score for each candidate; see the port."""
        scores = await self._reranker.scores(
            query,
            [chunk.snippet for chunk in found],
            [(chunk.candidate.point_id, chunk.row["updated_at"]) for chunk in found],
        )
        if scores is None:
            return None
        return [RerankScore(score, relevance=score if self.tells_relevance else None) for score in scores]


class TokenReranking:
    """Compares the tokens of the candidates' own texts with those of the query.

    `length_weight` is taken off a candidate for each time that its note is e times as long as 240 characters: the best
    of more words fits better by chance.
    """

    tells_relevance = True

    def __init__(self, reranker: LateReranker, store: TokenStore, *, length_weight: float) -> None:
        self._reranker = reranker
        self._store = store
        self._length_weight = length_weight

    async def scores(self, query: str, found: Sequence[FoundChunk]) -> list[RerankScore] | None:
        """Return a score for each candidate, the lowest of all for those that were not compared; see the port."""
        documents = [
            LateDocument(
                chunk.candidate.point_id, text := chunk.own_text, self._store.words(chunk.row, text),
                self._handicap(chunk), self._store.read(chunk.row, text),
            )
            for chunk in found
        ]  # fmt: skip
        scores = await self._reranker.scores(query, documents)
        if not scores:
            return None if scores is None else []
        lowest = min((score for score in scores if score is not None), key=lambda score: score.score)
        beyond = _read(lowest)._replace(relevance=None)
        return [beyond if score is None else _read(score) for score in scores]

    def _handicap(self, chunk: FoundChunk) -> float:
        return self._length_weight * math.log(max(1.0, chunk.row["note_chars"] / _SHORT_CHARS))


def _read(score: LateScore) -> RerankScore:
    return RerankScore(score.unhandicapped, score.score - score.unhandicapped, score.relevance)
