"""Names that are new and many count as one; who comes back counts for itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.newcomers import COMES_BACK_S, LATELY_S, MAX_KNOWN, MAX_NEW, Newcomers

FEW = 8


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def newcomers(clock: Clock) -> Newcomers:
    return Newcomers(few=FEW, clock=clock)


def crowd(
    newcomers: Newcomers, clock: Clock, *, names: int = 100, prefix: str = "n", step_s: float = 0.001
) -> None:
    for number in range(names):
        newcomers.party(f"{prefix}{number}")
        clock.now += step_s


def test_a_few_new_names_each_count_for_themselves(newcomers: Newcomers) -> None:
    names = [f"n{number}" for number in range(FEW)]
    assert [newcomers.party(name) for name in names * 3] == names * 3


def test_many_new_names_count_as_one(newcomers: Newcomers, clock: Clock) -> None:
    crowd(newcomers, clock)
    assert {newcomers.party(f"m{number}") for number in range(50)} == {None}


def test_new_names_count_for_themselves_again_once_they_are_few(newcomers: Newcomers, clock: Clock) -> None:
    crowd(newcomers, clock)
    assert newcomers.party("late") is None
    clock.now += LATELY_S
    assert newcomers.party("later") == "later"


def test_a_name_that_was_there_before_a_crowd_counts_for_itself(newcomers: Newcomers, clock: Clock) -> None:
    newcomers.party("anna")
    crowd(newcomers, clock)
    assert newcomers.party("anna") == "anna"


def test_a_name_that_comes_back_within_a_crowd_counts_for_itself_from_then_on(
    newcomers: Newcomers, clock: Clock
) -> None:
    crowd(newcomers, clock)
    assert newcomers.party("anna") is None
    clock.now += COMES_BACK_S - 0.1
    crowd(newcomers, clock, prefix="m")
    assert [newcomers.party("anna") for _ in range(3)] == ["anna"] * 3


def test_a_name_that_is_used_twice_at_once_does_not_count_for_itself(
    newcomers: Newcomers, clock: Clock
) -> None:
    crowd(newcomers, clock)
    assert [newcomers.party("twice"), newcomers.party("twice")] == [None, None]


def test_no_flood_of_names_makes_a_known_one_forgotten(newcomers: Newcomers, clock: Clock) -> None:
    newcomers.party("anna")
    clock.now += COMES_BACK_S
    assert newcomers.party("anna") == "anna"
    crowd(newcomers, clock, names=MAX_NEW + 1000)
    assert newcomers.party("anna") == "anna"


def test_the_known_that_asked_longest_ago_are_forgotten_beyond_a_bound(
    newcomers: Newcomers, clock: Clock
) -> None:
    for _ in range(2):
        crowd(newcomers, clock, names=MAX_KNOWN + 1)
    crowd(newcomers, clock, prefix="m")
    assert newcomers.party("n0") is None
    assert newcomers.party(f"n{FEW + 1}") == f"n{FEW + 1}"


@given(st.lists(st.tuples(st.sampled_from("abcdefghijklmnop"), st.floats(0, 3)), max_size=60))
def test_a_request_counts_for_its_tenant_or_for_all_newcomers(asked: list[tuple[str, float]]) -> None:
    clock = Clock()
    newcomers = Newcomers(few=FEW, clock=clock)
    first: dict[str, float] = {}
    for tenant, pause_s in asked:
        clock.now += pause_s
        came_back = clock.now - first.setdefault(tenant, clock.now) >= COMES_BACK_S
        party = newcomers.party(tenant)
        assert party == tenant if came_back else party in (tenant, None)
        if came_back:
            first[tenant] = -10.0  # known from now on
