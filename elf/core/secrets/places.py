"""Where a pattern may match: at fixed letters, which are found much faster than any pattern; and where none can."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def matches_at(marks: Iterable[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that start at one of the marks: by mark, and by place within one."""
    there = [mark for mark in marks if mark in text]  # hardly any is
    return _matches_at(there, pattern, text) if there else iter(())


def _matches_at(marks: Iterable[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for mark in marks:
        place = text.find(mark)
        while place >= 0:
            match = pattern.match(text, place)
            if match is not None:
                yield match
            place = text.find(mark, place + len(mark))


def count_digits(text: str) -> int:
    """Return how many digits of ASCII a text holds."""
    written = text.encode(errors="surrogatepass")
    return len(written) - len(written.translate(None, b"0123456789"))
