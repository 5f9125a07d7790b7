"""What is shown of a text that was found: where its words are those of the query, between two asterisks each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from elf.core.words import Stems
from elf.families.conversations.rules.words import telling_words_of, words_of

MAX_WORDS: Final = 50
BEGINNING_CHARS: Final = 200

_SPACED: Final = re.compile(r"\S+")


class Highlighter:
    """Marks the words of one query, stop words only where it has no others.

    `stems` may be shared with others of its thread.
    """

    def __init__(self, query: str, stems: Stems) -> None:
        self._stems = stems
        asked = telling_words_of(query)
        self._beginnings = tuple(asked)
        self._stemmed = set(stems.of(asked))

    def marked(self, text: str) -> str | None:
        """Return the up to 50 words of a text that have the most of the query's; None where there are none."""
        words = _SPACED.findall(text)
        hits = [self._is_hit(word) for word in words]
        if not any(hits):
            return None
        first = _densest(hits)
        shown = zip(words[first : first + MAX_WORDS], hits[first:], strict=False)
        return " ".join(f"**{word}**" if is_hit else word for word, is_hit in shown)

    def _is_hit(self, written: str) -> bool:
        return any(self._is_asked_for(word) for word in words_of(written))

    def _is_asked_for(self, word: str) -> bool:
        return word.startswith(self._beginnings) or self._stems.of([word])[0] in self._stemmed


def beginning(text: str) -> str:
    """Return what is shown of a text that was found for its meaning."""
    return " ".join(text.split())[:BEGINNING_CHARS]


def _densest(hits: Sequence[bool]) -> int:
    """Return where the window begins that has the most hits, the first of these, a hit at its beginning."""
    best, most, seen = 0, 0, sum(hits[:MAX_WORDS])
    for first in range(len(hits)):
        if seen > most and hits[first]:
            best, most = first, seen
        seen += sum(hits[first + MAX_WORDS : first + MAX_WORDS + 1]) - hits[first]
    return min(best, max(0, len(hits) - MAX_WORDS))
