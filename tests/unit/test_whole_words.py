"""Names are found as they are, and not within longer words: in texts, in JSON, and in bytes as Postgres shows them."""

from __future__ import annotations

import json
import re

import pytest

from elf.core.whole_words import whole_words, whole_words_in_bytes, whole_words_in_postgres

NAMES = ["ana", 'a "b" \\ c', "José.Silva@x", "日本"]


def as_python(pattern: str) -> re.Pattern[str]:
    """Return an expression of Postgres, which means the same in Python as far as it goes here."""
    return re.compile(pattern)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_found_as_it_is_and_as_json_has_it(name: str) -> None:
    holds, pattern = whole_words(["nobody", name]), as_python(whole_words_in_postgres(["nobody", name]))
    lines = f"one\n{name}"
    for text in (
        name,
        f"user:{name}",
        f"({name}, 1)",
        json.dumps([name], ensure_ascii=False),
        json.dumps(lines),
    ):
        if ascii(name) == repr(name) or "\\u" not in text:
            assert holds(text), text
            assert pattern.search(text), text
    for text in ("", f"x{name}", f"{name}x", "someone else"):
        assert not holds(text), text
        assert pattern.search(text) is None, text


def test_nothing_is_found_by_no_name() -> None:
    assert not whole_words([])("anything")


def test_in_bytes_a_long_name_is_found_whatever_is_beside_it() -> None:
    name = "José\\Silva"
    escaped = "".join(
        chr(byte) if byte < 0x80 else f"\\{byte:03o}" for byte in name.replace("\\", "\\\\").encode()
    )
    pattern = as_python(whole_words_in_bytes([name, "ana"]))
    assert pattern.search(f"\\243{escaped}7")
    assert pattern.search("x\\000 ana.")
    assert pattern.search("banana") is None
