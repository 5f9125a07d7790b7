from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.errors import InvalidRequest
from elf.core.ttl import expiry, is_expired

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@given(days=st.floats(min_value=1e-6, max_value=100_000), default=st.integers(0, 10_000))
def test_a_life_asked_for_wins(days: float, default: int) -> None:
    assert expiry(now=NOW, ttl_days=days, default_days=default) == NOW + timedelta(days=days)


@given(
    days=st.none() | st.floats(max_value=0, allow_nan=False) | st.integers(max_value=0),
    default=st.integers(1, 10_000),
)
def test_the_default_of_the_type_applies_when_no_life_is_asked_for(days: float | None, default: int) -> None:
    assert expiry(now=NOW, ttl_days=days, default_days=default) == NOW + timedelta(days=default)


@pytest.mark.parametrize("days", [None, 0, -1, -0.5])
def test_a_note_without_life_and_default_never_expires(days: float | None) -> None:
    assert expiry(now=NOW, ttl_days=days, default_days=0) is None


def test_part_of_a_day_counts() -> None:
    assert expiry(now=NOW, ttl_days=0.5, default_days=14) == NOW + timedelta(hours=12)


@pytest.mark.parametrize("days", [10_000_000, 1e12, float("inf"), float("nan"), 10**400])
def test_a_life_beyond_the_calendar_is_refused(days: float) -> None:
    with pytest.raises(InvalidRequest, match="year 10000"):
        expiry(now=NOW, ttl_days=days, default_days=14)


def test_a_note_expires_at_its_moment_and_not_before() -> None:
    assert not is_expired(None, NOW)
    assert not is_expired(NOW + timedelta(microseconds=1), NOW)
    assert is_expired(NOW, NOW)
    assert is_expired(NOW - timedelta(days=1), NOW)
