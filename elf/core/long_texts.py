"""Bytes that were made of a JSON-like value, without the long texts of it, for who is sent that value as JSON, too.

Most serializers write a text as it is, in UTF-8. Whoever has the texts then needs of such bytes only what stands
between them, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from elf.core.slices import Slices

LONG_CHARS: Final = 256
"""A text of so many code points is long."""

NOT_LEFT_OUT: Final = -1

_PIECE: Final = 1000
_HEAD: Final = 24  # to look for a few bytes and compare the others costs a fifth of looking for all
_GAP: Final = 4096  # what stands between two texts is short, or they do not stand in this order
_MOST_MISSED: Final = 65_536


def long_texts(value: Any) -> Slices[list[str]]:
    """Return the long texts of a decoded JSON value, but not its keys, in the order in which JSON has them."""
    found: list[str] = []
    waiting = [value]
    seen = 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if len(item) >= LONG_CHARS:
                found.append(item)
        elif isinstance(item, dict):
            waiting += reversed(item.values())
        elif isinstance(item, list):
            waiting += reversed(item)
        seen += 1
        if seen % _PIECE == 0:
            yield
    return found


def taken_out(data: bytes, texts: Sequence[str]) -> tuple[bytes, list[int]]:
    """Return bytes without those of the texts that stand in them in this order, and the place of each in what is left.

    The place of a text that is left in is -1; those behind the last place are left in, too.
    """
    between: list[bytes] = []
    places: list[int] = []
    start = place = missed = 0
    for text in texts:
        written = text.encode()
        found = data.find(written[:_HEAD], start, start + _GAP + missed)
        if found < 0 or not data.startswith(written, found):
            missed += len(written)
            if missed > _MOST_MISSED:
                break
            places.append(NOT_LEFT_OUT)
            continue
        between.append(data[start:found])
        place += found - start
        places.append(place)
        start = found + len(written)
        missed = 0
    return b"".join((*between, data[start:])), places


def put_in(data: bytes, texts: Sequence[str], places: Sequence[int]) -> bytes:
    """Return bytes with the texts that were taken out of them.

    Raises ValueError where there are more places than texts, or a place is before another or behind the end.
    """
    if len(places) > len(texts):
        raise ValueError(f"there are {len(places)} places for {len(texts)} long texts")
    parts: list[bytes] = []
    start = 0
    for text, place in zip(texts, places, strict=False):
        if place == NOT_LEFT_OUT:
            continue
        if not start <= place <= len(data):
            raise ValueError(f"the place {place} is before another one or behind the end")
        parts += data[start:place], text.encode()
        start = place
    return b"".join((*parts, data[start:]))
