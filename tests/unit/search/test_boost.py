"""The tie-breaker: recent and important notes win among equals."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.search.boost import recency_importance

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def boost(importance: float, age_days: float, tau_days: float = 60.0) -> float:
    moment = NOW - timedelta(days=age_days)
    return recency_importance(importance=importance, updated_at=moment, now=NOW, tau_days=tau_days)


@pytest.mark.parametrize(
    ("importance", "age_days", "expected"),
    [
        (0.0, 0.0, 1.0),
        (1.0, 0.0, 1.6),
        (0.5, 60.0, 1.3 / math.e),
        (0.0, 30.0, math.exp(-0.5)),
        (1.0, 1e5, 0.0),
    ],
)
def test_it_follows_the_formula(importance: float, age_days: float, expected: float) -> None:
    assert boost(importance, age_days) == pytest.approx(expected, abs=1e-12)


def test_a_moment_in_the_future_has_no_age() -> None:
    assert boost(0.5, -3.0) == boost(0.5, 0.0)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0.1, 1e6))
def test_more_important_and_more_recent_is_never_less(
    less: float, more: float, new: float, old: float, tau: float
) -> None:
    less, more, new, old = min(less, more), max(less, more), min(new, old), max(new, old)
    assert 0.0 <= boost(less, old, tau) <= boost(more, new, tau) <= 1.6
