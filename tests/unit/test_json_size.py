"""Counting the values of JSON before it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.json_size import holding_more_digits, holding_more_values
from elf.core.slices import at_once

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


def count(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, children))


def holds_more(text: bytes, most: int) -> bool:
    return at_once(holding_more_values(text, most))


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_every_value_counts_and_no_key_and_nothing_within_a_string(
    value: Any, ascii: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent).encode()
    assert not holds_more(text, count(value))
    assert count(value) == 1 or holds_more(text, count(value) - 1)


@pytest.mark.parametrize(
    "text",
    [b"", b'"', b'"\\', b"[" * 100_000, b'"\\"' * 100_000, b'[" ' * 100_000, b"[" + b" " * 100_000, b"\xff,"],
)
def test_what_is_no_json_is_counted_somehow(text: bytes) -> None:
    holds_more(text, 10)


def test_the_count_gives_way_now_and_then_and_stops_at_the_bound() -> None:
    text = json.dumps([1] * 50_000).encode()
    assert len(list(holding_more_values(text, 40_000))) >= 30
    assert len(list(holding_more_values(text, 10))) <= 1


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        (b"1e23", 24), (b"[1e-320, 2E+5]", 327), (b"1" * 25, 25), (b'{"1e99": "5e99"}', 0), (b"[12345678.5]", 0),
        (b"1." + b"0" * 30, 32), (b'["1e9", 1e9]', 10), (b"[" + b"7," * 9000 + b"1e9]", 10), (b"1e" + b"9" * 99, 10**9),
        (rb'["\" 1e9", "\\", 1e9]', 10), (b"[" + b'"1e9",' * 60_000 + b"1e9]", 10),
    ],
)  # fmt: skip
def test_long_numbers_count_as_they_are_written_out(text: bytes, digits: int) -> None:
    assert digits == 0 or at_once(holding_more_digits(text, digits - 1))
    assert not at_once(holding_more_digits(text, digits))


def written_digits(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    digits = sum(map(written_digits, children))
    if isinstance(value, int | float) and not isinstance(value, bool):
        mantissa, _, exponent = repr(value).lstrip("-").partition("e")
        if exponent or len(mantissa) >= 25:
            digits += len(mantissa) + abs(int(exponent or 0))
    return digits


@given(VALUES)
def test_the_digits_are_those_of_the_numbers_and_none_of_a_string(value: Any) -> None:
    text, digits = json.dumps(value).encode(), written_digits(value)
    assert not at_once(holding_more_digits(text, digits))
    assert digits == 0 or at_once(holding_more_digits(text, digits - 1))


def test_counting_digits_gives_way_now_and_then() -> None:
    assert len(list(holding_more_digits(json.dumps([1e23] * 50_000).encode(), 10**7))) >= 30
