"""A pace: how far what comes is ahead of it, each name by itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.rate_limit import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_each_of_a_burst_is_a_step_further_ahead() -> None:
    pace = Pace(rate=10.0, clock=Clock())
    assert [pace.ahead_s("a") for _ in range(4)] == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_a_slow_one_is_never_ahead_and_names_do_not_disturb_each_other() -> None:
    clock = Clock()
    pace = Pace(rate=10.0, clock=clock)
    for _ in range(50):
        pace.ahead_s("hasty")
    for _ in range(20):
        assert pace.ahead_s("slow") == pytest.approx(0.1)
        clock.now += 0.11
    assert pace.ahead_s("hasty") == pytest.approx(5.1 - 20 * 0.11)


def test_whoever_pauses_is_no_longer_ahead() -> None:
    clock = Clock()
    pace = Pace(rate=10.0, clock=clock)
    first = [pace.ahead_s("a") for _ in range(4)]
    clock.now += 10.0
    assert pace.ahead_s("b") == pytest.approx(0.1)
    assert [pace.ahead_s("a") for _ in range(4)] == pytest.approx(first)


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.sampled_from("ab")), max_size=30))
def test_who_comes_when_told_keeps_the_pace(arrivals: list[tuple[float, str]]) -> None:
    clock = Clock()
    pace = Pace(rate=5.0, clock=clock)
    told: dict[str, list[float]] = {"a": [], "b": []}
    for pause, name in arrivals:
        clock.now += pause
        told[name].append(clock.now + pace.ahead_s(name))
    for moments in told.values():
        assert all(later - sooner >= 0.2 - 1e-9 for sooner, later in pairwise(moments))
