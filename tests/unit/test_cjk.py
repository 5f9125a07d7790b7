from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elf.core.cjk import cjk_paths, contains_cjk, contains_nul, english_pattern, nul_paths, paths_where

PLANTED = "plan\u4e2dted"


@pytest.mark.parametrize(
    "char",
    list(
        "\u4e2d\u3042\u30ab\ud55c\u3105\u3001\u300c\u1100\u3131\u31f0\uff76\uffa1\uff61\ua960\ud7b0\uf900\u3400\u31a0"
    )
    + [
        chr(code)
        for code in (0x20000, 0x2A700, 0x2B740, 0x2B820, 0x2CEB0, 0x2EBF0, 0x2F800, 0x30000, 0x323AF, 0x1B000)
    ],
)
def test_every_cjk_block_is_seen(char: str) -> None:
    assert contains_cjk(f"a note with {char} in it")


@pytest.mark.parametrize(
    "text",
    ["", "plain words", "na\xefve caf\xe9", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\U0001f642",
     "\uff21\uff11", "\u2026\u2014\u201d", "\u0e44\u0e17\u0e22", "\ufeff", "\u10ff\u1200", "\uffdd"],
)  # fmt: skip
def test_other_scripts_pass(text: str) -> None:
    assert not contains_cjk(text)


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


def test_nul_is_found_in_keys_and_values() -> None:
    assert contains_nul("a\x00")
    assert list(nul_paths({"a\x00": 1, "b": ["\x00", "0"]}, "$.r")) == ['$.r["a\\u0000"]', '$.r["b"][0]']


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


@given(st.text())
def test_the_pattern_of_json_schema_agrees_with_the_checks(text: str) -> None:
    is_english = re.search(english_pattern(), text) is not None
    assert is_english == (not contains_cjk(text) and not contains_nul(text))


@given(st.integers(0, 0x10FFFF).map(chr))
@example("\x00")
@example("\u1100")
@example("\u9fff")
@example("\U0001aff0")
@example("\U000323af")
def test_the_pattern_of_json_schema_judges_each_code_point(point: str) -> None:
    is_english = re.search(english_pattern(), f"a{point}b") is not None
    assert is_english == (not contains_cjk(point) and point != "\x00")
