"""From candidates that Postgres vouches for to the best notes, with every term of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from elf.core.scopes import ScopeRules
from elf.search.boost import recency_importance
from elf.search.fuse import Candidate
from elf.search.reranking import Passage, RerankScore

# The terms of a final score.
RERANK = "rerank"
LENGTH = "length"
RETRIEVAL = "retrieval"
RECENCY_IMPORTANCE = "recency_importance"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRules:
    """What the config says about the final score; weights multiply scores of 0 to 1."""

    rerank_weight: float
    retrieval_weight: float
    tie_breaker_weight: float
    recency_tau_days: float


class FoundChunk(NamedTuple):
    """A candidate that Postgres vouches for: its row of `read_candidates`, the chunk's own text and that around it.

    Few candidates become items, so the row's fields are read when they are needed.
    """

    candidate: Candidate
    row: Mapping[str, Any]
    own_text: str
    snippet: str

    @classmethod
    def of(cls, row: Mapping[str, Any], candidate: Candidate) -> FoundChunk:
        own_text: str = row["text"]
        text_around: str | None = row["text_around"]
        return cls(candidate, row, own_text, own_text if text_around is None else text_around)

    @property
    def passage(self) -> Passage:
        """It as the reranker sees it."""
        row = self.row
        return Passage(
            self.candidate.point_id, self.own_text, self.snippet, row["note_chars"], row["updated_at"], row
        )


class Scored(NamedTuple):
    """A found chunk with its final score, the sum of `boosts`: its terms by name, in the order they are told in."""

    found: FoundChunk
    rerank_score: float
    relevance: float | None
    boosts: Mapping[str, float]
    final: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best chunk of each of the best notes, and what is not among them.

    That is other chunks of a note, notes of too little relevance, and later notes.
    """

    best: Sequence[Scored]
    other_chunks: Sequence[Scored]
    irrelevant: Sequence[Scored]
    below: Sequence[Scored]

    @property
    def relevance(self) -> float | None:
        """The relevance of the most relevant of the best notes; None when it is not known of any."""
        return max((entry.relevance for entry in self.best if entry.relevance is not None), default=None)


class NoteRanking:
    """Scores and orders (section 13, steps 13 and 14)."""

    def __init__(self, rules: RankingRules, scopes: ScopeRules) -> None:
        self._rules = rules
        self._scopes = scopes

    def rank(
        self,
        found: Sequence[FoundChunk],
        scores: Sequence[RerankScore] | None,
        *,
        now: datetime,
        top_k: int,
        min_relevance: float | None = None,
    ) -> Ranked:
        """Order the chunks, of each note only the best, and cut after `top_k` notes.

        `scores` are the reranker's, one a chunk; without them the fused score takes their place and their weight, and
        no relevance is known. Notes that are known to have less than `min_relevance` are left out.
        """
        scored = self._without_reranker(found, now) if scores is None else self._reranked(found, scores, now)
        ordered = sorted(scored, key=self._order)
        best: dict[UUID, Scored] = {}
        for entry in ordered:
            best.setdefault(entry.found.row["note_id"], entry)
        other_chunks = [entry for entry in ordered if best[entry.found.row["note_id"]] is not entry]
        relevant = [entry for entry in best.values() if not _is_below(entry, min_relevance)]
        irrelevant = [entry for entry in best.values() if _is_below(entry, min_relevance)]
        return Ranked(relevant[:top_k], other_chunks, irrelevant, relevant[top_k:])

    def _reranked(
        self, found: Sequence[FoundChunk], scores: Sequence[RerankScore], now: datetime
    ) -> list[Scored]:
        rerank_weight, retrieval_weight = self._rules.rerank_weight, self._rules.retrieval_weight
        scored = []
        for chunk, (score, length, relevance) in zip(found, scores, strict=True):
            boosts = {RERANK: rerank_weight * score}
            if length:
                boosts[LENGTH] = rerank_weight * length
            if retrieval_weight > 0.0:
                boosts[RETRIEVAL] = retrieval_weight * chunk.candidate.score
            boosts[RECENCY_IMPORTANCE] = self._tie_breaker(chunk, now)
            scored.append(Scored(chunk, score, relevance, boosts, sum(boosts.values())))
        return scored

    def _without_reranker(self, found: Sequence[FoundChunk], now: datetime) -> list[Scored]:
        weight = self._rules.rerank_weight + self._rules.retrieval_weight
        scored = []
        for chunk in found:
            fused = chunk.candidate.score
            boosts = {RETRIEVAL: weight * fused, RECENCY_IMPORTANCE: self._tie_breaker(chunk, now)}
            scored.append(Scored(chunk, fused, None, boosts, sum(boosts.values())))
        return scored

    def _tie_breaker(self, chunk: FoundChunk, now: datetime) -> float:
        row, rules = chunk.row, self._rules
        return rules.tie_breaker_weight * recency_importance(
            importance=row["importance"],
            updated_at=row["updated_at"],
            now=now,
            tau_days=rules.recency_tau_days,
        )

    def _order(self, entry: Scored) -> tuple[float, int, int, UUID]:
        row = entry.found.row
        precedence = self._scopes.precedence(row["scope"])
        return -entry.final, -precedence, entry.found.candidate.rank, row["note_id"]


def _is_below(entry: Scored, least: float | None) -> bool:
    return least is not None and entry.relevance is not None and entry.relevance < least
