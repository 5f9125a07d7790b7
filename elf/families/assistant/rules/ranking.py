"""In which order candidates answer a query."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from elf.config.tables.assistant import Ranking
from elf.families.assistant.model import Memory, MemoryType

INSIGHT_SHARE: Final = 0.5
"""What an insight's score is multiplied with: what is guessed of a user weighs less than what is known."""

STAYING: Final = 2
"""How many of the most similar memories lead, whatever else they are."""

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that may answer. `cosine` is None without a vector on either side; `words` is which share of the words
    of the query it holds, 0 to 1; `related` is the greatest strength of a relation to another candidate.
    """

    memory: Memory
    cosine: float | None
    words: float
    related: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its score, which is the sum of `terms`."""

    memory: Memory
    cosine: float | None
    words: float
    similarity: float
    score: float
    terms: Mapping[str, float]


def ranked(
    candidates: Sequence[Candidate], weights: Ranking, *, has_vector: bool, now: datetime
) -> list[Ranked]:
    """Return candidates, best first: the most similar lead, the others follow by score.

    Where the query `has_vector`, similar is who has the greater cosine, else who holds more of its words. An insight
    never leads.
    """
    scored = [_scored(one, weights, has_vector=has_vector, now=now) for one in candidates]
    by_score = sorted(scored, key=_by_score)
    alike = sorted((one for one in by_score if one.memory.type != "insight"), key=lambda one: -one.similarity)
    leading = list(islice(alike, STAYING))
    led = {one.memory.memory_id for one in leading}
    return [*leading, *(one for one in by_score if one.memory.memory_id not in led)]


def episodic_share(top_k: int, types: Sequence[MemoryType] | None) -> int:
    """Return how many episodic memories an answer may have: half of it, or all where they are asked for."""
    return top_k if types is not None and "episodic" in types else max(1, top_k // 2)


def _by_score(one: Ranked) -> tuple[float, float, UUID]:
    return -one.score, -one.memory.updated_at.timestamp(), one.memory.memory_id


def _scored(one: Candidate, weights: Ranking, *, has_vector: bool, now: datetime) -> Ranked:
    memory = one.memory
    similarity = (one.cosine or 0.0) if has_vector else one.words
    age_days = max(0.0, (now - memory.updated_at) / _DAY)
    terms = {
        "cosine": weights.cosine * similarity if has_vector else 0.0,
        "words": (weights.words if has_vector else weights.cosine) * one.words,
        "importance": weights.importance * memory.importance / 5,
        "recency": weights.recency / (1 + age_days),
        "pinned": weights.pinned if memory.pinned else 0.0,
        "related": weights.related * one.related,
    }
    if memory.type == "insight":
        terms["insight"] = (INSIGHT_SHARE - 1) * math.fsum(terms.values())
    return Ranked(
        memory=memory, cosine=one.cosine, words=one.words, similarity=similarity,
        score=math.fsum(terms.values()), terms=terms,
    )  # fmt: skip
