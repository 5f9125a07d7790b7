"""Reciprocal rank fusion with places for what is absent, against its plain definition."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.search.reciprocal import reciprocal_ranks

rankings = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=20), max_size=4)


@given(rankings, st.integers(21, 200))
def test_a_score_is_the_sum_of_reciprocal_ranks(lists: Sequence[Sequence[int]], absent: int) -> None:
    scores = reciprocal_ranks(lists, absent=absent)
    assert set(scores) == {one for ranked in lists for one in ranked}
    for one, score in scores.items():
        ranks = [ranked.index(one) + 1 if one in ranked else absent for ranked in lists]
        assert score == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=1e-15)


@given(st.integers(1, 50))
def test_what_only_one_list_holds_is_after_all_places_of_the_other(limit: int) -> None:
    scores = reciprocal_ranks([["both", "meant"], ["both", "said"]], absent=limit + 1)
    assert scores["meant"] == scores["said"] == 1 / 62 + 1 / (60 + limit + 1)
    assert scores["both"] == 2 / 61


@given(rankings.filter(lambda lists: any(lists)), st.integers(21, 200))
def test_what_stands_higher_on_every_list_scores_more(lists: Sequence[Sequence[int]], absent: int) -> None:
    scores = reciprocal_ranks(lists, absent=absent)

    def ranks(one: int) -> list[int]:
        return [ranked.index(one) if one in ranked else absent for ranked in lists]

    for one in scores:
        for other in scores:
            pairs = list(zip(ranks(one), ranks(other), strict=True))
            if one != other and all(mine <= theirs for mine, theirs in pairs):
                assert scores[one] > scores[other]


def test_nothing_has_no_scores() -> None:
    assert reciprocal_ranks([], absent=11) == {}
    assert reciprocal_ranks([[], []], absent=11) == {}
