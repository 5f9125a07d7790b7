"""The order of a recall: reciprocal ranks of both legs, times importance, confidence, recency and contradiction.

    fused = 1 / (rrf_k + rank among texts) + 1 / (rrf_k + rank among vectors)
    final = fused x (1 + importance / 100) x confidence x 1 / (1 + age in days / 30) x (0.80 if contradicted)

Ranks are from 1; a leg that has not found a memory adds nothing. What scores alike stands in the order of ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from elf.search.reciprocal import reciprocal_ranks

CONTRADICTED: Final = 0.80
"""What a memory in an unresolved contradiction keeps of its score."""

HALVED_AFTER_DAYS: Final = 30
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What a memory is ranked by, besides where the legs found it. `updated_at` is aware of its zone."""

    importance: int
    confidence: float
    updated_at: datetime
    contradicted: bool


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of a score: `fused` is the sum of the first two, `final` the product of `fused` and the factors.

    Each is computed in the order of the fields, so both come out exactly, to the last bit.
    """

    text: float
    vector: float
    fused: float
    importance: float
    confidence: float
    recency: float
    contradiction: float
    final: float


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A memory in its place: its rank in each leg, None where that leg has not found it, and its score."""

    memory_id: str
    text_rank: int | None
    vector_rank: int | None
    terms: Terms


def rank(
    *,
    text: Sequence[str],
    vector: Sequence[str],
    weights: Mapping[str, Weight],
    rrf_k: int,
    now: datetime,
) -> list[Ranked]:
    """Return what the legs found, best first. A leg holds no memory twice; each has a weight."""
    legs = _Leg(text, rrf_k), _Leg(vector, rrf_k)
    found = [_ranked(memory_id, legs, weights[memory_id], now) for memory_id in {*text, *vector}]
    return sorted(found, key=lambda one: (-one.terms.final, one.memory_id))


class _Leg:
    """What a leg found: the ranks, and what they add to a score."""

    def __init__(self, ranked: Sequence[str], rrf_k: int) -> None:
        self.ranks = {memory_id: place for place, memory_id in enumerate(ranked, start=1)}
        # One list lacks nothing that it holds, so no rank is made up for what is absent.
        self.terms = reciprocal_ranks([ranked], k=rrf_k, absent=0)


def _ranked(memory_id: str, legs: tuple[_Leg, _Leg], weight: Weight, now: datetime) -> Ranked:
    text, vector = legs
    return Ranked(
        memory_id=memory_id,
        text_rank=text.ranks.get(memory_id),
        vector_rank=vector.ranks.get(memory_id),
        terms=_terms(text.terms.get(memory_id, 0.0), vector.terms.get(memory_id, 0.0), weight, now),
    )


def _terms(text: float, vector: float, weight: Weight, now: datetime) -> Terms:
    fused = text + vector
    importance = 1 + weight.importance / 100
    recency = _recency(weight.updated_at, now)
    contradiction = CONTRADICTED if weight.contradicted else 1.0
    return Terms(
        text=text,
        vector=vector,
        fused=fused,
        importance=importance,
        confidence=weight.confidence,
        recency=recency,
        contradiction=contradiction,
        final=fused * importance * weight.confidence * recency * contradiction,
    )


def _recency(updated_at: datetime, now: datetime) -> float:
    """Return 1 for what was updated now or later, and half of it for what was 30 days ago."""
    age_days = max(0.0, (now - updated_at).total_seconds() / _DAY_S)
    return 1 / (1 + age_days / HALVED_AFTER_DAYS)
