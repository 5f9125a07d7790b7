"""Changing one member of a JSON text with comments: everything else stays, to the letter."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.cli import jsonc

PATH = ("servers", "elf")
ENTRY = {"command": "/bin/elf-mcp", "args": ["-c", "/a b/elf.toml"]}
SPACE = ("", " ", "\n", "\n\t", "  ", " // a note: {\n", '/* not\n"json" */', "\n  // ],\n    ")

names = st.text(max_size=6) | st.sampled_from(["servers", "elf", "//", '"'])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.just({"elf": {"env": {}}}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An object, and a text of it in some layout, with comments anywhere and commas at the end."""
    whole = draw(st.dictionaries(names, values, max_size=4))
    return draw(layouts(whole)), whole


@st.composite
def layouts(draw: st.DrawFn, value: Any) -> str:
    def space() -> str:
        return draw(st.sampled_from(SPACE))

    if not isinstance(value, dict | list):
        return space() + json.dumps(value, ensure_ascii=draw(st.booleans())) + space()
    if isinstance(value, dict):
        parts = [f"{space()}{json.dumps(name)}{space()}:{draw(layouts(one))}" for name, one in value.items()]
    else:
        parts = [draw(layouts(one)) for one in value]
    last = "," if parts and draw(st.booleans()) else ""
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{space()}{opening}{','.join(parts)}{last}{space()}{closing}{space()}"


@given(texts())
def test_a_text_with_comments_is_read_as_the_object_it_holds(given: tuple[str, dict[str, Any]]) -> None:
    text, whole = given
    assert jsonc.read(text) == whole


@given(texts())
def test_a_member_is_set_and_nothing_else_is_lost(given: tuple[str, dict[str, Any]]) -> None:
    text, whole = given
    servers = whole.get("servers", {})
    if not isinstance(servers, dict):
        with pytest.raises(jsonc.NotJson, match="servers is no object"):
            jsonc.with_member(text, PATH, ENTRY)
        return
    changed = jsonc.with_member(text, PATH, ENTRY)
    assert jsonc.read(changed) == whole | {"servers": servers | {"elf": ENTRY}}
    if "elf" not in servers:
        kept = iter(changed)
        assert all(character in kept for character in text)  # in this order, with something between


def test_a_text_of_an_editor_stays_as_it_is_around_the_entry() -> None:
    text = """\
// Settings
{
    "theme": "One Dark", // dark
    /* servers of mine */
    "context_servers": {
        "other": { "command": "x" }, // last
    },
}
"""
    changed = jsonc.with_member(text, ("context_servers", "elf"), {"command": "y"})
    assert changed == text.replace(
        "}, // last\n", '}, // last\n        "elf": {\n          "command": "y"\n        },\n'
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", '{\n  "a": 1\n}\n'),
        ("{}", '{\n  "a": 1\n}'),
        ('{"b": 2}', '{"b": 2,\n  "a": 1\n}'),
        ('{\r\n\t"b": 2\r\n}', '{\r\n\t"b": 2,\r\n\t"a": 1\r\n}'),
        ('{\n  "b": 2 // two\n}', '{\n  "b": 2, // two\n  "a": 1\n}'),
        ('{\n  "a": {"old": 1} // one\n}', '{\n  "a": 1 // one\n}'),
    ],
)
def test_the_layout_is_followed(text: str, changed: str) -> None:
    assert jsonc.with_member(text, ["a"], 1) == changed


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "no JSON object"),
        ("{", "no JSON in line 1"),
        ('{"a": 1}\n}', "something follows the JSON in line 2"),
        ('{\n"a": nope}', "no JSON in line 2"),
        ('{"a": 1, "a": 2}', "two members a"),
        ('{\n\n"a" 1}', "no JSON in line 3"),
        ('{"a": "unended}', "no JSON in line 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_object_is_refused_with_its_place(text: str, fault: str) -> None:
    with pytest.raises(jsonc.NotJson, match=re.escape(fault)):
        jsonc.with_member(text, ["b"], 1)
