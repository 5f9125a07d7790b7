"""The order of a recall, against a second, plain implementation of its formula."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.rules.ranking import Ranked, Weight, rank

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
IDS = ["a", "b", "c", "d", "e", "f"]

legs = st.permutations(IDS).flatmap(lambda ids: st.integers(0, len(ids)).map(lambda most: ids[:most]))
weights = st.builds(
    Weight,
    importance=st.integers(0, 100),
    confidence=st.floats(0, 1),
    updated_at=st.integers(-400, 40).map(lambda days: NOW + timedelta(days=days)),
    contradicted=st.booleans(),
)
weights_of_all = st.fixed_dictionaries(dict.fromkeys(IDS, weights))


def plain(
    text: list[str], vector: list[str], facts: dict[str, Weight], rrf_k: int
) -> dict[str, tuple[Fraction, float]]:
    """The formula as it is written, in exact numbers: the fused sum, and the whole score as a float."""
    scores = {}
    for memory_id in {*text, *vector}:
        fused = Fraction(0)
        for leg in (text, vector):
            if memory_id in leg:
                fused += Fraction(1, rrf_k + leg.index(memory_id) + 1)
        fact = facts[memory_id]
        score = fused * (1 + Fraction(fact.importance, 100)) * Fraction(fact.confidence)
        age_days = max((NOW - fact.updated_at) // timedelta(days=1), 0)
        score *= Fraction(1, 1) / (1 + Fraction(age_days, 30))
        score *= Fraction(4, 5) if fact.contradicted else 1
        scores[memory_id] = (fused, float(score))
    return scores


def ranked(
    text: list[str], vector: list[str], facts: dict[str, Weight] | None = None, rrf_k: int = 60
) -> list[Ranked]:
    return rank(text=text, vector=vector, weights=facts or dict.fromkeys(IDS, weight()), rrf_k=rrf_k, now=NOW)


def weight(
    *,
    importance: int = 50,
    confidence: float = 1.0,
    updated_at: datetime = NOW,
    contradicted: bool = False,
) -> Weight:
    return Weight(
        importance=importance, confidence=confidence, updated_at=updated_at, contradicted=contradicted
    )


def ids(found: list[Ranked]) -> list[str]:
    return [one.memory_id for one in found]


@given(text=legs, vector=legs, facts=weights_of_all, rrf_k=st.integers(1, 1000))
def test_scores_are_those_of_the_plain_formula(
    text: list[str], vector: list[str], facts: dict[str, Weight], rrf_k: int
) -> None:
    found = ranked(text, vector, facts, rrf_k)
    expected = plain(text, vector, facts, rrf_k)
    assert {one.memory_id for one in found} == set(expected)
    for one in found:
        fused, score = expected[one.memory_id]
        assert one.terms.fused == pytest.approx(float(fused), rel=1e-12)
        assert one.terms.final == pytest.approx(score, rel=1e-12, abs=1e-300)


@given(text=legs, vector=legs, facts=weights_of_all, rrf_k=st.integers(1, 1000))
def test_terms_add_up_and_multiply_to_the_score_exactly(
    text: list[str], vector: list[str], facts: dict[str, Weight], rrf_k: int
) -> None:
    for one in ranked(text, vector, facts, rrf_k):
        terms = one.terms
        assert terms.text + terms.vector == terms.fused
        product = terms.fused * terms.importance * terms.confidence * terms.recency * terms.contradiction
        assert product == terms.final
        assert (terms.text == 0) is (one.text_rank is None)
        assert (terms.vector == 0) is (one.vector_rank is None)


@given(text=legs, vector=legs, facts=weights_of_all)
def test_the_order_is_by_score_and_then_by_id_whatever_the_order_of_what_is_known(
    text: list[str], vector: list[str], facts: dict[str, Weight]
) -> None:
    found = ranked(text, vector, facts)
    assert found == sorted(found, key=lambda one: (-one.terms.final, one.memory_id))
    assert ranked(text, vector, dict(reversed(facts.items()))) == found


def test_a_rank_counts_from_one() -> None:
    (only,) = ranked(["a"], [], rrf_k=60)
    assert (only.text_rank, only.vector_rank, only.terms.text) == (1, None, 1 / 61)


def test_what_both_legs_found_is_before_what_one_found() -> None:
    assert ids(ranked(["a", "c"], ["b", "c"])) == ["c", "a", "b"]


def test_memories_that_score_alike_stand_in_the_order_of_ids() -> None:
    assert ids(ranked(["b"], ["a"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (weight(importance=51), weight()),
        (weight(), weight(confidence=0.99)),
        (weight(), weight(updated_at=NOW - timedelta(hours=1))),
        (weight(), weight(contradicted=True)),
    ],
)
def test_each_modifier_decides_between_equals(better: Weight, worse: Weight) -> None:
    assert ids(ranked(["a"], ["b"], {"a": worse, "b": better})) == ["b", "a"]


def test_thirty_days_halve_a_score_and_a_contradiction_takes_a_fifth() -> None:
    facts = {"a": weight(updated_at=NOW - timedelta(days=30), contradicted=True)}
    (only,) = ranked(["a"], [], facts)
    assert (only.terms.recency, only.terms.contradiction) == (0.5, 0.80)


def test_what_is_updated_later_than_now_is_not_boosted() -> None:
    (only,) = ranked(["a"], [], {"a": weight(updated_at=NOW + timedelta(days=30))})
    assert only.terms.recency == 1
