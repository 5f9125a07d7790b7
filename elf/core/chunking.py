"""Cuts a text into overlapping chunks of whole sentences.

A chunk is packed with sentences until the next one does not fit; the next chunk repeats the last sentences of
the one before, about `overlap_tokens` of them, and adds at least one new one. Only a sentence that is longer
than a chunk by itself is cut, at the bound of a token, at a space when there is one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from elf.core.sentences import sentence_ends
from elf.core.slices import Slices

CHUNKING_RULE = 2  # another number for each change of what `split` returns, so that stored texts are cut anew

WINDOW_CHARS: Final = 4096
"""How much text one call of a tokenizer gets: it holds the interpreter for the whole call, here a few milliseconds."""


class TokenCounter(Protocol):
    """The tokenizer of the embedding model, as far as chunking needs it."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the (start, end) code-point offsets of the tokens, in order, without special tokens."""
        ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text: `text` is the whole text's `[start:end]`, in code points; `index` counts from 0."""

    index: int
    start: int
    end: int
    text: str


def windows(text: str, most: int = WINDOW_CHARS) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of parts of at most `most` code points that tile a text, in order.

    Each ends before white space where its second half has some, so that no word is cut, and the next word keeps its
    space.
    """
    start = 0
    while len(text) - start > most:
        end = start + most
        places = range(end, start + most // 2, -1)
        end = next((place for place in places if text[place].isspace()), end)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def spans_in_windows(
    text: str, spans: Callable[[str], list[tuple[int, int]]], most: int = WINDOW_CHARS
) -> list[tuple[int, int]]:
    """Return the spans of a text, of which `spans` is given one window after the other."""
    if len(text) <= most:
        return spans(text)
    return [
        (window_start + start, window_start + end)
        for window_start, window_end in windows(text, most)
        for start, end in spans(text[window_start:window_end])
    ]


def counting_tokens(text: str, tokens: TokenCounter, *, most: int | None = None) -> Slices[int]:
    """Count the tokens of a text; where there are more than `most`, not all of them are counted."""
    counted = 0
    for start, end in windows(text):
        counted += len(tokens.spans(text[start:end]))
        if most is not None and counted > most:
            break
        yield
    return counted


def split(text: str, *, max_tokens: int, overlap_tokens: int, tokens: TokenCounter) -> list[Chunk]:
    """Return the chunks of a text in order; they cover it whole and leave no gap. An empty text has none.

    A chunk has at most `max_tokens` tokens when it is tokenized alone, unless a single character has more.
    Raises ValueError unless 0 <= overlap_tokens < max_tokens.
    """
    if not 0 <= overlap_tokens < max_tokens:
        raise ValueError("overlap_tokens must be at least 0 and below max_tokens")
    if not text:
        return []
    if (
        text.isascii() and len(text) < max_tokens
    ):  # no more tokens than characters, and one that may be put before
        return [Chunk(0, 0, len(text), text)]
    spans = tokens.spans(text)
    if len(spans) <= max_tokens:
        return [Chunk(0, 0, len(text), text)]
    splitter = _Splitter(text, spans, max_tokens=max_tokens, overlap_tokens=overlap_tokens, tokens=tokens)
    return [Chunk(index, start, end, text[start:end]) for index, (start, end) in enumerate(splitter.pieces())]


class _Splitter:
    """The work on one text. `_marks` are its tokens' starts, rising; a token belongs to where it starts."""

    def __init__(
        self,
        text: str,
        spans: Sequence[tuple[int, int]],
        *,
        max_tokens: int,
        overlap_tokens: int,
        tokens: TokenCounter,
    ) -> None:
        self._text = text
        self._marks = sorted(start for start, _ in spans)
        self._ends = list(sentence_ends(text))
        self._max_tokens = max_tokens
        self._overlap_tokens = overlap_tokens
        self._tokens = tokens

    def pieces(self) -> list[tuple[int, int]]:
        """Return the (start, end) of each chunk. Every turn covers more of the text, so the loop ends."""
        found: list[tuple[int, int]] = []
        start = covered = 0
        while covered < len(self._text):
            start, covered = self._next(start, covered)
            found.append((start, covered))
        return found

    def _next(self, previous_start: int, covered: int) -> tuple[int, int]:
        for start in (self._overlap_start(previous_start, covered), covered):
            end = self._end(start, covered)
            if end > covered:
                return start, end
        return covered, covered + 1  # not even one token fits: a character of several tokens, or a cut word

    def _end(self, start: int, covered: int) -> int:
        """Return where a chunk that starts at `start` ends: beyond `covered`, or at it when no token fits."""
        limit = self._reach(start, self._max_tokens)
        while limit > covered:
            end = self._bound(covered, limit)
            # Cut out of its context a piece may have more tokens than it had within the text.
            excess = len(self._tokens.spans(self._text[start:end])) - self._max_tokens
            if excess <= 0:
                return end
            limit = self._back(end, excess)
        return covered

    def _bound(self, covered: int, limit: int) -> int:
        """Return where to end in (covered, limit]: after a sentence, else after a word, else at the limit."""
        sentence = self._ends[bisect_right(self._ends, limit) - 1] if self._ends[0] <= limit else 0
        if sentence > covered:
            return sentence
        first = bisect_right(self._marks, covered)
        last = bisect_right(self._marks, limit)
        return next((mark for mark in reversed(self._marks[first:last]) if self._starts_word(mark)), limit)

    def _overlap_start(self, previous_start: int, covered: int) -> int:
        """Return where the next chunk starts: after the start of the one before and at most at `covered`."""
        earliest = max(self._back(covered, self._overlap_room(covered)), previous_start + 1)
        if earliest >= covered:
            return covered
        sentence = self._ends[bisect_left(self._ends, earliest)]
        if self._count(sentence, covered) > 0:
            return sentence
        marks = self._marks[bisect_left(self._marks, earliest) : bisect_left(self._marks, covered)]
        return next(filter(self._starts_word, marks), marks[0] if marks else covered)

    def _overlap_room(self, covered: int) -> int:
        """Return how many tokens may be repeated, so few that the next sentence fits whole if it can."""
        length = self._count(covered, self._ends[bisect_right(self._ends, covered)])
        spare = self._max_tokens - length
        return min(self._overlap_tokens, spare) if spare >= 0 else self._overlap_tokens

    def _count(self, start: int, end: int) -> int:
        return bisect_left(self._marks, end) - bisect_left(self._marks, start)

    def _reach(self, start: int, count: int) -> int:
        """Return the furthest end such that at most `count` tokens start within [start, end)."""
        place = bisect_left(self._marks, start) + count
        return self._marks[place] if place < len(self._marks) else len(self._text)

    def _back(self, end: int, count: int) -> int:
        """Return the start of the last `count` tokens before `end`, or `end` for none."""
        place = bisect_left(self._marks, end) - count
        if count == 0:
            return end
        return self._marks[place] if place >= 0 else 0

    def _starts_word(self, mark: int) -> bool:
        # Some tokenizers count the space before a word as part of its first token.
        return mark > 0 and (self._text[mark].isspace() or self._text[mark - 1].isspace())
