"""The texts of a memory: content and summary as plain text with whitespace collapsed."""

from __future__ import annotations

from elf.families.graph.model import MADE_SUMMARY_CHARS


def collapse(text: str) -> str:
    """Return a text on one line: each run of whitespace is one space, and none is at an end."""
    return " ".join(text.split())


def beginning(text: str, most: int) -> str:
    """Return as many whole words of a collapsed text as have at most `most` characters.

    Where these are less than half of it, what comes next is an address, or a script without spaces, and is cut.
    """
    if len(text) <= most:
        return text
    end = text.rfind(" ", 0, most + 1)
    return text[: end if 2 * end >= most else most].rstrip()


def summary_of(content: str, given: str | None = None) -> str:
    """Return the summary of a collapsed content: the given one, collapsed; without one, the content's beginning."""
    return collapse(given or "") or beginning(content, MADE_SUMMARY_CHARS)
