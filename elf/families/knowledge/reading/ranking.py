"""From rows on two lists to results in their order, each with the parts of its score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from elf.families.knowledge import model as m
from elf.families.knowledge.rules.composite import Measures, Weights, composite, importance, relevance, terms
from elf.families.knowledge.rules.decay import effective_confidence, recency
from elf.search.reciprocal import RRF_K, reciprocal_ranks

Row = Mapping[str, Any]


class Ranked(NamedTuple):
    """A memory with its score, and what that is the sum of. `rrf_score` is None where one list alone was asked for."""

    kind: m.MemoryType
    row: Row
    score: float
    terms: Mapping[str, float]
    rrf_score: float | None

    @property
    def id(self) -> UUID:
        id: UUID = self.row["id"]
        return id

    def told(self, now: datetime) -> dict[str, Any]:
        """Return it as it is told: the row, and how it was found."""
        said = {
            **self.row,
            "memory_type": self.kind,
            "rrf_score": self.rrf_score,
            "score": self.score,
            "terms": self.terms,
        }
        if self.kind != "episode":
            said["effective_confidence"] = confidence_of(self.row, now)
        return said


def searched(found: Mapping[m.MemoryType, Sequence[Row]], mode: m.SearchMode, *, limit: int) -> list[Ranked]:
    """Return all that a search found, best first, whatever its kind.

    Ties are in the order of the semantic list, and then the newer first.
    """
    ranked = []
    for kind, rows in found.items():
        for row, rrf in _with_rrf(rows, limit=limit):
            match mode:
                case "semantic":
                    parts = {"similarity": row["similarity"]}
                case "keyword":
                    parts = {"rank": row["rank"]}
                case "hybrid":
                    parts = _places(row, limit=limit)
            score = sum(parts.values())
            ranked.append(Ranked(kind, row, score, parts, rrf if mode == "hybrid" else None))
    absent = limit + 1
    return sorted(
        ranked,
        key=lambda one: (-one.score, one.row["semantic_rank"] or absent, *_newest_first(one.row)),
    )


def recalled(
    found: Mapping[m.MemoryType, Sequence[Row]], weights: Weights, *, limit: int, now: datetime
) -> list[Ranked]:
    """Return facts and rules by their composite score, best first; the newer first among equals."""
    ranked = []
    for kind, rows in found.items():
        for row, rrf in _with_rrf(rows, limit=limit):
            measures = Measures(
                relevance=relevance(rrf),
                importance=importance(row["importance"] if kind == "fact" else m.RULE_IMPORTANCE),
                recency=recency(row["last_referenced_at"], now),
                confidence=confidence_of(row, now),
            )
            parts = terms(measures, weights)
            ranked.append(Ranked(kind, row, composite(parts), parts, rrf))
    return sorted(ranked, key=lambda one: (-one.score, *_newest_first(one.row)))


def confidence_of(row: Row, now: datetime) -> float:
    """Return the confidence of a fact or a rule as it is at a moment."""
    return effective_confidence(row["confidence"], row["decay_rate"], row["last_confirmed_at"], now)


def _with_rrf(rows: Sequence[Row], *, limit: int) -> Iterable[tuple[Row, float]]:
    lists = [
        [
            row["id"]
            for row in sorted((one for one in rows if one[place] is not None), key=lambda one: one[place])
        ]
        for place in ("semantic_rank", "keyword_rank")
    ]
    scores = reciprocal_ranks(lists, absent=limit + 1)
    return ((row, scores[row["id"]]) for row in rows)


def _places(row: Row, *, limit: int) -> dict[str, float]:
    """Return what each list adds to the score."""
    absent = limit + 1
    return {
        "semantic": 1.0 / (RRF_K + (row["semantic_rank"] or absent)),
        "keyword": 1.0 / (RRF_K + (row["keyword_rank"] or absent)),
    }


def _newest_first(row: Row) -> tuple[float, UUID]:
    return -row["created_at"].timestamp(), row["id"]
