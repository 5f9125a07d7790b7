"""Words of a query as an expression that FTS5 takes whatever the query says."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.rules.query_words import MAX_WORDS, match_expression


@pytest.fixture(scope="module")
def texts() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
    for text in ("The café moved to Lisbon.", "cats AND dogs", "3.5 miles", "記 憶"):
        connection.execute("INSERT INTO texts (text) VALUES (?)", (text,))
    return connection


def found(texts: apsw.Connection, query: str) -> list[str]:
    words = match_expression(query)
    if words is None:
        return []
    return [
        text
        for (text,) in texts.execute("SELECT text FROM texts WHERE texts MATCH ? ORDER BY rowid", (words,))
    ]


@given(query=st.text(max_size=60) | st.text('"*()AND OR NOT NEAR:^+-a1', max_size=30))
def test_no_query_is_taken_for_an_expression(texts: apsw.Connection, query: str) -> None:
    found(texts, query)  # raises where FTS5 does not take it


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe", "The café moved to Lisbon."),
        ("CAFE\u0301s", "The café moved to Lisbon."),
        ("who moves?", "The café moved to Lisbon."),
        ("a dog", "cats AND dogs"),
        ("3.5", "3.5 miles"),
        ("記憶", "記 憶"),
        ("snake_cats", "cats AND dogs"),
    ],
)
def test_words_find_what_holds_them_in_another_form(texts: apsw.Connection, query: str, text: str) -> None:
    assert found(texts, query) == [text]


def test_any_of_the_words_is_enough_and_common_ones_are_left_out() -> None:
    assert match_expression("Where is the office of the cats, the office?") == '"office" OR "cats"'


def test_common_words_alone_are_looked_for() -> None:
    assert match_expression("who are you") == '"who" OR "are" OR "you"'


@pytest.mark.parametrize("query", ["", " ", "?!", "_", "--"])
def test_a_query_without_words_has_no_expression(query: str) -> None:
    assert match_expression(query) is None


def test_of_a_long_query_so_many_words_are_looked_for() -> None:
    words = match_expression(" ".join(f"word{number}" for number in range(1000)))
    assert words is not None
    assert words.count(" OR ") == MAX_WORDS - 1
