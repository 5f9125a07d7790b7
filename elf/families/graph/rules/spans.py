"""Cuts a content into spans: its sentences, and pieces of sentences that are too long for one."""

from __future__ import annotations

from collections.abc import Iterator

from elf.core.sentences import sentence_ends
from elf.families.graph.model import MAX_SPAN_CHARS, Span


def spans_of(content: str) -> list[Span]:
    """Return the spans of a content in order, with offsets in code points.

    Nothing but whitespace is between them, none has whitespace at an end, and none is longer than 320 characters. A
    sentence that is longer is cut after a word, a word that is longer after 320 characters.
    """
    pieces = [piece for start, end in _sentences(content) for piece in _pieces(content, start, end)]
    return [
        Span(ordinal=ordinal, start=start, end=end, text=content[start:end])
        for ordinal, (start, end) in enumerate(pieces)
    ]


def _sentences(content: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in sentence_ends(content):
        yield start, end
        start = end


def _pieces(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of what a sentence is cut into; none for one of nothing but whitespace."""
    start, end = _stripped(content, start, end)
    while end - start > MAX_SPAN_CHARS:
        cut = _last_space(content, start, start + MAX_SPAN_CHARS)
        yield _stripped(content, start, cut)
        start, end = _stripped(content, cut, end)
    if start < end:
        yield start, end


def _stripped(content: str, start: int, end: int) -> tuple[int, int]:
    while start < end and content[start].isspace():
        start += 1
    while start < end and content[end - 1].isspace():
        end -= 1
    return start, end


def _last_space(content: str, start: int, limit: int) -> int:
    """Return where the last word that ends by `limit` ends; the limit where no word does."""
    return next((place for place in range(limit, start, -1) if content[place].isspace()), limit)
