"""Texts of memories in the one form in which they are kept."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_QUOTES: Final = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'", "\u02bc": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    }
)  # fmt: skip
_SPACE: Final = re.compile(r"\s+")


def normalised(text: str) -> str:
    """Return a text in NFC, with straight quotes and single blanks, and none at its ends."""
    straight = unicodedata.normalize("NFC", text.replace("\x00", "")).translate(_QUOTES)
    return _SPACE.sub(" ", straight).strip()


def normalised_steps(text: str) -> str:
    """Return steps in that form, each in a line of its own."""
    lines = (normalised(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def contains(longer: str, shorter: str) -> bool:
    """Tell whether a text holds all words of another one in their order, but for the mark at its end."""
    words, others = (f" {text.lower().rstrip('.! ')} " for text in (longer, shorter))
    return others in words
