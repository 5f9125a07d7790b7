"""What entities have in common with the hints of who asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

MOST_BOOST: Final = 20.0

_TERM = re.compile(r"[^\W_]+")


def terms_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of texts: runs of letters and digits, in lower case."""
    return frozenset(term for text in texts for term in _TERM.findall(text.lower()))


def jaccard(some: frozenset[str], others: frozenset[str]) -> float:
    """Return the share of what two sets have in common in what they have together; 0 where both are empty."""
    together = len(some | others)
    return len(some & others) / together if together else 0.0
