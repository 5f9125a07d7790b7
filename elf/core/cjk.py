"""The English-only boundary: which characters are CJK, and which NUL.

Counted are whole blocks, as section 3 of the notes specification does: all that Unicode made for writing Chinese,
Japanese and Korean. These are the scripts Han, Hiragana, Katakana, Bopomofo and Hangul wherever they stand, unassigned
places included; their radicals, strokes and description characters; their punctuation, its vertical, half-width and
compatibility forms; and what encloses or squares their letters, such as the Japanese buttons among the emoji. Planes 2
and 3 are set aside for ideographs, so they count whole, with the extensions to come.

Not CJK: full-width Latin and digits, which are Latin; the small forms of ASCII punctuation; other emoji, mah-jong
tiles and hexagrams, which are pictures; and other scripts of the region, such as Yi, Tangut and Nushu.
"""

from __future__ import annotations

import re
from typing import Final

CJK_MESSAGE: Final = "CJK detected; upstream must canonicalize to English before calling ELF."

_BLOCKS: Final = (
    (0x02EA, 0x02EB),  # the two letters of Bopomofo among the Spacing Modifier Letters
    (0x1100, 0x11FF),  # Hangul Jamo
    (
        0x2329,
        0x232A,
    ),  # angle brackets that Unicode holds to be the same as those of CJK Symbols and Punctuation
    (0x2E80, 0x2FDF),  # CJK Radicals Supplement, Kangxi Radicals
    (0x2FF0, 0x303F),  # Ideographic Description Characters, CJK Symbols and Punctuation
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (
        0x3100,
        0x31FF,
    ),  # Bopomofo, Hangul Compatibility Jamo, Kanbun, Bopomofo Extended, CJK Strokes, Katakana Ext.
    (0x3200, 0x33FF),  # Enclosed CJK Letters and Months, CJK Compatibility
    (0x3400, 0x4DBF),  # CJK Unified Ideographs Extension A
    (0x4E00, 0x9FFF),  # CJK Unified Ideographs
    (0xA960, 0xA97F),  # Hangul Jamo Extended-A
    (0xAC00, 0xD7FF),  # Hangul Syllables, Hangul Jamo Extended-B
    (0xF900, 0xFAFF),  # CJK Compatibility Ideographs
    (0xFE10, 0xFE1F),  # Vertical Forms, of the punctuation of Chinese
    (0xFE30, 0xFE4F),  # CJK Compatibility Forms
    (0xFE51, 0xFE51),  # the small forms that are of no ASCII character: the ideographic comma,
    (0xFE5D, 0xFE5E),  # and tortoise shell brackets
    (0xFF61, 0xFFDC),  # half-width CJK punctuation, Katakana and Hangul
    (0x16FE2, 0x16FE3),  # Old Chinese marks, and from here
    (0x16FF0, 0x16FFF),  # marks of Vietnamese and small forms of Han, of Ideographic Symbols and Punctuation
    (0x1AFF0, 0x1B16F),  # Kana Extended-B, Kana Supplement, Kana Extended-A, Small Kana Extension
    (0x1D372, 0x1D376),  # ideographic tally marks
    (0x1F200, 0x1F2FF),  # Enclosed Ideographic Supplement
    (
        0x20000,
        0x3FFFD,
    ),  # the planes of ideographs: Extensions B to J, CJK Compatibility Ideographs Supplement, and more
)

_CJK: Final = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _BLOCKS) + "]")


def english_pattern() -> str:
    """Return a pattern, in the dialect of JSON Schema, of the strings that hold neither CJK nor NUL.

    Code points above U+FFFF stand in it as they are, because the engines do not agree on an escape for them.
    """
    blocks = "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in _BLOCKS)
    return rf"^[^\u0000{blocks}]*$"


def _escaped(point: int) -> str:
    return f"\\u{point:04X}" if point <= 0xFFFF else chr(point)


def contains_cjk(text: str) -> bool:
    """Tell whether any code point of `text` is CJK."""
    return not text.isascii() and _CJK.search(text) is not None


def spaced_cjk(text: str) -> str:
    """Return a text with each CJK character apart, so that what splits words at spaces takes it for a word."""
    return _CJK.sub(r" \g<0> ", text) if contains_cjk(text) else text


def contains_nul(text: str) -> bool:
    """Tell whether `text` holds U+0000, which Postgres cannot store."""
    return "\x00" in text
