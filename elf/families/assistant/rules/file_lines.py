"""The lines of a text that are shown of a file which was found by words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

MOST_LINES: Final = 3
MOST_LINE_CHARS: Final = 500
MOST_PLACES: Final = 1000
"""How many places of words are looked at, from the beginning of a text."""


class Line(NamedTuple):
    """A line, and its number from 1."""

    number: int
    text: str


def best_lines(text: str, words: Sequence[str]) -> list[Line]:
    """Return the lines with most of the words, which are in lower case, in their order in the text."""
    if not words:
        return []
    lowered = text.lower()  # which leaves every line end where it is among the lines
    lines = text.split("\n")
    within = _words_by_line(lowered, words)
    best = sorted(within, key=lambda number: (-len(within[number]), number))[:MOST_LINES]
    return [Line(number, lines[number - 1][:MOST_LINE_CHARS]) for number in sorted(best)]


def _words_by_line(lowered: str, words: Sequence[str]) -> Mapping[int, set[str]]:
    any_word = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    within: dict[int, set[str]] = {}
    number, seen = 1, 0
    for found in islice(any_word.finditer(lowered), MOST_PLACES):
        number, seen = number + lowered.count("\n", seen, found.start()), found.start()
        within.setdefault(number, set()).add(found[0])
    return within
