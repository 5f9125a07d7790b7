"""Confidence and recency against their plain definitions."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elf.families.knowledge.model import DECAY_RATES
from elf.families.knowledge.rules.decay import (
    days_between,
    decay_state,
    effective_confidence,
    recency,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS_A_DAY = 86_400

shares = st.floats(0.0, 1.0)
rates = st.one_of(st.sampled_from(sorted(DECAY_RATES.values())), st.floats(0.0, 10.0))
ages = st.timedeltas(timedelta(0), timedelta(days=200_000))


@given(shares, rates.filter(bool), ages)
@example(1.0, 0.008, timedelta(0))
@example(0.5, 10.0, timedelta(days=200_000))
def test_confidence_falls_by_the_formula(confidence: float, rate: float, age: timedelta) -> None:
    expected = confidence * math.e ** (-rate * age.total_seconds() / SECONDS_A_DAY)
    effective = effective_confidence(confidence, rate, NOW - age, NOW)
    assert effective == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert 0.0 <= effective <= confidence


@given(shares, st.none() | ages.map(lambda age: NOW - age))
def test_permanent_facts_never_decay(confidence: float, confirmed_at: datetime | None) -> None:
    assert effective_confidence(confidence, 0.0, confirmed_at, NOW) == confidence


@given(shares, rates.filter(bool))
def test_unconfirmed_memory_returns_zero_confidence(confidence: float, rate: float) -> None:
    assert effective_confidence(confidence, rate, None, NOW) == 0.0


@given(shares, rates, ages, ages)
def test_confidence_never_grows_with_time(
    confidence: float, rate: float, some: timedelta, more: timedelta
) -> None:
    confirmed_at = NOW - some
    earlier = effective_confidence(confidence, rate, confirmed_at, NOW)
    assert effective_confidence(confidence, rate, confirmed_at, NOW + more) <= earlier


@given(shares, rates, ages)
def test_what_was_confirmed_in_the_future_has_its_whole_confidence(
    confidence: float, rate: float, ahead: timedelta
) -> None:
    assert effective_confidence(confidence, rate, NOW + ahead, NOW) == confidence


@given(ages)
def test_recency_score_uses_exponential_decay(age: timedelta) -> None:
    expected = math.exp(-math.log(2) / 7 * (age.total_seconds() / SECONDS_A_DAY))
    assert recency(NOW - age, NOW) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert 0.0 <= recency(NOW - age, NOW) <= 1.0


@given(ages)
def test_recency_halves_in_a_week(age: timedelta) -> None:
    referenced_at = NOW - age
    a_week_later = recency(referenced_at, NOW + timedelta(days=7))
    assert a_week_later == pytest.approx(recency(referenced_at, NOW) / 2, rel=1e-9, abs=1e-300)


def test_recency_of_what_was_never_referenced_is_zero() -> None:
    assert recency(None, NOW) == 0.0


@given(ages)
def test_recency_is_at_most_one(ahead: timedelta) -> None:
    assert recency(NOW + ahead, NOW) == 1.0


@given(ages)
def test_days_are_parts_of_a_day_and_never_negative(age: timedelta) -> None:
    assert days_between(NOW - age, NOW) == pytest.approx(age.total_seconds() / SECONDS_A_DAY, rel=1e-12)
    assert days_between(NOW, NOW - age) == 0.0


@given(st.floats(0.0, 1.0))
@example(0.05)
@example(math.nextafter(0.05, 0.0))
@example(0.2)
@example(math.nextafter(0.2, 0.0))
def test_decay_sweep_thresholds(effective: float) -> None:
    state = decay_state(effective)
    assert (state == "expired") == (effective < 0.05)
    assert (state == "fading") == (0.05 <= effective < 0.2)
    assert (state == "fresh") == (effective >= 0.2)


@pytest.mark.parametrize(
    ("permanence", "rate"),
    [("permanent", 0.0), ("stable", 0.002), ("standard", 0.008), ("volatile", 0.03), ("ephemeral", 0.1)],
)
def test_permanence_levels_and_their_decay_rates(permanence: str, rate: float) -> None:
    assert dict(DECAY_RATES)[permanence] == rate  # type: ignore[index]
