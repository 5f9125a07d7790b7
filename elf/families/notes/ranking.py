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

RERANK = "rerank"
RETRIEVAL = "retrieval"
RECENCY_IMPORTANCE = "recency_importance"
# The terms of a final score, in the order they are told in.
RERANKED = (RERANK, RETRIEVAL, RECENCY_IMPORTANCE)
RERANKED_ONLY = (RERANK, RECENCY_IMPORTANCE)
NOT_RERANKED = (RETRIEVAL, RECENCY_IMPORTANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRules:
    """What the config says about the final score; weights multiply scores of 0 to 1."""

    rerank_weight: float
    retrieval_weight: float
    tie_breaker_weight: float
    recency_tau_days: float


class FoundChunk(NamedTuple):
    """A candidate that Postgres vouches for: its row of `read_candidates` and the text around the chunk.

    Few candidates become items, so the row's fields are read when they are needed.
    """

    candidate: Candidate
    row: Mapping[str, Any]
    snippet: str

    @classmethod
    def of(cls, row: Mapping[str, Any], candidate: Candidate) -> FoundChunk:
        return cls(candidate, row, row["text"][row["snippet_start"] : row["snippet_end"]])


class Scored(NamedTuple):
    """A found chunk with its final score, the sum of its terms; `names` say what each term stands for."""

    found: FoundChunk
    rerank_score: float
    names: Sequence[str]
    terms: Sequence[float]
    final: float

    @property
    def boosts(self) -> dict[str, float]:
        """The terms by name."""
        return dict(zip(self.names, self.terms, strict=True))


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best chunk of each of the best notes, and what is not among them: other chunks of a note, and later notes."""

    best: Sequence[Scored]
    other_chunks: Sequence[Scored]
    below: Sequence[Scored]


class NoteRanking:
    """Scores and orders (section 13, steps 13 and 14)."""

    def __init__(self, rules: RankingRules, scopes: ScopeRules) -> None:
        self._rules = rules
        self._scopes = scopes

    def rank(
        self, found: Sequence[FoundChunk], scores: Sequence[float] | None, *, now: datetime, top_k: int
    ) -> Ranked:
        """Order the chunks, of each note only the best, and cut after `top_k` notes.

        `scores` are the reranker's, one a chunk; without them the fused score takes their place and their weight.
        """
        scored = self._without_reranker(found, now) if scores is None else self._reranked(found, scores, now)
        ordered = sorted(scored, key=self._order)
        best: dict[UUID, Scored] = {}
        for entry in ordered:
            best.setdefault(entry.found.row["note_id"], entry)
        other_chunks = [entry for entry in ordered if best[entry.found.row["note_id"]] is not entry]
        notes = list(best.values())
        return Ranked(notes[:top_k], other_chunks, notes[top_k:])

    def _reranked(self, found: Sequence[FoundChunk], scores: Sequence[float], now: datetime) -> list[Scored]:
        rerank_weight, retrieval_weight = self._rules.rerank_weight, self._rules.retrieval_weight
        names = RERANKED if retrieval_weight > 0.0 else RERANKED_ONLY
        scored = []
        for chunk, score in zip(found, scores, strict=True):
            terms = [rerank_weight * score, self._tie_breaker(chunk, now)]
            if retrieval_weight > 0.0:
                terms.insert(1, retrieval_weight * chunk.candidate.score)
            scored.append(Scored(chunk, score, names, terms, sum(terms)))
        return scored

    def _without_reranker(self, found: Sequence[FoundChunk], now: datetime) -> list[Scored]:
        weight = self._rules.rerank_weight + self._rules.retrieval_weight
        scored = []
        for chunk in found:
            fused = chunk.candidate.score
            terms = [weight * fused, self._tie_breaker(chunk, now)]
            scored.append(Scored(chunk, fused, NOT_RERANKED, terms, sum(terms)))
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
