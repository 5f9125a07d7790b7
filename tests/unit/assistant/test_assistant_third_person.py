"""What users say of themselves, said of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.assistant.rules.third_person import third_person


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        ("I prefer tea", "User prefers tea."),
        ("I really like hiking!", "User really likes hiking."),
        ("I\u2019m allergic to nuts.", "User is allergic to nuts."),
        ("I am not a fan of jazz", "User is not a fan of jazz."),
        ("I've got two cats", "User has two cats."),
        ("I don't eat meat", "User does not eat meat."),
        ("I can't stand olives", "User cannot stand olives."),
        ("I live in Berlin", "User lives in Berlin."),
        ("I study physics", "User studies physics."),
        ("I teach chess", "User teaches chess."),
        ("I moved to Berlin", "User moved to Berlin."),
        ("My favorite color is green", "User's favorite color is green."),
        ("please call me Ana", "User's preferred name is Ana."),
        ("Answer in German", "User's preferred language is German."),
        ("The API limit is 500", "The API limit is 500."),
        ("I walk my dog at noon", None),
        ("I live with my wife Ana in Rome", "User lives with User's wife Ana in Rome."),
        ("I'm married and have 3 kids", "User is married and has 3 kids."),
        ("I plan to run before I turn 40", None),
        ("My wife is a nurse and she loves it", None),
        ('I love the song "All of me"', 'User loves the song "All of me".'),
        ("so I think we should", None),
        ("Give me a minute", None),
    ],
)
def test_fixed_patterns_say_it_and_the_rest_is_left(quote: str, said: str | None) -> None:
    assert third_person(quote) == said


@given(st.text(max_size=300))
def test_any_text_is_taken(quote: str) -> None:
    said = third_person(quote)
    assert said is None or said.endswith(".")
