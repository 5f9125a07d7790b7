"""When a crash is followed by a restart, after how long, and when it goes up."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.kernel import RestartHistory, RestartPolicy


def steady() -> float:
    return 0.0


def delays(policy: RestartPolicy, crashes: list[tuple[float, float]]) -> list[float | None]:
    """The answers to crashes given as (time, seconds it had been ready)."""
    history = RestartHistory(policy, steady)
    return [history.delay_s(now=now, ready_for_s=ready_for_s) for now, ready_for_s in crashes]


def test_each_wait_is_the_one_before_times_the_factor_up_to_the_maximum() -> None:
    policy = RestartPolicy(initial_s=1, factor=3, max_s=20, jitter=0.5)
    assert delays(policy, [(n, 0) for n in range(5)]) == [1, 3, 9, 20, 20]


def test_jitter_shortens_a_wait_by_at_most_its_share() -> None:
    policy = RestartPolicy(initial_s=8, factor=1, max_s=8, jitter=0.25)
    numbers = iter([0.0, 0.5, 1.0])
    history = RestartHistory(policy, lambda: next(numbers))
    assert [history.delay_s(now=0, ready_for_s=0) for _ in range(3)] == [8, 7, 6]


def test_a_healthy_stretch_begins_the_row_anew_and_a_shorter_one_does_not() -> None:
    policy = RestartPolicy(initial_s=1, factor=2, max_s=100, healthy_after_s=10)
    assert delays(policy, [(0, 0), (1, 0), (2, 9.9), (3, 10), (4, 0)]) == [1, 2, 4, 1, 2]


def test_the_restart_above_the_bound_within_the_window_is_refused() -> None:
    policy = RestartPolicy(initial_s=1, factor=1, max_s=1, max_restarts=2, window_s=10)
    assert delays(policy, [(0, 0), (5, 0), (9, 0)]) == [1, 1, None]


def test_restarts_older_than_the_window_no_longer_count() -> None:
    policy = RestartPolicy(initial_s=1, factor=1, max_s=1, max_restarts=2, window_s=10)
    assert delays(policy, [(0, 0), (5, 0), (10, 0), (14.9, 0)]) == [1, 1, 1, None]


def test_a_healthy_stretch_does_not_empty_the_window() -> None:
    policy = RestartPolicy(initial_s=1, factor=1, max_s=1, max_restarts=1, window_s=100, healthy_after_s=1)
    assert delays(policy, [(0, 50), (50, 50)]) == [1, None]


def test_no_restart_at_all_when_none_is_allowed() -> None:
    assert delays(RestartPolicy(max_restarts=0), [(0, 0)]) == [None]


def test_ten_thousand_crashes_in_a_row_do_not_overflow() -> None:
    policy = RestartPolicy(max_restarts=20_000)
    history = RestartHistory(policy, steady)
    waits = [history.delay_s(now=0, ready_for_s=0) for _ in range(10_000)]
    assert waits[-1] == policy.max_s


@given(
    initial_s=st.floats(0, 100),
    factor=st.floats(1, 100),
    extra_s=st.floats(0, 1000),
    jitter=st.floats(0, 1),
    seed=st.integers(),
)
def test_every_wait_lies_between_nothing_and_the_maximum(
    initial_s: float, factor: float, extra_s: float, jitter: float, seed: int
) -> None:
    policy = RestartPolicy(initial_s=initial_s, factor=factor, max_s=initial_s + extra_s, jitter=jitter)
    history = RestartHistory(policy, random.Random(seed).random)
    for _ in range(policy.max_restarts):
        wait = history.delay_s(now=0, ready_for_s=0)
        assert wait is not None
        assert (1 - jitter) * initial_s <= wait + 1e-9
        assert 0 <= wait <= policy.max_s


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"initial_s": -1}, "initial_s"),
        ({"initial_s": math.inf, "max_s": math.inf}, "initial_s"),
        ({"factor": 0.5}, "factor"),
        ({"initial_s": 2, "max_s": 1}, "max_s"),
        ({"jitter": 1.5}, "jitter"),
        ({"healthy_after_s": math.nan}, "healthy_after_s"),
        ({"max_restarts": -1}, "max_restarts"),
        ({"window_s": 0}, "window_s"),
    ],
)
def test_a_field_out_of_its_range_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        RestartPolicy(**fields)
