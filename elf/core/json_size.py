"""How much a JSON text holds, told before it is read: its values, and the digits of its long numbers.

Reading JSON takes one call into C for all of it, and so long as its values are many and its numbers long, not as it has
many bytes. `jsonb` writes every number out: 1e-320 takes 322 characters there.
"""

from __future__ import annotations

import re
from typing import Final

from elf.core.slices import Slices

MAX_LONG_DIGITS: Final = 65_536
"""Most digits of all long numbers of a request, written out without exponents."""

# A string, which may never end, or what stands before a value that is not the first of its container, or is.
_STRING_OR_MARK: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|,|[\[{](?!\s*[\]}])', re.DOTALL)
_SHAPE: Final = bytes(
    ord("0") if chr(byte) in "0123456789." else ord("e") if chr(byte) in "eE" else ord(" ")
    for byte in range(256)
)
# A string, a number, or what else stands between: a search that skips is slow at each byte it skips.
_PART: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|(?P<digits>[0-9][0-9.]*+)(?:[eE][+-]?(?P<exponent>[0-9]++))?|[^"0-9]++',
    re.DOTALL,
)
_PLAIN_DIGITS: Final = 25
_MANY_QUOTES: Final = 100_000
_PIECE: Final = 1000


def holding_more_values(text: bytes, most: int) -> Slices[bool]:
    """Tell whether a JSON text holds more than `most` values: arrays, objects, and what is in them, but not keys.

    Of what is no JSON it tells something.
    """
    if len(text) < 2 * most or sum(map(text.count, (b"[", b"{", b","))) < most:
        return False
    values = 1
    for number, token in enumerate(_STRING_OR_MARK.finditer(text)):
        values += text[token.start()] != ord('"')
        if values > most:
            return True
        if number % _PIECE == 0:
            yield
    return False


def holding_more_digits(text: bytes, most: int = MAX_LONG_DIGITS) -> Slices[bool]:
    """Tell whether the long numbers of a JSON text have more than `most` digits, written out without exponents.

    Long is a number with an exponent, or of 25 characters and more. Of what is no JSON it tells something.
    """
    text = _without_strings(text)
    yield
    shape = text.translate(_SHAPE)
    yield
    if b"0e" not in shape and b"0" * _PLAIN_DIGITS not in shape:
        return False
    digits = 0
    for number, part in enumerate(_PART.finditer(text)):
        digits += _digits(part)
        if digits > most:
            return True
        if number % _PIECE == 0:
            yield
    return False


def _without_strings(text: bytes) -> bytes:
    """Return a JSON text without its strings, which have most of its bytes; all of it, where they are very many."""
    plain = text.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in text else text
    parts = plain.split(b'"', _MANY_QUOTES)
    return text if len(parts) > _MANY_QUOTES else b" ".join(parts[::2])


def _digits(part: re.Match[bytes]) -> int:
    written, exponent = part["digits"], part["exponent"]
    if written is None or (exponent is None and len(written) < _PLAIN_DIGITS):
        return 0
    # Of an exponent that has more than nine digits itself, nine are enough to say that it is far too long.
    return len(written) + int(exponent[:9] if exponent else 0)
