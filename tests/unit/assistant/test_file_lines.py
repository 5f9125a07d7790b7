"""Which lines are shown of a file that was found by words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.assistant.rules.file_lines import MOST_LINE_CHARS, MOST_LINES, Line, best_lines

TEXT = "# Drinks\n\nGreen tea.\nTea, tea, tea.\nMilk.\nGREEN milk and tea.\ngreen\n"


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["green"], [3, 6, 7]), (["green", "tea"], [3, 4, 6]), (["green", "milk", "tea"], [3, 4, 6]),
        (["drinks"], [1]), (["wine"], []), ([], []), ([".", "*"], [3, 4, 5]),
    ],
)  # fmt: skip
def test_lines_with_most_of_the_words_are_shown_in_their_order(words: list[str], numbers: list[int]) -> None:
    found = best_lines(TEXT, words)
    assert [line.number for line in found] == numbers
    assert all(TEXT.split("\n")[line.number - 1] == line.text for line in found)


def test_long_lines_are_cut() -> None:
    assert best_lines("tea " * 1000, ["tea"]) == [Line(1, ("tea " * 1000)[:MOST_LINE_CHARS])]


@given(
    st.text(st.sampled_from("aAbİ \n\r."), max_size=200),
    st.lists(st.sampled_from(["a", "b", "ab", "i", "."]), max_size=3),
)
def test_every_line_that_is_shown_has_a_word(text: str, words: list[str]) -> None:
    found = best_lines(text, words)
    assert len(found) <= MOST_LINES
    for line in found:
        assert re.search("|".join(map(re.escape, words)), line.text.lower())
    holding = [line for line in text.split("\n") if any(word in line.lower() for word in words)]
    assert len(found) == min(len(holding), MOST_LINES)
