"""Numbers written as words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from elf.core.wording.tokens import Token

_ONES: Final = {
    name: number
    for number, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS: Final = {
    name: 10 * number
    for number, name in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
MULTIPLES: Final = {"thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}

# "second" is a time as well, and stays as it is written.
ORDINALS: Final = {
    "first": "1st", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th",
    "eighth": "8th", "ninth": "9th", "tenth": "10th", "eleventh": "11th", "twelfth": "12th",
}  # fmt: skip


def is_number_word(key: str) -> bool:
    """Tell whether a word is a number or a part of one."""
    return key in _ONES or key in _TENS or key in MULTIPLES or key == "hundred"


def read_number(tokens: Sequence[Token], place: int) -> tuple[int, int] | None:
    """Return the number that the words at a place spell, and how many tokens it takes; None when they spell none.

    Numbers are read as far as they are surely one: not across "and", and not years said in two halves.
    """
    small = _below_hundred(tokens, place)
    value, length = small or (1, 0)
    following = _key(tokens, place + length)
    if following == "hundred" and value < 100:
        rest = _below_hundred(tokens, place + length + 1) or (0, 0)
        value, length = value * 100 + rest[0], length + 1 + rest[1]
        following = _key(tokens, place + length)
    if following in MULTIPLES and (length or small is None):
        return value * MULTIPLES[following], length + 1
    return (value, length) if length else None


def _below_hundred(tokens: Sequence[Token], place: int) -> tuple[int, int] | None:
    key = _key(tokens, place)
    if key in _ONES:
        return _ONES[key], 1
    if key in _TENS:
        unit = _ONES.get(_key(tokens, place + 1), 0)
        return (_TENS[key] + unit, 2) if 0 < unit < 10 else (_TENS[key], 1)
    tens, _, unit_name = key.partition("-")
    if tens in _TENS and 0 < _ONES.get(unit_name, 0) < 10:
        return _TENS[tens] + _ONES[unit_name], 1
    return None


def _key(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].key if place < len(tokens) and tokens[place].is_common else ""
