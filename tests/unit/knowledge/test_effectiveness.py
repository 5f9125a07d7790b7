"""What marks make of a rule, against the plain thresholds."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elf.families.knowledge.model import Maturity
from elf.families.knowledge.rules.effectiveness import (
    demoted,
    harmful_score,
    helpful_score,
    inverted,
    is_to_be_inverted,
    promoted,
)

MATURITIES: tuple[Maturity, ...] = get_args(Maturity)
DAY = timedelta(days=1)

counts = st.integers(0, 10_000)
shares = st.floats(0.0, 1.0)
ages = st.timedeltas(timedelta(0), timedelta(days=1000))
maturities = st.sampled_from(MATURITIES)


@given(st.integers(1, 10_000), counts)
def test_helpful_score_is_the_share_of_successes(successes: int, others: int) -> None:
    score = helpful_score(successes, successes + others)
    assert score == pytest.approx(successes / (successes + others), abs=1e-12)
    assert 0.0 < score <= 1.0


@given(counts, st.integers(1, 10_000))
def test_harmful_score_counts_harm_four_times(successes: int, harms: int) -> None:
    score = harmful_score(successes, harms)
    assert score == pytest.approx(successes / (successes + 4 * harms + 0.01), abs=1e-12)
    assert 0.0 <= score < 1.0


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_harm_weighs_more_than_help(successes: int, harms: int) -> None:
    assert harmful_score(successes, harms) < helpful_score(successes, successes + harms)


@given(maturities, counts, shares, ages)
@example("candidate", 5, 0.6, timedelta(0))
@example("candidate", 4, 1.0, 365 * DAY)
@example("candidate", 5, math.nextafter(0.6, 0.0), 365 * DAY)
@example("candidate", 15, 0.8, 30 * DAY)
@example("established", 15, 0.8, 30 * DAY)
@example("established", 15, 0.8, 30 * DAY - timedelta(microseconds=1))
@example("established", 14, 1.0, 365 * DAY)
@example("established", 15, math.nextafter(0.8, 0.0), 365 * DAY)
def test_promotion_is_one_step_at_its_thresholds(
    maturity: Maturity, successes: int, score: float, age: timedelta
) -> None:
    after = promoted(maturity, success_count=successes, score=score, age=age)
    match maturity:
        case "candidate":
            assert after == ("established" if successes >= 5 and score >= 0.6 else "candidate")
        case "established":
            proven = successes >= 15 and score >= 0.8 and age >= timedelta(days=30)
            assert after == ("proven" if proven else "established")
        case _:
            assert after == maturity


@given(maturities, shares)
@example("proven", 0.8)
@example("proven", math.nextafter(0.8, 0.0))
@example("proven", 0.0)
@example("established", 0.6)
@example("established", math.nextafter(0.6, 0.0))
def test_demotion_is_one_step_at_its_thresholds(maturity: Maturity, score: float) -> None:
    after = demoted(maturity, score=score)
    match maturity:
        case "proven":
            assert after == ("established" if score < 0.8 else "proven")
        case "established":
            assert after == ("candidate" if score < 0.6 else "established")
        case _:
            assert after == maturity


@given(maturities, counts, shares)
@example("candidate", 3, math.nextafter(0.3, 0.0))
@example("candidate", 3, 0.3)
@example("candidate", 2, 0.0)
def test_anti_pattern_inversion_trigger(maturity: Maturity, harms: int, score: float) -> None:
    inverts = is_to_be_inverted(maturity, harmful_count=harms, score=score)
    assert inverts == (maturity != "anti_pattern" and harms >= 3 and score < 0.3)


@given(st.text(min_size=1), st.lists(st.text(min_size=1), max_size=5))
def test_an_anti_pattern_says_what_not_to_do_and_why(content: str, reasons: list[str]) -> None:
    why = "; ".join(reasons) if reasons else "repeated failures"
    expected = f"ANTI-PATTERN: Do NOT {content}. This caused problems because: {why}"
    assert inverted(content, reasons) == expected
