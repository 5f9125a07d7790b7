"""Numbers and what they count, written in one way: `1,000` and a thousand, `30 s` and half a minute.

A number with a unit is a quantity: 1.50 euros are 1.5 euros. A number alone stays as its digits are, because it may be
a version or a code: 1.10 is not 1.1, and 007 is not 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from elf.core.wording.number_words import MULTIPLES, ORDINALS, read_number
from elf.core.wording.tokens import CAPITALS, Token, word
from elf.core.wording.units import MONEY_CODES, MONEY_SIGNS, SPANS, Unit, unit_of, unit_spelled

_DIGITS: Final = re.compile(
    r"([$\u20ac\u00a3]?)([+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.[0-9]+)?)(%|\u20ac|\u00b0[CF]|[A-Za-z]*)"
)
_MEASURED: Final = re.compile(r"([0-9]+|[a-z]+)-([a-z]+)", re.IGNORECASE)
_DECADE: Final = re.compile(r"[0-9]*0s")
_ORDINAL: Final = re.compile(r"[0-9]+(?:st|nd|rd|th)", re.IGNORECASE)
_SUFFIXES: Final = {"k": 1000, "K": 1000, "M": 1_000_000, "bn": 1_000_000_000}
_MONEY_SUFFIXES: Final = {**_SUFFIXES, "m": 1_000_000, "B": 1_000_000_000, "b": 1_000_000_000}
_LONGEST_NUMBER: Final = 18  # with any unit still exact in 28 digits

_ARTICLES: Final = frozenset({"a", "an"})
_BEGINS_SPAN: Final = frozenset({"a", "an", "half"})
# After these, "an hour" is one hour; after anything else it is per hour.
_BEFORE_ONE: Final = frozenset(
    "for in within after before of by than about over under around every is are was were last lasts lasted take takes "
    "took taken needs wait waits half".split()
)


class _Number(NamedTuple):
    """A number as its digits are, the unit that is written together with it, and how many tokens they take."""

    digits: str
    unit: Unit | None
    length: int


def with_quantities(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with numbers and quantities in their one form."""
    return list(_read(tokens))


def _read(tokens: Sequence[Token]) -> Iterator[Token]:
    place = 0
    while place < len(tokens):
        found = _span_of_time(tokens, place) or _quantity(tokens, place)
        if found is None:
            token = tokens[place]
            yield token._replace(key=ORDINALS.get(token.key, token.key)) if token.is_common else token
            place += 1
        else:
            yield from found[0]
            place += found[1]


def _quantity(tokens: Sequence[Token], place: int) -> tuple[list[Token], int] | None:
    money = _money_code(tokens, place)
    number = _number(tokens, place + 1 if money else place)
    if number is None:
        return _measured(tokens[place])
    digits, unit, length = number
    following = _at(tokens, place + length)
    if following is not None and following.is_common and following.key in MULTIPLES:
        digits, length = _times(digits, MULTIPLES[following.key]), length + 1
    if money:
        return [_amount(digits, money)], length + 1
    if unit is None:
        unit, further = _unit_after(tokens, place + length)
        length += further
    return [Token(digits) if unit is None else _amount(digits, unit)], length


def _money_code(tokens: Sequence[Token], place: int) -> Unit | None:
    token = tokens[place]
    is_code = token.case == CAPITALS and token.key in MONEY_CODES
    return unit_of(token) if is_code and _number(tokens, place + 1) else None


def _number(tokens: Sequence[Token], place: int) -> _Number | None:
    if place >= len(tokens):
        return None
    key = tokens[place].key
    may_be = len(key) <= _LONGEST_NUMBER and not key[0].isalpha()
    written = _DIGITS.fullmatch(key) if may_be else None
    if written is None or not written[2].strip("+-"):
        spelled = read_number(tokens, place)
        return None if spelled is None else _Number(str(spelled[0]), None, spelled[1])
    sign, digits, suffix = written[1], _plain(written[2]), written[3]
    money = MONEY_SIGNS.get(sign)
    factor = (_MONEY_SUFFIXES if money else _SUFFIXES).get(suffix, 1)
    unit = money if money or not suffix or factor > 1 else unit_spelled(suffix)
    is_read = not suffix or factor > 1 or (money is None and unit is not None)
    if not is_read or (_DECADE.fullmatch(key) and _is_decade(tokens, place)):
        return None
    return _Number(_times(digits, factor), unit, 1)


def _is_decade(tokens: Sequence[Token], place: int) -> bool:
    """Tell whether 90s are years, as in "the 90s", and not seconds."""
    return len(tokens[place].key) > 4 or (
        place > 0 and tokens[place - 1].key in {"the", "early", "late", "mid"}
    )


def _measured(token: Token) -> tuple[list[Token], int] | None:
    """Read `10-minute` and `three-day`."""
    written = _MEASURED.fullmatch(token.key)
    if written is None:
        return None
    spelled = read_number([word(written[1])], 0)
    digits = written[1] if written[1].isdigit() else None if spelled is None else str(spelled[0])
    unit = unit_of(word(written[2]))
    return None if digits is None or unit is None else ([_amount(digits, unit)], 1)


def _unit_after(tokens: Sequence[Token], place: int) -> tuple[Unit | None, int]:
    token, following = _at(tokens, place), _at(tokens, place + 1)
    if token is None:
        return None, 0
    if (
        following is not None
        and token.key in ("degree", "degrees")
        and following.key in ("celsius", "fahrenheit")
    ):
        return Unit(following.key, Decimal(1)), 2
    unit = unit_of(token)
    return unit, int(unit is not None)


def _span_of_time(tokens: Sequence[Token], place: int) -> tuple[list[Token], int] | None:
    """Read `half an hour`, `an hour and a half`, and `an hour`: one, or per hour, by what is before it."""
    if tokens[place].key not in _BEGINS_SPAN:
        return None
    keys = [token.key for token in tokens[place : place + 5]]
    half_first = keys[0] == "half"
    article, span = (keys[1:2], keys[2:3]) if half_first else (keys[0:1], keys[1:2])
    if not (article and span and article[0] in _ARTICLES and span[0] in SPANS) or not tokens[place].is_common:
        return None
    unit = unit_spelled(span[0])
    if half_first:
        return None if unit is None else ([_amount("0.5", unit)], 3)
    if keys[2:] == ["and", "a", "half"]:
        return None if unit is None else ([_amount("1.5", unit)], 5)
    if place == 0 or (tokens[place - 1].is_common and tokens[place - 1].key in _BEFORE_ONE):
        return None if unit is None else ([_amount("1", unit)], 2)
    return [word("per"), word(span[0])], 2


def _plain(digits: str) -> str:
    plain = digits.replace(",", "")
    return plain.replace(".", "0.", 1) if plain.lstrip("+-").startswith(".") else plain


def _times(digits: str, factor: int) -> str:
    return digits if factor == 1 else _written(Decimal(digits) * factor)


def _amount(digits: str, unit: Unit) -> Token:
    return Token(f"{_written(Decimal(digits) * unit.size)} {unit.base}")


def _written(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _at(tokens: Sequence[Token], place: int) -> Token | None:
    return tokens[place] if place < len(tokens) else None
