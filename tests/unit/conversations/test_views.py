"""What conversations show of their tree, and who may do what in it."""

from __future__ import annotations

from uuid import UUID

import pytest

from elf.families.conversations.model import LEVELS, AccessLevel
from elf.families.conversations.rules.access import allows, is_of_owner, may_share
from elf.families.conversations.rules.duration import parsed_duration
from elf.families.conversations.rules.view import (
    Place,
    Range,
    before,
    behind,
    last_place,
    shows,
    through,
    view_of,
)

A, B, C = (UUID(int=number) for number in (1, 2, 3))
VIEW = view_of(C, [A, B], [2, 1])


def test_a_view_is_of_ranges_of_its_ancestors_and_all_of_its_own() -> None:
    assert [Range(A, 2), Range(B, 1), Range(C, None)] == VIEW
    assert [shows(VIEW, Place(A, seq)) for seq in (1, 2, 3)] == [True, True, False]
    assert shows(VIEW, Place(C, 10**12))
    assert not shows(VIEW, Place(UUID(int=4), 1))


@pytest.mark.parametrize(
    ("place", "cut", "whole"),
    [
        (Place(A, 1), [], [Range(A, 1)]),
        (Place(A, 2), [Range(A, 1)], [Range(A, 2)]),
        (Place(B, 1), [Range(A, 2)], [Range(A, 2), Range(B, 1)]),
        (Place(C, 1), [Range(A, 2), Range(B, 1)], [Range(A, 2), Range(B, 1), Range(C, 1)]),
        (Place(C, 7), [Range(A, 2), Range(B, 1), Range(C, 6)], [Range(A, 2), Range(B, 1), Range(C, 7)]),
    ],
)
def test_a_fork_has_what_comes_before_an_entry_or_up_to_it(
    place: Place, cut: list[Range], whole: list[Range]
) -> None:
    assert before(VIEW, place) == cut
    assert through(VIEW, place) == whole


def test_the_last_entry_of_closed_ranges_is_that_of_the_last() -> None:
    assert last_place([]) is None
    assert last_place([Range(A, 2), Range(B, 1)]) == Place(B, 1)


def test_what_is_behind_an_entry_begins_in_the_middle_of_its_range() -> None:
    assert behind(VIEW, Place(A, 1)) == [(Range(A, 2), 1), (Range(B, 1), 0), (Range(C, None), 0)]
    assert behind(VIEW, Place(C, 5)) == [(Range(C, None), 5)]


def test_each_level_allows_what_those_below_it_do() -> None:
    for rank, level in enumerate(LEVELS):
        assert [allows(level, least) for least in LEVELS] == [place <= rank for place in range(len(LEVELS))]


@pytest.mark.parametrize(
    ("by", "level", "was", "may"),
    [
        ("owner", "manager", None, True),
        ("owner", "reader", "manager", True),
        ("manager", "writer", "reader", True),
        ("manager", "manager", None, False),
        ("manager", "reader", "manager", False),
        ("writer", "reader", None, False),
        ("reader", "reader", None, False),
    ],
)
def test_managers_are_for_owners_to_make(
    by: AccessLevel, level: AccessLevel, was: AccessLevel | None, may: bool
) -> None:
    assert may_share(by, level, was=was) is may
    assert not is_of_owner(level, was)
    assert is_of_owner("owner", was)
    assert is_of_owner(level, "owner")


@pytest.mark.parametrize(
    ("text", "days"),
    [("P90D", 90), ("P1Y2M3W4D", 365 + 60 + 21 + 4), ("PT12H", 0.5), ("P1DT36H", 2.5), ("PT0.864S", 1e-5)],
)
def test_durations_of_iso_8601(text: str, days: float) -> None:
    assert parsed_duration(text).total_seconds() == pytest.approx(days * 86_400)


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P0D", "PT0S", "-P1D", "P1", "1D", "P1.5D", "P1D ", "P1H", "P\u0661D", "P9999999999Y"],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no ISO 8601|longer than nothing|too long"):
        parsed_duration(text)
