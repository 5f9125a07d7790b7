"""JSON values as Postgres reads them back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.same_json import comparing_json
from elf.core.slices import at_once


def same_json(first: Any, second: Any) -> bool:
    return at_once(comparing_json(first, second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1e23, 10**23), (-0.0, 0.0), (-0.0, 0), (1, 1.0), (0.1, 0.1), ({"a": [1e23, None]}, {"a": [10**23, None]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ("x", "x"), (True, True), (None, None), ([], []), ({}, {}),
    ],
)  # fmt: skip
def test_the_same_value_in_other_clothes_is_the_same(first: Any, second: Any) -> None:
    assert same_json(first, second)
    assert same_json(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, True), (0, False), (0, None), (1, "1"), (1e23, 10**23 + 1), (2**64, 2**64 + 1), ([1, 2], [2, 1]),
        ([1], [1, 1]), ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 1, "b": 1}), ({"a": {"b": 1}}, {"a": {"b": True}}),
        ({}, []), ("", None), ("a", "A"), ([], ""),
    ],
)  # fmt: skip
def test_another_value_is_not(first: Any, second: Any) -> None:
    assert not same_json(first, second)
    assert not same_json(second, first)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_same_as_its_digits_written_out(number: float) -> None:
    digits = format(Decimal(repr(number)), "f")  # as jsonb writes it
    assert same_json(number, json.loads(digits))


def test_many_values_are_compared_in_slices() -> None:
    numbers = list(range(2000))
    assert len(list(comparing_json({"a": numbers}, {"a": numbers}))) == 7, (
        "one pause every 256 of 2,002 values"
    )
    assert same_json(numbers, [*numbers])
    assert not same_json(numbers, [None, *numbers[1:]]), "what is looked at last counts, too"
