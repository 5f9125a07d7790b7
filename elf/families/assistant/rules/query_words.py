"""The words that a query is looked up by."""

from __future__ import annotations

import re
from typing import Final

from elf.core.words import without_stop_words

MOST_WORDS: Final = 64

_AROUND: Final = re.compile(r"^[\W_]+|[\W_]+$")


def query_words(query: str) -> list[str]:
    """Return the words of a query in lower case, each once: without those that say nothing, if others are left."""
    words = [_AROUND.sub("", word) for word in query.lower().split()]
    words = list(dict.fromkeys(word for word in words if word))
    return (without_stop_words(words) or words)[:MOST_WORDS]
