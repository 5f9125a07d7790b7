"""From passages that Postgres vouches for to the order in which entries are told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from elf.families.conversations.finding.hits import Hit
from elf.search.reranking import Passage, RerankScore

PREVIOUS_WEIGHT: Final = 0.1
USER_WEIGHT: Final = 0.05
"""Measured with both: recall @5, @10 and @20 of LoCoMo from .652 .736 .784 to .663 .741 .793, of BEAM, where there are
assistants, from .390 .500 .590 to .399 .512 .614. More of one gains on one set what it loses on the other."""

MOST_WAITING: Final = 16
"""How many texts that the index does not know are compared: making their token vectors is a pass of the model."""

LOOKS_BACK: Final = (1, 2, 3)
"""How many numbers before an entry the one before it may have: agents write their memory in between."""


ASSISTANT: Final = "AI"
NO_TOKENS: Final = MappingProxyType({"digest": None, "tokens": None, "vectors": None})
"""What stands of token vectors in a row that has none."""


class Found(NamedTuple):
    """A passage of an entry (a row of `read_passages` or `find_waiting`), and how well it was found, 0 to 1."""

    point_id: UUID
    row: Mapping[str, Any]
    retrieval: float

    @property
    def place(self) -> tuple[UUID, int]:
        """Its conversation, and its number there."""
        return self.row["conversation_id"], self.row["seq"]

    @property
    def passage(self) -> Passage:
        """It as the reranker sees it."""
        row = self.row
        return Passage(self.point_id, row["text"], row["text"], row["chars"], row["changed_at"], row)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRules:
    """What the score of a passage is made of: by how it was found, and by how it compares; both from 0 to 1."""

    rerank_weight: float
    retrieval_weight: float

    def hits(self, found: Sequence[Found], scores: Sequence[RerankScore] | None) -> list[Hit]:
        """Return a hit of each passage, the best first. Without a reranker's scores, how it was found is all."""
        whole = self.rerank_weight + self.retrieval_weight
        if scores is None or not whole:
            finals = [one.retrieval for one in found]
        else:
            finals = [
                (self.rerank_weight * score + self.retrieval_weight * one.retrieval) / whole
                for one, score in zip(found, within_one(scores), strict=True)
            ]
        hits = [_hit(one, final) for one, final in zip(found, in_context(found, finals), strict=True)]
        return sorted(hits, key=lambda hit: hit.order, reverse=True)


def found_waiting(row: Mapping[str, Any]) -> Found:
    """Return a row of `find_waiting` as it was found: by the share of the words that it has."""
    return Found(row["entry_id"], {**row, **NO_TOKENS}, row["share"])


def in_context(found: Sequence[Found], scores: Sequence[float]) -> list[float]:
    """Return scores from 0 to 1 that know what was said just before, and by whom.

    PREVIOUS_WEIGHT times the score of the entry before is added, where that was found, too: an answer seldom repeats
    what it answers. USER_WEIGHT is added unless an assistant speaks: what is asked about was mostly said by people.
    """
    best: dict[tuple[UUID, int], float] = {}
    for one, score in zip(found, scores, strict=True):
        best[one.place] = max(score, best.get(one.place, 0.0))
    whole = 1.0 + PREVIOUS_WEIGHT + USER_WEIGHT
    return [
        (score + PREVIOUS_WEIGHT * _before(one, best) + USER_WEIGHT * (one.row["role"] != ASSISTANT)) / whole
        for one, score in zip(found, scores, strict=True)
    ]


def _before(one: Found, best: Mapping[tuple[UUID, int], float]) -> float:
    id, seq = one.place
    return next((best[id, seq - back] for back in LOOKS_BACK if (id, seq - back) in best), 0.0)


def within_one(scores: Sequence[RerankScore]) -> list[float]:
    """Return scores from 0 to 1 in the same order: those of models that know no bounds by the logistic function."""
    plain = [one.score + one.length for one in scores]
    if all(0.0 <= score <= 1.0 for score in plain):
        return plain
    return [0.5 * (1.0 + math.tanh(score / 2.0)) for score in plain]


def _hit(found: Found, score: float) -> Hit:
    row = found.row
    # What Postgres found is known by how its whole text begins, and may have its words anywhere.
    passage = None if found.point_id == row["entry_id"] else row["text"]
    return Hit(row["entry_id"], row["conversation_id"], row["said_at"], min(max(score, 0.0), 1.0), passage)
