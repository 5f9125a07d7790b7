"""Undoes typographic disguise before detection: invisible characters, look-alike dashes, spaces and digits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Final

_LAST_WITH_DIGITS: Final = 0x20000  # no digit and, beside those below, no format character stands beyond

# What shows nothing: Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt, controls that are no
# white space, and the marks that strike out or decorate the character before them. Characters of the category Cf
# join them below.
_INVISIBLE: Final = (
    *range(0x09),
    *range(0x0E, 0x20),
    0x7F,
    *range(0x80, 0x85),
    *range(0x86, 0xA0),
    0x00AD,  # soft hyphen
    *range(0x0300, 0x0370),  # combining marks, the grapheme joiner among them
    *range(0x115F, 0x1161),  # Hangul fillers
    *range(0x17B4, 0x17B6),
    *range(0x180B, 0x1810),  # Mongolian selectors and vowel separator
    *range(0x1AB0, 0x1B00),
    *range(0x1DC0, 0x1E00),
    *range(0x200B, 0x2010),  # zero-width spaces and joiners, direction marks
    *range(0x202A, 0x202F),  # direction embeddings
    *range(0x2060, 0x2070),  # word joiner, invisible operators, direction isolates
    *range(0x20D0, 0x2100),
    0x3164,  # Hangul filler
    *range(0xFE00, 0xFE10),  # variation selectors
    *range(0xFE20, 0xFE30),
    0xFEFF,  # byte order mark
    0xFFA0,  # halfwidth Hangul filler
    *range(0xFFF0, 0xFFFC),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),  # tags, more variation selectors
)

_LOOK_ALIKES: Final = (
    ("-", (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2043, 0x2212, 0xFE58, 0xFE63)),
    (" ", (0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x2800, 0x3000)),
    ("'", (0x2018, 0x2019, 0x201A, 0x201B, 0x02BC, 0x2032)),
    ('"', (0x201C, 0x201D, 0x201E, 0x201F, 0x00AB, 0x00BB, 0x2033)),
    (".", (0x2024, 0x00B7)),
    (":", (0xFE55, 0x2236)),
)

# Blocks of styled or full-width copies of ASCII letters and digits.
_STYLED: Final = (
    range(0x2460, 0x2500),
    range(0xFF01, 0xFF5F),
    range(0x1D400, 0x1D800),
    range(0x1F130, 0x1F14A),
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A text made plain. `places[i]` is where its character i stood in the original; None when nothing moved."""

    text: str
    places: Sequence[int] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Translate a non-empty span of the plain text to the original one."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Return the text with look-alikes replaced by ASCII and invisible characters removed."""
    if text.isascii() and (text.isprintable() or _CONTROL.search(text) is None):
        return Folded(text, None)
    plain = text.translate(_TABLE)
    if len(plain) == len(text):
        return Folded(plain, None)
    places = [place for place, char in enumerate(text) if char not in _DROPPED]
    return Folded(plain, places)


def cut(text: str, spans: Sequence[tuple[int, int, str]]) -> Folded:
    """Return the text with each span (start, end, replacement), in order, replaced."""
    pieces: list[str] = []
    places: list[Sequence[int]] = []
    position = 0
    for start, end, replacement in spans:
        pieces += [text[position:start], replacement]
        places += [range(position, start), [start] * len(replacement)]
        position = end
    pieces.append(text[position:])
    places.append(range(position, len(text)))
    return Folded("".join(pieces), list(chain.from_iterable(places)))


def lower(text: str) -> str:
    """Return the text in lower case with every character in its place: all but one of Unicode's stay one."""
    return text.replace("\u0130", "i").lower()


def _entries() -> Iterator[tuple[int, str | None]]:
    for code in range(0x80, _LAST_WITH_DIGITS):
        char = chr(code)
        if char.isdigit():
            yield code, str(unicodedata.digit(char))
        elif not char.isprintable() and unicodedata.category(char) == "Cf":
            yield code, None
    for block in _STYLED:
        for code in block:
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1 and plain.isascii():
                yield code, plain
    for code in _INVISIBLE:
        yield code, None
    for plain, codes in _LOOK_ALIKES:
        for code in codes:
            yield code, plain


_TABLE: Final = MappingProxyType(dict(_entries()))
_DROPPED: Final = frozenset(chr(code) for code, plain in _TABLE.items() if plain is None)
