"""The words of a query as an expression of FTS5: any of them, each quoted, so that none is taken for an operator."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from elf.core.words import without_stop_words

MAX_WORDS: Final = 128
"""How many different words are looked for. What a long text says later on is found by its vector."""

_WORD: Final = re.compile(r"[^\W_]+")


def match_expression(query: str) -> str | None:
    """Return what the spans of a query's words match; None for a query without words.

    Words are runs of letters and digits; the most common English ones are left out, unless there are no others.
    """
    # Texts are compared without accents; here an accent that stands for itself would end a word.
    composed = unicodedata.normalize("NFC", query).lower()
    words = list(dict.fromkeys(_WORD.findall(composed)))
    telling = (without_stop_words(words) or words)[:MAX_WORDS]
    return " OR ".join(f'"{word}"' for word in telling) or None
