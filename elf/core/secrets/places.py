"""Where a pattern may match: at fixed letters, which are found much faster than any pattern; and where none can."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def matches_at(marks: Iterable[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that start at one of the marks: by mark, and by place within one."""
    for mark in filter(text.__contains__, marks):  # hardly any is there
        place = text.find(mark)
        while place >= 0:
            match = pattern.match(text, place)
            if match is not None:
                yield match
            place = text.find(mark, place + len(mark))


def has_digit(text: str) -> bool:
    """Tell whether a text holds a digit of ASCII."""
    return any(map(text.__contains__, "0123456789"))
