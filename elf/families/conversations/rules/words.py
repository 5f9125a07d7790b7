"""The words of texts and of queries: what is looked for is cut as what is looked through.

A word is a run of letters and digits in one case and one form (NFKC). Of scripts that are written without spaces each
character is a word.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from elf.core.chunking import windows
from elf.core.slices import Slices
from elf.core.words import without_stop_words

MAX_WORD_CHARS: Final = 255
"""Longer words are cut: Postgres takes them up to 2 KB."""

TSVECTOR_BYTES: Final = 960_000
"""What of the 1 MB that a tsvector may have is for words; the rest is for the places where they come again."""

UNSPACED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Japanese and Chinese
    "\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [word[:MAX_WORD_CHARS] for word in _WORD.findall(folded)]


def telling_words_of(text: str) -> list[str]:
    """Return the words of a text without the most common English ones, unless it has no others."""
    words = words_of(text)
    return without_stop_words(words) or words


def spacing(text: str) -> Slices[str]:
    """Return a text as its words with spaces between, from which Postgres makes a tsvector.

    Of a text with more words than a tsvector holds, those are left out that come new when it is full.
    """
    pieces: list[str] = []
    room = _Room()
    for start, end in windows(text):
        pieces.append(" ".join(filter(room.takes, words_of(text[start:end]))))
        yield
    return " ".join(filter(None, pieces))


class _Room:
    """What is left of a tsvector."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._bytes = TSVECTOR_BYTES

    def takes(self, word: str) -> bool:
        """Take a word in; False where it is new and does not fit."""
        if word not in self._known:
            self._bytes -= _bytes_of(word)
            if self._bytes < 0:
                return False
            self._known.add(word)
        return True


def _bytes_of(word: str) -> int:
    """Return how much a word may take of a tsvector: as it is and, of one with English letters, also stemmed."""
    written = len(word.encode()) + 5
    return 2 * written if any("a" <= letter <= "z" for letter in word) else written
