"""Texts as the word search reads them, whatever is in them."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from elf.families.knowledge.rules.searchable_text import MAX_SEARCHED_BYTES, search_query, searchable

spaced = st.text(st.sampled_from("ab \t\n\r\x00\x0b\u00a0\u2028\u3000\u00e9"), max_size=60)


@given(spaced)
@example("a\x00b")
def test_nul_bytes_removed(text: str) -> None:
    assert "\x00" not in searchable(text)
    assert searchable(text) == searchable(text.replace("\x00", ""))


@given(spaced)
def test_whitespace_normalization(text: str) -> None:
    said = searchable(text)
    assert said == re.sub(r"\s+", " ", text.replace("\x00", "")).strip()
    assert searchable(said) == said


@given(spaced)
def test_search_query_preprocessing(text: str) -> None:
    assert search_query(text) == searchable(text)


def test_a_query_that_is_empty_or_none_is_empty() -> None:
    assert search_query(None) == search_query("") == search_query(" \x00\n") == ""


def test_a_query_is_not_cut() -> None:
    assert len(search_query("a" * (MAX_SEARCHED_BYTES + 1))) == MAX_SEARCHED_BYTES + 1


@given(st.sampled_from(["a", "\u00e9", "\u4e2d", "\U0001f642"]), st.integers(0, 3))
def test_long_text_is_cut_at_the_end_of_a_character(char: str, before: int) -> None:
    width = len(char.encode())
    text = "x" * before + char * (MAX_SEARCHED_BYTES // width + 1)
    said = searchable(text)
    assert text.startswith(said)
    assert MAX_SEARCHED_BYTES - width < len(said.encode()) <= MAX_SEARCHED_BYTES
