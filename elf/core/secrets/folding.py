"""Undoes typographic disguise before detection: invisible characters, look-alike dashes, spaces and digits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_INVISIBLE: Final = (
    0x00AD,  # soft hyphen
    0x034F,  # combining grapheme joiner
    0x061C,  # Arabic letter mark
    0x180E,  # Mongolian vowel separator
    *range(0x200B, 0x2010),  # zero-width spaces and joiners, direction marks
    *range(0x202A, 0x202F),  # direction embeddings
    *range(0x2060, 0x2070),  # word joiner, invisible operators, direction isolates
    *range(0xFE00, 0xFE10),  # variation selectors
    0xFEFF,  # byte order mark
    *range(0xE0000, 0xE0080),  # tags
)

_LOOK_ALIKES: Final = (
    ("-", (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2043, 0x2212, 0xFE58, 0xFE63)),
    (" ", (0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)),
    ("'", (0x2018, 0x2019, 0x201A, 0x201B, 0x02BC, 0x2032)),
    ('"', (0x201C, 0x201D, 0x201E, 0x201F, 0x00AB, 0x00BB, 0x2033)),
    (".", (0x2024, 0x00B7)),
    (":", (0xFE55, 0x2236)),
)

# Blocks of styled or full-width copies of ASCII letters and digits, and the digits of other scripts.
_STYLED: Final = (
    range(0x2460, 0x2500),
    range(0xFF01, 0xFF5F),
    range(0x1D400, 0x1D800),
    range(0x1FBF0, 0x1FBFA),
)
_DIGITS: Final = (range(0x0660, 0x066A), range(0x06F0, 0x06FA), range(0x0966, 0x0970))


@dataclass(frozen=True, slots=True)
class Folded:
    """A text made plain. `places[i]` is where its character i stood in the original; None when nothing moved."""

    text: str
    places: list[int] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Translate a non-empty span of the plain text to the original one."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Return the text with look-alikes replaced by ASCII and invisible characters removed."""
    if text.isascii():
        return Folded(text, None)
    plain = text.translate(_TABLE)
    if len(plain) == len(text):
        return Folded(plain, None)
    places = [place for place, char in enumerate(text) if _TABLE.get(ord(char), char) is not None]
    return Folded(plain, places)


def lower(text: str) -> str:
    """Return the text in lower case with every character in its place, which `str.lower` does not promise."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _entries() -> Iterator[tuple[int, str | None]]:
    for code in _INVISIBLE:
        yield code, None
    for plain, codes in _LOOK_ALIKES:
        for code in codes:
            yield code, plain
    for block in _STYLED:
        for code in block:
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1 and plain.isascii():
                yield code, plain
    for block in _DIGITS:
        for code in block:
            yield code, str(unicodedata.decimal(chr(code)))


_TABLE: Final = MappingProxyType(dict(_entries()))
