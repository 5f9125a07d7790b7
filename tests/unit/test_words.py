from __future__ import annotations

import pytest

from elf.core.words import TermMatcher, matched_fields, matched_terms


@pytest.mark.parametrize(
    ("query", "snippet", "key", "terms"),
    [
        ("When did Melanie go running?", "Melanie ran and runs daily", None, ["Melanie", "running"]),
        ("preferred languages", "English it is", "preferred_language", ["preferred", "languages"]),
        ("languages preferred", "Prefers one language", None, ["languages", "preferred"]),
        ("What is the of and", "what is the of and", "the", []),
        ("Caroline's identity", "caroline is known", None, ["Caroline"]),
        ("O\u2019Brien", "Mr. O\u2019Brien", None, ["O\u2019Brien"]),
        ("don't I know", "I don't know", None, ["know"]),
        ("Run, run, RUNNING", "a run", None, ["Run"]),
        ("database", "", None, []),
        ("", "anything", None, []),
        ("v2 port 8080", "listens on port 8080", None, ["port", "8080"]),
    ],
)
def test_matched_terms_are_the_query_words_found(
    query: str, snippet: str, key: str | None, terms: list[str]
) -> None:
    assert matched_terms(query, snippet, key) == terms


def test_at_most_eight_terms_are_returned_in_query_order() -> None:
    query = "north south east west red green blue black white"
    snippet = " ".join(reversed(query.split()))
    assert matched_terms(query, snippet, None) == query.split()[:8]
    assert matched_terms(query, snippet, None, limit=2) == ["north", "south"]


@pytest.mark.parametrize(
    ("text", "key", "fields"),
    [
        ("the tests run", "test_runner", ["key", "text"]),
        ("the tests run", None, ["text"]),
        ("nothing", "test_plan", ["key"]),
        ("nothing", "other", []),
        ("", None, []),
    ],
)
def test_matched_fields_are_sorted(text: str, key: str | None, fields: list[str]) -> None:
    assert matched_fields("testing", text, key) == fields


def test_one_matcher_serves_many_results() -> None:
    matcher = TermMatcher("Where do the cats sleep")
    assert [matcher.matched_terms(text, None) for text in ("a cat", "sleeping dogs", "none")] == [
        ["cats"],
        ["sleep"],
        [],
    ]
