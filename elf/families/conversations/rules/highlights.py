"""What is shown of a text that was found: where its words are those of the query, between two asterisks each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from elf.core.slices import Slices
from elf.core.words import Stems
from elf.families.conversations.rules.words import UNSPACED, telling_words_of, words_of

MAX_WORDS: Final = 50
BEGINNING_CHARS: Final = 200

_SHOWN: Final = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_PORTION: Final = 200  # words: less than a millisecond


class Highlighter:
    """Marks the words of one query, stop words only where it has no others.

    `stems` may be shared with others of its thread.
    """

    def __init__(self, query: str, stems: Stems) -> None:
        self._stems = stems
        asked = telling_words_of(query)
        self._beginnings = tuple(asked)
        self._stemmed = set(stems.of(asked))
        self._known: dict[str, bool] = {}

    def marked(self, text: str) -> Slices[str | None]:
        """Return the up to 50 words of a text that have the most of the query's; None where there are none.

        Of a script without spaces each character is a word.
        """
        spans = [found.span() for found in _SHOWN.finditer(text)]
        hits: list[int] = []
        for start in range(0, len(spans), _PORTION):
            portion = enumerate(spans[start : start + _PORTION], start)
            hits += [number for number, (begin, end) in portion if self._is_hit(text[begin:end])]
            yield
        if not hits:
            return None
        first = min(_densest(hits), max(0, len(spans) - MAX_WORDS))
        return _written(text, spans[first : first + MAX_WORDS], {number - first for number in hits})

    def _is_hit(self, written: str) -> bool:
        known = self._known.get(written)
        if known is None:
            known = any(self._is_asked_for(word) for word in words_of(written))
            self._known[written] = known
        return known

    def _is_asked_for(self, word: str) -> bool:
        return word.startswith(self._beginnings) or self._stems.of([word])[0] in self._stemmed


def beginning(text: str) -> str:
    """Return what is shown of a text that was found for its meaning."""
    return " ".join(text.split())[:BEGINNING_CHARS]


def _densest(hits: Sequence[int]) -> int:
    """Return where the window begins that has the most hits, the first of these, a hit at its beginning."""
    best, most, end = hits[0], 0, 0
    for place, first in enumerate(hits):
        while end < len(hits) and hits[end] < first + MAX_WORDS:
            end += 1
        if end - place > most:
            best, most = first, end - place
    return best


def _written(text: str, spans: Sequence[tuple[int, int]], hits: set[int]) -> str:
    """Return words with a space where the text has any, and hits that follow one another without one marked as one."""
    pieces: list[str] = []
    is_open, before = False, spans[0][0]
    for number, (begin, end) in enumerate(spans):
        is_hit, is_apart = number in hits, begin > before
        if is_open and (is_apart or not is_hit):
            pieces.append("**")
        pieces += [" " * is_apart, "**" * (is_hit and (is_apart or not is_open)), text[begin:end]]
        is_open, before = is_hit, end
    return "".join(pieces) + "**" * is_open
