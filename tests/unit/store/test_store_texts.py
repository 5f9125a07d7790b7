"""Paths within values lead to the texts that LangGraph finds by them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import get_text_at_path

from elf.families.store.rules.texts import texts_at

NAMES = st.sampled_from(["a", "b", "c d"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)
STEPS = st.sampled_from(["a", "b", "[0]", "[-1]", "[*]", "*", "{a,b}", "{a.b}", "c d"])
PATHS = st.one_of(st.text(alphabet="ab.[]{}*,0-1$ ", max_size=10), st.lists(STEPS, max_size=4).map(".".join))


@given(VALUES, PATHS)
def test_any_path_leads_where_langgraph_finds_it_to_lead(value: Any, path: str) -> None:
    assert texts_at(value, [path]) == get_text_at_path(value, path)


@pytest.mark.parametrize(
    ("paths", "texts"),
    [
        (["title", "tags[*]"], ["A", "x", "y"]),
        (["tags[-1]", "by.name"], ["y", "Ana"]),
        (["$"], ['{"by": {"name": "Ana"}, "n": 1, "tags": ["x", "y"], "title": "A"}']),
        (["n", "missing", "tags[9]", "title.name"], ["1"]),
        (["by"], ['{"name": "Ana"}']),
    ],
)
def test_texts_come_in_the_order_of_their_paths(paths: list[str], texts: list[str]) -> None:
    value = {"title": "A", "tags": ["x", "y"], "n": 1, "by": {"name": "Ana"}}
    assert texts_at(value, paths) == texts
