"""Which fields of a reference a search may ask for, and how it is asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.notes.api.source_fields import (
    MAX_DOTS,
    MAX_PATH_CHARS,
    MAX_TAGS,
    MAX_VALUE_CHARS,
    documents,
    tag,
    tags_of,
)
from elf.index.schema import EVERY_TAG

SCALARS = st.one_of(
    st.text(alphabet="ab.", max_size=3),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.booleans(),
    st.none(),
)
NAMES = st.text(alphabet="ab.", max_size=2)
REFERENCES = st.recursive(
    SCALARS,
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


def contains(whole: Any, part: Any) -> bool:
    """Postgres' @> for objects and scalars."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and contains(whole[name], value) for name, value in part.items()
        )
    is_number = [isinstance(one, (int, float)) and not isinstance(one, bool) for one in (whole, part)]
    return whole == part and (all(is_number) or type(whole) is type(part))


@given(
    reference=st.dictionaries(NAMES, REFERENCES, max_size=4),
    source=st.dictionaries(st.text(alphabet="ab.", min_size=1, max_size=3), SCALARS, min_size=1, max_size=2),
)
def test_the_tags_and_the_documents_say_the_same(reference: dict[str, Any], source: dict[str, Any]) -> None:
    by_tags = {tag(path, value) for path, value in source.items()} <= set(tags_of(reference))
    assert by_tags == any(contains(reference, document) for document in documents(source))


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (0, -0.0), (1e23, 10**23), (-2.5, -2.50), (2**53, float(2**53))]
)
def test_equal_numbers_have_one_tag(one: float, other: float) -> None:
    assert tag("n", one) == tag("n", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1, "1"),
        (None, "null"),
        (None, False),
        (True, "true"),
        ("a", "A"),
        (0.1, 0.10001),
    ],
)
def test_different_values_have_different_tags(one: Any, other: Any) -> None:
    assert tag("n", one) != tag("n", other)
    assert tag("n", one) != tag("m", one)


def test_a_dot_parts_names_or_belongs_to_one() -> None:
    assert documents({"a.b": 1, "c": 2}) == [{"a": {"b": 1}, "c": 2}, {"a.b": 1, "c": 2}]
    assert documents({"a.b": 1, "a": 2}) == [{"a.b": 1, "a": 2}]
    assert documents({"a": 2, "a.b": 1}) == [{"a": 2, "a.b": 1}]
    assert documents({"a.b": 1, "a.c": 2})[0] == {"a": {"b": 1, "c": 2}}
    assert len(documents({"." * MAX_DOTS: 1})) == 2**MAX_DOTS


def test_what_no_search_can_ask_for_has_no_tag() -> None:
    reference = {
        "list": [1, "x"],
        "empty": {},
        "x" * (MAX_PATH_CHARS + 1): 1,
        "." * (MAX_DOTS + 1): 1,
        "long": "x" * (MAX_VALUE_CHARS + 1),
        "deep": {"x" * MAX_PATH_CHARS: 1},
    }
    assert tags_of(reference) == []


def test_a_reference_with_too_many_fields_is_found_by_any() -> None:
    few = {f"field {number}": number for number in range(MAX_TAGS)}
    assert len(set(tags_of(few))) == MAX_TAGS
    assert tags_of(few | {"one more": 1}) == [EVERY_TAG]
    assert tags_of(None) == [EVERY_TAG]
