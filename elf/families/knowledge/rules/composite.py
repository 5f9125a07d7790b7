"""What recall ranks by: relevance, importance, recency and confidence, each from 0 to 1, weighed and added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from elf.search.reciprocal import RRF_K

GREATEST_IMPORTANCE: Final = 10.0
LISTS: Final = 2  # semantic and keyword


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each term counts in the score."""

    relevance: float = 0.4
    importance: float = 0.3
    recency: float = 0.2
    confidence: float = 0.1


@dataclass(frozen=True, slots=True)
class Measures:
    """What is known of a memory when it is ranked, each from 0 to 1."""

    relevance: float
    importance: float
    recency: float
    confidence: float


def relevance(rrf_score: float) -> float:
    """Return a reciprocal rank score as a share of the greatest, which is that of what is first in both lists."""
    return min(1.0, rrf_score * (RRF_K + 1) / LISTS)


def importance(value: float) -> float:
    """Return an importance of 0 to 10 as a share."""
    return value / GREATEST_IMPORTANCE


def terms(measures: Measures, weights: Weights) -> Mapping[str, float]:
    """Return the parts of a composite score by name; `composite` is their sum, in this order."""
    return {
        "relevance": weights.relevance * measures.relevance,
        "importance": weights.importance * measures.importance,
        "recency": weights.recency * measures.recency,
        "confidence": weights.confidence * measures.confidence,
    }


def composite(parts: Mapping[str, float]) -> float:
    """Return the score that these parts make."""
    return sum(parts.values())
