"""The composite score against its plain definition, and the order that recall and search make of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.knowledge import model as m
from elf.families.knowledge.reading.ranking import recalled, searched
from elf.families.knowledge.rules.composite import (
    Measures,
    Weights,
    composite,
    importance,
    relevance,
    terms,
)

pytestmark = pytest.mark.slow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIMIT = 10

shares = st.floats(0.0, 1.0)
measured = st.builds(Measures, relevance=shares, importance=shares, recency=shares, confidence=shares)
weights = st.builds(
    Weights,
    relevance=st.floats(0.0, 5.0),
    importance=st.floats(0.0, 5.0),
    recency=st.floats(0.0, 5.0),
    confidence=st.floats(0.0, 5.0),
)
moments = st.integers(0, 3).map(lambda days: NOW - timedelta(days=days))
places = st.none() | st.integers(1, LIMIT)


@st.composite
def found_rows(draw: st.DrawFn, kind: str) -> list[dict[str, Any]]:
    """Rows as the two lists give them: each has its place on one of them or both, and no place is held twice."""
    count = draw(st.integers(0, LIMIT))
    numbers = draw(st.permutations(range(count)))
    ways = draw(st.lists(st.sampled_from(["semantic", "keyword", "both"]), min_size=count, max_size=count))
    by_words = draw(st.permutations([number for number in range(count) if ways[number] != "semantic"]))
    by_meaning = [number for number in numbers if ways[number] != "keyword"]
    offset = 0 if kind == "fact" else 1000
    return [
        {
            "id": UUID(int=offset + number),
            "created_at": draw(moments),
            "importance": draw(st.floats(0.0, 10.0)),
            "confidence": draw(shares),
            "decay_rate": draw(st.sampled_from([0.0, 0.008, 0.1])),
            "last_confirmed_at": draw(st.none() | moments),
            "last_referenced_at": draw(st.none() | moments),
            "similarity": 1.0 - by_meaning.index(number) / 100 if number in by_meaning else None,
            "semantic_rank": by_meaning.index(number) + 1 if number in by_meaning else None,
            "rank": 1.0 / (1 + by_words.index(number)) if number in by_words else None,
            "keyword_rank": by_words.index(number) + 1 if number in by_words else None,
        }
        for number in range(count)
    ]


found = st.fixed_dictionaries({"fact": found_rows("fact"), "rule": found_rows("rule")})
Found = Mapping[m.MemoryType, Sequence[Mapping[str, Any]]]


def plain_rrf(row: Mapping[str, Any]) -> float:
    semantic = LIMIT + 1 if row["semantic_rank"] is None else row["semantic_rank"]
    keyword = LIMIT + 1 if row["keyword_rank"] is None else row["keyword_rank"]
    return 1 / (60 + semantic) + 1 / (60 + keyword)


def plain_composite(kind: str, row: Mapping[str, Any]) -> float:
    """The formula with its default weights, written out."""

    def days(moment: datetime) -> float:
        return (NOW - moment).total_seconds() / 86_400

    recency = 0.0 if row["last_referenced_at"] is None else 2 ** (-days(row["last_referenced_at"]) / 7)
    if row["decay_rate"] == 0:
        confidence = row["confidence"]
    elif row["last_confirmed_at"] is None:
        confidence = 0.0
    else:
        confidence = row["confidence"] * math.exp(-row["decay_rate"] * days(row["last_confirmed_at"]))
    weight = row["importance"] if kind == "fact" else 5.0
    relevance = min(plain_rrf(row) * 61 / 2, 1.0)
    return 0.4 * relevance + 0.3 * (weight / 10.0) + 0.2 * recency + 0.1 * float(confidence)


@given(measured, weights)
def test_the_terms_add_up_to_the_score(measures: Measures, weights: Weights) -> None:
    parts = terms(measures, weights)
    assert list(parts) == ["relevance", "importance", "recency", "confidence"]
    expected = (
        weights.relevance * measures.relevance
        + weights.importance * measures.importance
        + weights.recency * measures.recency
        + weights.confidence * measures.confidence
    )
    assert composite(parts) == pytest.approx(expected, abs=1e-9)
    assert math.fsum(parts.values()) == pytest.approx(composite(parts), abs=1e-9)


@given(measured)
def test_a_score_is_a_share_by_the_default_weights(measures: Measures) -> None:
    assert 0.0 <= composite(terms(measures, Weights())) <= 1.0 + 1e-9


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_relevance_is_a_share_of_the_best_place(semantic: int, keyword: int) -> None:
    best = 1 / 61 + 1 / 61
    share = relevance(1 / (60 + semantic) + 1 / (60 + keyword))
    assert share == pytest.approx((1 / (60 + semantic) + 1 / (60 + keyword)) / best)
    assert 0.0 < share <= 1.0


def test_relevance_is_capped() -> None:
    assert relevance(1.0) == relevance(2 / 61) == 1.0


@given(st.floats(0.0, 10.0))
def test_importance_is_a_tenth(value: float) -> None:
    assert importance(value) == value / 10.0


@given(found)
def test_composite_score_formula(found: Found) -> None:
    ranked = recalled(found, Weights(), limit=LIMIT, now=NOW)
    assert len(ranked) == sum(map(len, found.values()))
    for one in ranked:
        assert one.score == pytest.approx(plain_composite(one.kind, one.row), abs=1e-9)
        assert sum(one.terms.values()) == pytest.approx(one.score, abs=1e-9)
        assert one.rrf_score == pytest.approx(plain_rrf(one.row), abs=1e-12)


@given(found)
def test_recalled_are_in_order_with_the_newer_first_and_then_the_lower_id(found: Found) -> None:
    ranked = recalled(found, Weights(), limit=LIMIT, now=NOW)
    for one, following in pairwise(ranked):
        assert (-one.score, NOW - one.row["created_at"], one.id) < (
            -following.score, NOW - following.row["created_at"], following.id,
        )  # fmt: skip


def test_deterministic_ordering_with_tie_breaking() -> None:
    """Five facts that differ in their places alone, where places count for nothing."""
    same = {
        "importance": 5.0, "confidence": 1.0, "decay_rate": 0.0, "last_confirmed_at": None, "last_referenced_at": None,
        "similarity": None, "semantic_rank": None, "rank": 0.1,
    }  # fmt: skip
    made = [(3, 2), (1, 0), (2, 2), (5, 1), (4, 1)]
    rows = [
        same | {"id": UUID(int=id), "created_at": NOW - timedelta(microseconds=age), "keyword_rank": place}
        for place, (id, age) in enumerate(made, start=1)
    ]
    ranked = recalled({"fact": rows}, Weights(relevance=0.0), limit=LIMIT, now=NOW)
    assert len({one.score for one in ranked}) == 1
    assert [one.id.int for one in ranked] == [1, 4, 5, 2, 3]


@given(found)
def test_hybrid_search_ranks_by_reciprocal_ranks(found: Found) -> None:
    ranked = searched(found, "hybrid", limit=LIMIT)
    absent = LIMIT + 1
    plain = sorted(
        (
            (-plain_rrf(row), row["semantic_rank"] or absent, NOW - row["created_at"], row["id"])
            for rows in found.values()
            for row in rows
        ),
        key=lambda key: (round(key[0], 15), *key[1:]),
    )
    assert [one.id for one in ranked] == [key[-1] for key in plain]
    for one in ranked:
        assert one.score == one.rrf_score == pytest.approx(plain_rrf(one.row), abs=1e-12)
        assert sum(one.terms.values()) == pytest.approx(one.score, abs=1e-9)


@given(found)
def test_search_by_one_list_is_in_the_order_of_that_list(found: Found) -> None:
    for mode, place, score in (
        ("semantic", "semantic_rank", "similarity"),
        ("keyword", "keyword_rank", "rank"),
    ):
        listed: Found = {
            kind: [row for row in rows if row[place] is not None] for kind, rows in found.items()
        }
        ranked = searched(listed, mode, limit=LIMIT)  # type: ignore[arg-type]
        assert [one.score for one in ranked] == sorted((one.row[score] for one in ranked), reverse=True)
        for kind in listed:
            of_kind = [one.row[place] for one in ranked if one.kind == kind]
            assert of_kind == sorted(of_kind)
        assert all(one.rrf_score is None for one in ranked)
