"""A pace: a burst at once, then evenly, each name by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_goes_through_at_once_and_the_rest_evenly() -> None:
    pace = Pace(rate=10.0, burst=3, clock=Clock())
    assert [pace.delay_s("a") for _ in range(6)] == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2, 0.3])


def test_a_slow_one_never_waits_and_names_do_not_disturb_each_other() -> None:
    clock = Clock()
    pace = Pace(rate=10.0, burst=1, clock=clock)
    for _ in range(50):
        pace.delay_s("hasty")
    for _ in range(20):
        assert pace.delay_s("slow") == pytest.approx(0.0)
        clock.now += 0.11
    assert pace.delay_s("hasty") > 1.0


def test_what_was_forgotten_may_come_in_a_burst_again() -> None:
    clock = Clock()
    pace = Pace(rate=10.0, burst=2, clock=clock)
    first = [pace.delay_s("a") for _ in range(4)]
    clock.now += 10.0
    assert [pace.delay_s("a") for _ in range(4)] == pytest.approx(first)


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.sampled_from("ab")), max_size=30))
def test_no_name_goes_through_faster_than_its_rate(arrivals: list[tuple[float, str]]) -> None:
    clock = Clock()
    pace = Pace(rate=5.0, burst=4, clock=clock)
    through: dict[str, list[float]] = {"a": [], "b": []}
    for pause, name in arrivals:
        clock.now += pause
        through[name].append(clock.now + pace.delay_s(name))
    for moments in through.values():
        assert moments == sorted(moments)
        for first, begin in enumerate(moments):
            for last, end in enumerate(moments[first:], start=first):
                assert last - first + 1 <= 4 + 5.0 * (end - begin) + 1e-6
