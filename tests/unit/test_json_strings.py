"""The walk over the strings of decoded JSON, and the paths it gives them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.cjk import contains_cjk
from elf.core.json_strings import judged, nested_deeper
from elf.core.slices import at_once

PLANTED = "plan\u4e2dted"


def paths_where(value: Any, path: str, predicate: Callable[[str], bool]) -> list[str]:
    verdicts = judged(value, path, lambda text: predicate(text) or None)
    return [found[0] for found in verdicts if found is not None]


def cjk_paths(value: Any, path: str) -> list[str]:
    return paths_where(value, path, contains_cjk)


def test_a_string_is_reported_by_its_own_path() -> None:
    assert list(cjk_paths("\u4e2d", "$.query")) == ["$.query"]
    assert list(cjk_paths("fine", "$.query")) == []


@pytest.mark.parametrize("value", [None, True, 3, 2.5, [], {}])
def test_values_without_text_have_no_paths(value: object) -> None:
    assert list(cjk_paths(value, "$.x")) == []


def test_all_paths_come_in_request_order() -> None:
    value = {"k": ["a", "\u4e2d"], "b": {"\u3042": {"c": "\ud55c"}}, "d": "\u4e2d", "e": None}
    path = "$.notes[0].source_ref"
    assert list(cjk_paths(value, path)) == [
        f'{path}["k"][1]',
        f'{path}["b"]["\u3042"]',
        f'{path}["b"]["\u3042"]["c"]',
        f'{path}["d"]',
    ]


def test_a_key_and_its_value_are_reported_once() -> None:
    assert list(cjk_paths({"\u4e2d": "\u4e2d"}, "$")) == ['$["\u4e2d"]']


def test_keys_are_written_as_json_strings() -> None:
    assert list(cjk_paths({'a"b\\': "\u4e2d"}, "$")) == ['$["a\\"b\\\\"]']


def test_a_lone_surrogate_in_a_key_can_be_sent() -> None:
    (path,) = cjk_paths({"\ud800": "\u4e2d"}, "$")
    assert path.encode("utf-8") == b'$["\\ud800"]'


def test_control_characters_in_keys_are_escaped() -> None:
    value = {"a\x00": 1, "b": ["\x00", "0"]}
    assert paths_where(value, "$.r", lambda text: "\x00" in text) == ['$.r["a\\u0000"]', '$.r["b"][0]']


def test_a_very_long_key_is_cut_in_its_path() -> None:
    (path,) = cjk_paths({"k" * 5000: "\u4e2d"}, "$")
    assert path == f'$["{"k" * 128}..."]'


def test_the_walk_gives_way_now_and_then() -> None:
    seen = list(judged([1] * 10_000, "$", lambda text: None))
    assert set(seen) == {None}
    assert len(seen) > 100


def test_the_first_verdict_of_a_key_and_its_value_counts() -> None:
    def length(text: str) -> int | None:
        return len(text) if len(text) > 1 else None

    assert [found for found in judged({"ab": "abc", "a": "abcd"}, "$", length) if found] == [
        ('$["ab"]', 2), ('$["a"]', 4)
    ]  # fmt: skip


def test_deep_nesting_does_not_overflow_the_stack() -> None:
    value: Any = PLANTED
    for _ in range(20_000):
        value = [value]
    assert list(cjk_paths(value, "$")) == ["$" + "[0]" * 20_000]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="abc\xe9\x00", max_size=4),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(alphabet="ab\"'\xe9", max_size=3), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def strings_of(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every string of a value with its path, by plain recursion."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings_of(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings_of(item, f"{path}[{json.dumps(key, ensure_ascii=False)}]")


def planted(value: Any, paths: list[str], path: str = "$") -> Any:
    """The value with the string at each of `paths` replaced by CJK text."""
    if path in paths:
        return PLANTED
    if isinstance(value, list):
        return [planted(item, paths, f"{path}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            key: planted(item, paths, f"{path}[{json.dumps(key, ensure_ascii=False)}]")
            for key, item in value.items()
        }
    return value


@given(json_values, st.data())
def test_cjk_anywhere_in_nested_values_is_found_with_its_exact_path(value: Any, data: st.DataObject) -> None:
    assert list(cjk_paths(value, "$")) == []
    places = [path for path, _ in strings_of(value, "$")]
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    assert list(cjk_paths(planted(value, chosen), "$")) == sorted(chosen, key=places.index)


@given(json_values)
def test_any_predicate_can_be_asked(value: Any) -> None:
    expected = [path for path, text in strings_of(value, "$") if text == "a"]
    keys_never = [
        path for path in paths_where(value, "$", lambda text: text == "a") if not path.endswith('["a"]')
    ]
    assert [path for path in expected if not path.endswith('["a"]')] == keys_never


NESTED = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


@given(NESTED, st.integers(min_value=1, max_value=6))
def test_what_is_nested_deeper_is_what_the_walk_finds_too_deep(value: Any, depth: int) -> None:
    found = judged(value, "$", lambda text: None, too_deep="deep", depth=depth)
    assert at_once(nested_deeper(value, depth)) is any(one is not None for one in found)


def test_a_long_list_is_looked_at_in_pieces() -> None:
    assert sum(1 for _ in nested_deeper([0] * 100_000, 64)) > 10
