"""Fusion: scores of 0 to 1 whose order follows the formulas, whatever the number of lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from elf.index.port import LegHit, QueryResult
from elf.search.fuse import FusionRules, Method, fuse

RRF = FusionRules("rrf", 60, 1.0, 1.0)
MINMAX = FusionRules("minmax", 60, 0.4, 0.6)


def point(number: int) -> UUID:
    return UUID(int=number)


def owner(number: int) -> UUID:
    return UUID(int=number + 1000)


def leg(*numbers: int, scores: Sequence[float] | None = None) -> list[LegHit]:
    """A leg that found these points in this order, with falling scores unless given."""
    falling = scores or [1.0 - 0.1 * place for place in range(len(numbers))]
    return [
        LegHit(point(number), owner(number), score) for number, score in zip(numbers, falling, strict=True)
    ]


def fused(*results: QueryResult, rules: FusionRules = RRF, limit: int = 100) -> dict[int, float]:
    return {found.point_id.int: found.score for found in fuse(results, rules=rules, limit=limit)}


def test_rrf_is_the_sum_of_reciprocal_ranks_over_its_greatest_value() -> None:
    rules = FusionRules("rrf", 10, 2.0, 3.0)
    found = fused(QueryResult(leg(1, 2, 3), leg(2, 4)), rules=rules)
    greatest = 2 / 11 + 3 / 11
    assert found == {
        1: pytest.approx((2 / 11) / greatest),
        2: pytest.approx((2 / 12 + 3 / 11) / greatest),
        3: pytest.approx((2 / 13) / greatest),
        4: pytest.approx((3 / 12) / greatest),
    }


def test_minmax_is_the_weighted_mean_of_scaled_scores() -> None:
    result = QueryResult(leg(1, 2, 3, scores=[0.9, 0.5, 0.1]), leg(3, 2, scores=[12.0, 4.0]))
    assert fused(result, rules=MINMAX) == {
        1: pytest.approx(0.4),
        2: pytest.approx(0.4 * 0.5),
        3: pytest.approx(0.6),
    }


@pytest.mark.parametrize("rules", [RRF, MINMAX])
def test_nothing_found_fuses_to_nothing(rules: FusionRules) -> None:
    assert fused(rules=rules) == {}
    assert fused(QueryResult([], []), QueryResult([], []), rules=rules) == {}


@pytest.mark.parametrize("rules", [RRF, MINMAX])
def test_a_leg_without_hits_takes_no_part(rules: FusionRules) -> None:
    alone = fused(QueryResult(leg(1, 2), []), rules=rules)
    assert alone[1] == 1.0
    assert alone == fused(QueryResult(leg(1, 2), []), QueryResult([], []), rules=rules)


def test_a_leg_of_weight_zero_neither_ranks_nor_finds() -> None:
    dense_only = FusionRules("rrf", 60, 1.0, 0.0)
    found = fuse([QueryResult(leg(1, 2), leg(3, 2))], rules=dense_only, limit=9)
    assert [candidate.point_id.int for candidate in found] == [1, 2]
    assert found[1].bm25_score == 0.9, "its score is still told"


def test_a_single_hit_counts_whole_under_minmax() -> None:
    assert fused(QueryResult(leg(1, scores=[-0.3]), []), rules=MINMAX) == {1: 1.0}


def test_equal_scores_count_whole_under_minmax() -> None:
    assert fused(QueryResult(leg(1, 2, scores=[0.5, 0.5]), []), rules=MINMAX) == {1: 1.0, 2: 1.0}


@pytest.mark.parametrize("rules", [RRF, MINMAX])
@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_a_hit_whose_score_is_no_finite_number_is_none(rules: FusionRules, score: float) -> None:
    sane = QueryResult(leg(1, 2, scores=[0.9, 0.4]), leg(2))
    odd = QueryResult(leg(7, 1, 8, 2, scores=[score, 0.9, score, 0.4]), leg(2))
    assert fuse([odd], rules=rules) == fuse([sane], rules=rules)


def test_ties_are_broken_by_point_id() -> None:
    found = fuse([QueryResult(leg(7, 1), leg(1, 7))], rules=RRF, limit=9)
    assert [candidate.point_id.int for candidate in found] == [1, 7]
    assert found[0].score == found[1].score


def test_candidates_carry_owner_rank_and_the_best_score_of_each_leg() -> None:
    first = QueryResult(leg(1, scores=[0.2]), leg(2, scores=[5.0]))
    second = QueryResult(leg(1, scores=[0.7]), [])
    best, other = fuse([first, second], rules=RRF, limit=9)
    assert (best.point_id, best.owner_id, best.rank) == (point(1), owner(1), 1)
    assert (best.dense_score, best.bm25_score) == (0.7, None)
    assert (other.rank, other.dense_score, other.bm25_score) == (2, None, 5.0)


def test_only_the_best_are_kept() -> None:
    found = fuse([QueryResult(leg(1, 2, 3), leg(1, 2, 3))], rules=RRF, limit=2)
    assert [candidate.point_id.int for candidate in found] == [1, 2]


legs = st.lists(st.integers(1, 9), unique=True, max_size=6).flatmap(
    lambda numbers: st.lists(st.floats(-10, 30, width=32), min_size=len(numbers), max_size=len(numbers)).map(
        lambda scores: leg(*numbers, scores=sorted(scores, reverse=True)) if numbers else []
    )
)
results = st.lists(st.builds(QueryResult, legs, legs), min_size=1, max_size=4)
weights = st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0, 1e-3, 3.0])
rules = st.builds(FusionRules, st.sampled_from(["rrf", "minmax"]), st.integers(1, 100), weights, weights)


@settings(max_examples=40)
@given(results, rules)
def test_scores_lie_within_zero_and_one_and_fall(found: list[QueryResult], rules: FusionRules) -> None:
    candidates = fuse(found, rules=rules, limit=100)
    assert [candidate.rank for candidate in candidates] == list(range(1, len(candidates) + 1))
    assert all(0.0 <= candidate.score <= 1.0 for candidate in candidates)
    for better, worse in pairwise(candidates):
        assert (-better.score, better.point_id) < (-worse.score, worse.point_id)


@settings(max_examples=40)
@given(results, rules, st.integers(0, 5))
def test_a_limit_cuts_and_changes_nothing_else(
    found: list[QueryResult], rules: FusionRules, limit: int
) -> None:
    assert fuse(found, rules=rules, limit=limit) == fuse(found, rules=rules, limit=100)[:limit]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5),
    rules,
)
def test_first_in_every_list_is_exactly_one(lengths: list[tuple[int, int]], rules: FusionRules) -> None:
    found = [QueryResult(leg(*range(1, dense + 1)), leg(*range(1, bm25 + 1))) for dense, bm25 in lengths]
    candidates = fuse(found, rules=rules, limit=9)
    assume(candidates)
    assert candidates[0].point_id == point(1)
    assert candidates[0].score == 1.0


@pytest.mark.parametrize("method", ["rrf", "minmax"])
@settings(max_examples=40)
@given(results, st.integers(2, 4))
def test_asking_the_same_twice_changes_no_score(method: Method, found: list[QueryResult], times: int) -> None:
    rules = FusionRules(method, 60, 0.3, 0.7)
    once, often = (fuse(queries, rules=rules, limit=99) for queries in (found, found * times))
    scores = {candidate.point_id: candidate.score for candidate in once}
    for candidate in often:
        assert candidate.score == pytest.approx(scores[candidate.point_id])
