"""Sentence boundaries of Unicode text (UAX #29, rules SB1 to SB11).

The character property comes from `uniseg`. Its own boundary walk costs about 0.1 ms a character; here each
character becomes one letter of a class string, and regular expressions over that string find the boundaries,
a thousand times faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from uniseg.sentencebreak import SentenceBreak, sentence_break

_LETTERS: Final = MappingProxyType(
    {
        SentenceBreak.OTHER: "-",
        SentenceBreak.CR: "r",
        SentenceBreak.LF: "n",
        SentenceBreak.SEP: "p",
        SentenceBreak.EXTEND: "x",
        SentenceBreak.FORMAT: "x",  # no rule tells Format from Extend
        SentenceBreak.SP: "s",
        SentenceBreak.LOWER: "l",
        SentenceBreak.UPPER: "u",
        SentenceBreak.OLETTER: "o",
        SentenceBreak.NUMERIC: "0",
        SentenceBreak.ATERM: "a",
        SentenceBreak.STERM: "t",
        SentenceBreak.SCONTINUE: "c",
        SentenceBreak.CLOSE: "k",
    }
)

# Where a sentence may end: a paragraph separator (SB3, SB4), or a terminator with its closing marks, spaces
# and separator (SB9, SB10). `x*` after each is SB5.
_CANDIDATE: Final = re.compile(
    r"(?:(?P<aterm>a)|t)x*(?P<close>(?:kx*)*)(?P<space>(?:sx*)*)(?P<separator>rn|[rnp])?|rn|[rnp]"
)
_MAY_END: Final = re.compile(r"[.!?\r\n]")  # all of ASCII with which a candidate begins
_LOWER_AHEAD: Final = re.compile(r"[^oulrnpat]*l")  # SB8
_CONTINUES: Final = "cat"  # SB8a
_MOST_KNOWN: Final = 4096


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the code-point offset of every sentence's end, rising; the last is the length of the text."""
    if text.isascii() and _MAY_END.search(text, 0, len(text) - 1) is None:  # as most short texts
        if text:
            yield len(text)
        return
    classes = text.translate(_CLASSES)
    for candidate in _CANDIDATE.finditer(classes):
        if candidate.end() < len(text) and not _goes_on(classes, candidate):
            yield candidate.end()
    if text:
        yield len(text)


def _goes_on(classes: str, candidate: re.Match[str]) -> bool:
    terminator = candidate["close"] is not None
    if not terminator or candidate["separator"]:
        return False
    end = candidate.end()
    if classes[end] in _CONTINUES:
        return True
    return candidate["aterm"] is not None and _abbreviates(classes, candidate)


def _abbreviates(classes: str, full_stop: re.Match[str]) -> bool:
    """Tell whether a full stop ends no sentence: in a number, among letters, before a lower-case word."""
    end = full_stop.end()
    if not full_stop["close"] and not full_stop["space"]:
        if classes[end] == "0":  # SB6
            return True
        if classes[end] == "u" and _follows_letter(classes, full_stop.start()):  # SB7
            return True
    return _LOWER_AHEAD.match(classes, end) is not None


def _follows_letter(classes: str, position: int) -> bool:
    while position > 0 and classes[position - 1] == "x":
        position -= 1
    return position > 0 and classes[position - 1] in "ul"


class _Classes(dict[int, str]):
    """The class of each character, looked up once; but for so many as no text has."""

    def __missing__(self, code: int) -> str:
        letter = _LETTERS[sentence_break(chr(code))]
        if len(self) < _MOST_KNOWN:
            self[code] = letter
        return letter


_CLASSES: Final = _Classes()
