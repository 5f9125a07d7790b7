"""Paths within values lead to the texts that LangGraph finds by them, and to no more of them than is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import get_text_at_path

from elf.families.store.rules.texts import TextBounds, TooManyVisits, texts_at

MANY = 1_000_000
NAMES = st.sampled_from(["a", "b", "c d"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)
STEPS = st.sampled_from(["a", "b", "[0]", "[-1]", "[*]", "*", "{a,b}", "{a.b}", "c d"])
PATHS = st.one_of(st.text(alphabet="ab.[]{}*,0-1$ ", max_size=10), st.lists(STEPS, max_size=4).map(".".join))


def texts(
    value: Any, paths: Iterable[str], *, visits: int = MANY, chars: int = MANY, each: int = MANY
) -> list[str]:
    bounds = TextBounds(visits=visits, chars=chars, text_chars=each)
    return [text for text in texts_at(value, paths, bounds) if text is not None]


@given(VALUES, PATHS)
def test_any_path_leads_where_langgraph_finds_it_to_lead(value: Any, path: str) -> None:
    assert texts(value, [path]) == get_text_at_path(value, path)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["title", "tags[*]"], ["A", "x", "y"]),
        (["tags[-1]", "by.name"], ["y", "Ana"]),
        (["$"], ['{"by": {"name": "Ana"}, "n": 1, "tags": ["x", "y"], "title": "A"}']),
        (["n", "missing", "tags[9]", "title.name"], ["1"]),
        (["by"], ['{"name": "Ana"}']),
        (["title", "n", "title"], ["A", "1"]),
    ],
)
def test_texts_come_in_the_order_of_their_paths(paths: list[str], found: list[str]) -> None:
    value = {"title": "A", "tags": ["x", "y"], "n": 1, "by": {"name": "Ana"}}
    assert texts(value, paths) == found


@given(VALUES, st.integers(1, 40))
def test_a_text_that_is_cut_off_is_the_beginning_of_the_whole_one(value: Any, most: int) -> None:
    whole = json.dumps(value, sort_keys=True, ensure_ascii=False)
    assert texts(value, ["$"], each=most) == [whole[:most]]


def test_texts_end_where_they_have_all_the_characters_that_they_may() -> None:
    value = {"a": "xxxx", "b": "yyyy", "c": "zzzz"}
    assert texts(value, ["a", "b", "c"], chars=6) == ["xxxx", "yy"]
    assert texts(value, ["*"], chars=8) == ["xxxx", "yyyy"]
    assert texts(value, ["a", "b"], each=3, chars=5) == ["xxx", "yy"]


@given(VALUES, st.lists(PATHS, max_size=3), st.integers(1, 40), st.integers(1, 40))
def test_it_is_told_whether_all_texts_were_read(value: Any, paths: list[str], chars: int, each: int) -> None:
    bounds = TextBounds(visits=MANY, chars=chars, text_chars=each)
    read = [text for text in texts_at(value, paths, bounds) if text is not None]
    whole = texts(value, paths)
    assert "".join(read) == "".join(text[:each] for text in whole)[: chars - bounds.chars]
    assert not ("".join(read) != "".join(whole) and not bounds.is_cut)
    assert not (read == whole and bounds.is_cut)


@pytest.mark.parametrize("path", ["[*].a", "[*].{a,b}", "*.*"])
def test_paths_lead_through_no_more_than_they_may(path: str) -> None:
    value = [{} for _ in range(100)]
    texts(value, [path], visits=1000)
    with pytest.raises(TooManyVisits):
        texts(value, [path], visits=99)


def test_very_many_keys_are_told_in_their_order() -> None:
    value = {f"{number * 7919 % 100_003:06}": 1 for number in range(100_003)}
    whole = json.dumps(value, sort_keys=True)
    assert texts(value, ["$"], each=5000) == [whole[:5000]]
