"""Days and times of day, written in one way: `5 March 2026` and `2026-03-05`, `4 pm` and `16:00`.

What can be read in two ways is left as it stands: 03/04/2026, and 3:00 without am or pm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from elf.core.wording.tokens import CAPITAL, COMMA, Token

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_MONTH_NUMBERS: Final = {name: number for number, name in enumerate(_MONTHS, start=1)}
_SHORT_MONTHS: Final = {name[:3]: name for name in _MONTHS if name != "may"} | {"sept": "september"}

_WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_SHORT_WEEKDAYS: Final = {name[:3]: name for name in _WEEKDAYS} | {"tues": "tuesday", "thurs": "thursday"}
_BEFORE_WEEKDAY: Final = frozenset(
    "on every each by until till from since next last this before after".split()
)

_DAY: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR: Final = re.compile(r"[12][0-9]{3}")
_ISO: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DOTTED: Final = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})")
_CLOCK: Final = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(am|pm)?")
_NAMED_TIMES: Final = {"noon": "12:00", "midday": "12:00", "midnight": "00:00"}

_Read = tuple[Token, int] | None


def with_moments(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with dates, weekdays and times of day in their one form."""
    return list(_without_comma_before_dates(list(_read(tokens))))


def _read(tokens: Sequence[Token]) -> Iterator[Token]:
    place = 0
    while place < len(tokens):
        begins_with_digit = tokens[place].key[0] in "0123456789"
        read = _read_digits(tokens, place) if begins_with_digit else _read_name(tokens, place)
        token, length = read or (_name_of_day_or_month(tokens, place), 1)
        yield token
        place += length


def _read_digits(tokens: Sequence[Token], place: int) -> _Read:
    return _written_date(tokens[place]) or _day_first(tokens, place) or _time(tokens, place)


def _read_name(tokens: Sequence[Token], place: int) -> _Read:
    token = tokens[place]
    if token.is_common and token.key in _NAMED_TIMES:
        return Token(f"at {_NAMED_TIMES[token.key]}"), 1
    return _month_first(tokens, place)


def _written_date(token: Token) -> _Read:
    if iso := _ISO.fullmatch(token.key):
        return _date(int(iso[1]), int(iso[2]), int(iso[3]), 1)
    dotted = _DOTTED.fullmatch(token.key)
    # Where the middle could be a day as well, some write the month first.
    if dotted and int(dotted[1]) > 12:
        return _date(int(dotted[3]), int(dotted[2]), int(dotted[1]), 1)
    return None


def _month_first(tokens: Sequence[Token], place: int) -> _Read:
    month, day = _month(tokens, place), _day(tokens, place + 1)
    if month is None or day is None:
        return None
    comma = int(place + 2 < len(tokens) and tokens[place + 2] == COMMA)
    year = _year(tokens, place + 2 + comma)
    return _date(year, month, day, 2 if year is None else 3 + comma)


def _day_first(tokens: Sequence[Token], place: int) -> _Read:
    day = _day(tokens, place)
    if day is None:
        return None
    of = int(place + 1 < len(tokens) and tokens[place + 1].key == "of")
    month = _month(tokens, place + 1 + of)
    if month is None:
        return None
    comma = int(place + 2 + of < len(tokens) and tokens[place + 2 + of] == COMMA)
    year = _year(tokens, place + 2 + of + comma)
    return _date(year, month, day, 2 + of if year is None else 3 + of + comma)


def _date(year: int | None, month: int, day: int, length: int) -> _Read:
    try:
        found = date(2000 if year is None else year, month, day)  # 2000 has a 29 February
    except ValueError:
        return None
    return Token(f"{found:%m-%d}" if year is None else f"{found:%Y-%m-%d}"), length


def _day(tokens: Sequence[Token], place: int) -> int | None:
    found = _DAY.fullmatch(tokens[place].key) if place < len(tokens) else None
    return None if found is None else int(found[1])


def _year(tokens: Sequence[Token], place: int) -> int | None:
    found = _YEAR.fullmatch(tokens[place].key) if place < len(tokens) else None
    return None if found is None else int(found[0])


def _month(tokens: Sequence[Token], place: int) -> int | None:
    if place >= len(tokens):
        return None
    token = tokens[place]
    name = _SHORT_MONTHS.get(token.key, token.key)
    # "may" and "march" are verbs, and so is "mar": in lower case they are no months.
    is_certain = token.key == name and name not in ("may", "march")
    return _MONTH_NUMBERS.get(name) if is_certain or token.case & CAPITAL else None


def _time(tokens: Sequence[Token], place: int) -> _Read:
    clock = _CLOCK.fullmatch(tokens[place].key)
    if clock is None:
        return None
    half, length = clock[3], 1
    if half is None and place + 1 < len(tokens) and tokens[place + 1].key in ("am", "pm"):
        half, length = tokens[place + 1].key, 2
    hour, minute = int(clock[1]), int(clock[2] or 0)
    if half is None:
        # Twelve hours or twenty-four? A leading zero and what is past noon tell.
        is_certain = clock[2] is not None and (clock[1].startswith("0") or 12 < hour < 24)
    else:
        is_certain = 1 <= hour <= 12
        hour = hour % 12 + (12 if half == "pm" else 0)
    return (Token(f"at {hour:02}:{minute:02}"), length) if is_certain and minute < 60 else None


def _name_of_day_or_month(tokens: Sequence[Token], place: int) -> Token:
    token = tokens[place]
    is_named = token.case & CAPITAL
    if is_named and token.key in _SHORT_WEEKDAYS and _stands_for_a_weekday(tokens, place):
        return Token(_SHORT_WEEKDAYS[token.key])
    if token.key in _WEEKDAYS or (token.key in _MONTH_NUMBERS and token.key not in ("may", "march")):
        return Token(token.key)
    return token


def _stands_for_a_weekday(tokens: Sequence[Token], place: int) -> bool:
    before = tokens[place - 1].key if place else ""
    after = tokens[place + 1 : place + 3]
    return (
        before in _BEFORE_WEEKDAY
        or any(_DAY.fullmatch(token.key) for token in after[:1])
        or (len(after) == 2 and after[0] == COMMA and bool(_DAY.fullmatch(after[1].key) or _month(after, 1)))
    )


def _without_comma_before_dates(tokens: Sequence[Token]) -> Iterator[Token]:
    for place, token in enumerate(tokens):
        between = 0 < place < len(tokens) - 1 and token == COMMA
        if between and tokens[place - 1].key in _WEEKDAYS and tokens[place + 1].key[:1].isdigit():
            continue
        yield token
