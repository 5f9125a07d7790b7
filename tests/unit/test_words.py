from __future__ import annotations

import pytest

from elf.core.words import Stems, TermMatch, TermMatcher


def match(query: str, text: str, key: str | None, limit: int = 8) -> TermMatch:
    return TermMatcher(query, Stems()).match(text, key, limit)


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
        ("Is the cat dying?", "it dies", None, ["dying"]),
        ("Who lies and ties a knot", "she is lying, tying", None, ["lies", "ties"]),
        ("v2 port 8080", "listens on port 8080", None, ["port", "8080"]),
    ],
)
def test_matched_terms_are_the_query_words_found(
    query: str, snippet: str, key: str | None, terms: list[str]
) -> None:
    assert match(query, snippet, key).terms == terms


def test_at_most_eight_terms_are_returned_in_query_order() -> None:
    query = "north south east west red green blue black white"
    snippet = " ".join(reversed(query.split()))
    assert match(query, snippet, None).terms == query.split()[:8]
    assert match(query, snippet, None, limit=2).terms == ["north", "south"]


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
    assert match("testing", text, key).fields == fields


def test_one_matcher_serves_many_results() -> None:
    matcher = TermMatcher("Where do the cats sleep", Stems())
    assert [matcher.match(text, None).terms for text in ("a cat", "sleeping dogs", "none")] == [
        ["cats"],
        ["sleep"],
        [],
    ]
