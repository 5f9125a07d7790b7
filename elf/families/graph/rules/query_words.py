"""The words of a query as an expression of FTS5: any of them, each quoted, so that none is taken for an operator."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from elf.core.cjk import contains_cjk, spaced_cjk
from elf.core.words import without_stop_words

MAX_WORDS: Final = 128
"""How many different words are looked for. What a long text says later on is found by its vector."""

_WORD: Final = re.compile(r"[^\W_]+")


def match_expression(query: str) -> str | None:
    """Return what the spans of a query's words match; None for a query without words.

    Words are runs of letters and digits; the most common English ones are left out, unless there are no others. Of a
    run of CJK characters, which has no spaces between its words, each two that stand together are looked for.
    """
    # Texts are compared without accents; here an accent that stands for itself would end a word.
    composed = unicodedata.normalize("NFC", query)
    words = list(dict.fromkeys(map(_small, _WORD.findall(composed))))
    telling = without_stop_words(words) or words
    terms = list(dict.fromkeys(term for word in telling for term in _terms(word)))[:MAX_WORDS]
    return " OR ".join(f'"{term}"' for term in terms) or None


def _small(word: str) -> str:
    """Return a word in small letters, unless it is none then: that of I with a dot is two characters."""
    small = word.lower()
    return small if _WORD.fullmatch(small) else word


def _terms(word: str) -> list[str]:
    """Return a word as it is looked for: its CJK characters in twos, and what is between them."""
    pieces = spaced_cjk(word).split()
    terms = []
    for place, piece in enumerate(pieces):
        beside = pieces[place + 1 : place + 2]
        if not contains_cjk(piece):
            terms.append(piece)
        elif beside and contains_cjk(beside[0]):
            terms.append(f"{piece} {beside[0]}")
        elif not place or not contains_cjk(pieces[place - 1]):
            terms.append(piece)
    return terms
