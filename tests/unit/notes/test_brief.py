"""A source_ref in short: what tells a reader where a note comes from, in a bounded number of characters."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.notes.api.brief import MAX_SOURCE_CHARS, source_in_short


def raw(reference: dict[str, Any]) -> msgspec.Raw:
    """The reference as Postgres gives it."""
    return msgspec.Raw(json.dumps(reference))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
evidence = st.lists(values | st.fixed_dictionaries({"quote": st.text(max_size=300)}), max_size=3)


@pytest.mark.parametrize(
    ("reference", "short"),
    [
        ({}, None),
        ({"ticket": "SUP-1204"}, "ticket: SUP-1204"),
        (
            {"url": "a b\n c", "line": 3, "is_new": True, "by": None},
            "url: a b c, line: 3, is_new: true, by: null",
        ),
        ({"a": [], "b": {"c": 1}, "d": 1.5, "e": 2, "f": 3}, "a: […], b: {…}, d: 1.5, e: 2"),
        ({"evidence": [{"quote": "I like tea.", "message_index": 0}], "reason": "said"}, '"I like tea."'),
        ({"evidence": [{"quote": "One."}, {"quote": "Two."}]}, '"One.", "Two."'),
        ({"evidence": "hearsay"}, "evidence: hearsay"),
        ({"evidence": [{"quote": 5}]}, "evidence: […]"),
        ({"evidence": [{"quote": "x" * 20_000}], "by": "Ana"}, "evidence: […], by: Ana"),
        ({"text": "x" * 79}, f"text: {'x' * 73}…"),
        ({"text": "x" * 74}, f"text: {'x' * 74}"),
    ],
)
def test_a_source_in_short(reference: dict[str, Any], short: str | None) -> None:
    assert source_in_short(raw(reference)) == short


@given(st.dictionaries(st.text(max_size=99), values, max_size=6), st.none() | evidence)
def test_any_source_is_one_short_line(reference: dict[str, Any], evidence: list[Any] | None) -> None:
    short = source_in_short(raw(reference if evidence is None else reference | {"evidence": evidence}))
    assert short is None or 0 < len(short) <= MAX_SOURCE_CHARS
    assert short is None or len(short.splitlines()) == 1
