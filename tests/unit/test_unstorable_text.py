"""Text that no database holds: escaped and made whole again, or cleaned."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.unstorable_text import cleaned, escaped, is_storable, unescaped

TEXTS = st.text(alphabet=st.sampled_from("a\\u0d\x00\ud83d\ude00\u00e9"), max_size=8)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(TEXTS, parts, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_escaped_can_be_stored_and_is_made_as_json_has_it(value: Any) -> None:
    kept = escaped(value)
    assert is_storable(kept)
    json.dumps(kept, ensure_ascii=False).encode()
    assert unescaped(kept) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as it is", "as it is"),
        ("NUL \x00!", "NUL !"),
        ("half \ud83d.", "half \ufffd."),
        ("whole \ud83d\ude00", "whole \U0001f600"),
        ("\x00", ""),
    ],
)
def test_a_cleaned_text_can_be_stored(text: str, expected: str) -> None:
    assert cleaned(text) == expected
    assert is_storable(cleaned(text))
