"""Fusion: several ranked lists become one score of 0 to 1, where 1.0 means first in every list.

rrf is reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): the weighted sum of 1 / (k + rank), here divided
by its greatest possible value. minmax scales the raw scores of each list to 0..1 and takes the weighted mean; a point
that a list does not hold counts 0 there. Lists without hits take no part, and hits whose score is no finite number
are none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never
from uuid import UUID

from elf.index.port import LegHit, QueryResult

Method = Literal["rrf", "minmax"]


@dataclass(frozen=True, slots=True)
class FusionRules:
    """How lists are fused; `k` only matters to rrf."""

    method: Method
    k: int
    dense_weight: float
    bm25_weight: float


class Candidate(NamedTuple):
    """A point after fusion. `rank` is 1-based; a leg's score is None when the leg did not find the point."""

    point_id: UUID
    owner_id: UUID
    score: float
    rank: int
    dense_score: float | None
    bm25_score: float | None


def fuse(results: Sequence[QueryResult], *, rules: FusionRules, limit: int | None = None) -> list[Candidate]:
    """Fuse the legs of all queries and return the best `limit` points, or all, best first, ties by point id."""
    results = [QueryResult(_finite(result.dense), _finite(result.bm25)) for result in results]
    lists = [
        (weight, hits)
        for result in results
        for weight, hits in ((rules.dense_weight, result.dense), (rules.bm25_weight, result.bm25))
        if weight > 0.0 and hits
    ]
    total = sum(weight for weight, _ in lists)
    scores: dict[UUID, float] = {}
    for weight, hits in lists:
        for hit, share in zip(hits, _shares(hits, rules), strict=True):
            scores[hit.point_id] = scores.get(hit.point_id, 0.0) + weight * share
    # Divided last, so that first in every list is exactly 1.0: both sums have the same terms in the same order.
    fused = {point_id: score / total for point_id, score in scores.items()}
    return _best(fused, results, limit)


def _finite(hits: Sequence[LegHit]) -> Sequence[LegHit]:
    # A single NaN would decide every comparison it takes part in.
    return (
        hits
        if all(math.isfinite(hit.score) for hit in hits)
        else [hit for hit in hits if math.isfinite(hit.score)]
    )


def _shares(hits: Sequence[LegHit], rules: FusionRules) -> list[float]:
    if rules.method == "rrf":
        return [(rules.k + 1) / (rules.k + rank) for rank in range(1, len(hits) + 1)]
    if rules.method == "minmax":
        high, low = hits[0].score, hits[-1].score
        return [1.0 if high == low else (hit.score - low) / (high - low) for hit in hits]
    assert_never(rules.method)


def _best(scores: dict[UUID, float], results: Sequence[QueryResult], limit: int | None) -> list[Candidate]:
    owners: dict[UUID, UUID] = {}
    dense = _best_scores([result.dense for result in results], owners)
    bm25 = _best_scores([result.bm25 for result in results], owners)
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return [
        Candidate(point_id, owners[point_id], min(score, 1.0), rank, dense.get(point_id), bm25.get(point_id))
        for rank, (point_id, score) in enumerate(ranked, start=1)
    ]


def _best_scores(lists: Sequence[Sequence[LegHit]], owners: dict[UUID, UUID]) -> dict[UUID, float]:
    """Return the best score of each point in any of the lists, and note whose point it is in `owners`."""
    best: dict[UUID, float] = {}
    for hits in lists:
        for point_id, owner_id, score in hits:
            if score > best.get(point_id, -math.inf):
                best[point_id] = score
            owners[point_id] = owner_id
    return best
