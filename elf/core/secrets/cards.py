"""Payment cards: digits that are grouped as on a card, of a known range, with the right check digit.

One number of ten has the right check digit by chance, so digits alone do not make a card: measurements, counters and
rows of a table are told from it by their groups, by what they are called and by their neighbours. A word such as
"card" beside the digits makes up for odd groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding

_SHORTEST: Final = 12
_LONGEST: Final = 19
_FOUR: Final = 4
_OLD_VISA_LENGTH: Final = 13

_REGION: Final = re.compile(rf"[0-9](?:[ .\-_/]{{0,3}}[0-9]){{{_SHORTEST - 1},}}")
_GROUP: Final = re.compile(r"[0-9]+")
_NO_CARD_AFTER: Final = "+$\u20ac\xa3\xa5"  # a phone number or a price

# How digits stand on cards and in shops.
_GROUPINGS: Final = frozenset(
    {
        (4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 4, 2), (4, 4, 4, 4, 1), (4, 4, 4, 3),
        (4, 4, 4, 2), (4, 4, 5), (4, 5, 6), (4, 5, 5), (4, 4, 4), (6, 13), (6, 10), (8, 8), (4, 12),
    }
)  # fmt: skip
# As what they are read with no word beside them. Other groups are as often numbers of a list.
_SURE_GROUPINGS: Final = frozenset({(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3)})
_WIDEST_SERIES: Final = 1500  # from the first to the last of four numbers that grow or fall
_MOST_GROUPS: Final = 5

_PREFIXES: Final = (
    (re.compile(r"4"), (16, 19)),  # Visa
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),  # Mastercard
    (re.compile(r"3[47]"), (15,)),  # American Express
    (re.compile(r"6011|64[4-9]|65"), (16, 19)),  # Discover
    (re.compile(r"36|38|39|30[0-5]|3095"), (14, 16)),  # Diners Club
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),  # JCB
    (re.compile(r"62|81"), (16, 17, 18, 19)),  # UnionPay
    (
        re.compile(r"5018|50[23]|5[6-8]|6304|6759|676[1-3]|220[0-4]|60|8[12]|508"),
        (16, 18, 19),
    ),  # Maestro, Mir, RuPay
    (re.compile(r"5018|5020|5038|5893|6304|6759|676[1-3]"), (12, 13, 14, 15, 17)),  # Maestro of other lengths
    (re.compile(r"2131|1800"), (15,)),  # JCB of the older kind
)
_DOUBLED: Final = str.maketrans("0123456789", "0246813579")

_WORD: Final = re.compile(
    r"card|visa|amex|american express|maestro|credit|debit|\bcc\b|\bpan\b|diners|unionpay|\bjcb\b"
)
_REACH_BEFORE: Final = 80
_REACH_AFTER: Final = 32
# What else is numbered so, and measured in so many digits.
_OTHER_NUMBER: Final = re.compile(
    r"\b(?:orders?|invoices?|track(?:ing)?|parcels?|shipments?|parts?|serial|sku|isbn|ean|upc|gtin|imei|iccid|barcode"
    r"|timestamp|epoch|tickets?|case|readings?|measure\w*|samples?|values?|data|scores?|counts?|counter|sequence|series"
    r"|vector|array|lottery|temperatures?|pressures?|speeds?|steps|population|offset|seed|snowflake|hash|uid|guid"
    r"|(?:message|user|tweet|channel|guild|device|session|transaction|request|account|customer|object|record|row)"
    r"[ _-]?id"
    r"|numbers are|records?|rows?|entry|entries|objects?|devices?|nodes?|messages?|events?|sessions?|jobs?|tasks?"
    r"|version|build|revision|isrc|doi|pid|memory|bytes|size|total|sum|balance|lines?)\b"
    r"(?:[ \t:#=*\"'-]|\b(?:number|num|no|nr|id|code|ref|is|was|are|were|of|the)\b){0,8}$"
)
_REACH_OF_NAME: Final = 64
_FEWEST_RANDOM_DIGITS: Final = (
    6  # different ones among digits that are spelled out; fewer are votes or ratings
)
_FRACTION: Final = re.compile(r"[0-9]\.")
_FEWEST_STRANGERS: Final = 4  # numbers of the same form that are no cards, which make the text a table


@dataclass(frozen=True, slots=True)
class _Form:
    """Digits in the form of a card: where they stand, and what speaks for them."""

    start: int
    end: int
    is_valid: bool
    is_named: bool


@dataclass(frozen=True, slots=True)
class _Digits:
    """Groups of digits and what stands between them, without the spaces around a sign."""

    text: str
    lowered: str
    spans: Sequence[tuple[int, int]]
    gaps: Sequence[str]

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield first and last group of all that stand apart in one way. Neighbours share a group."""
        first = 0
        for place in range(1, len(self.gaps)):
            if self.gaps[place] != self.gaps[place - 1]:
                yield first, place
                first = place
        yield first, len(self.gaps)

    def sizes(self, first: int, last: int) -> tuple[int, ...]:
        return tuple(end - start for start, end in self.spans[first : last + 1])

    def digits(self, first: int, last: int) -> str:
        return "".join(self.text[start:end] for start, end in self.spans[first : last + 1])

    def is_series(self, first: int, end: int) -> bool:
        """Tell whether groups are numbers that grow, or fall, a little from each to the next: 4210 4355 4480 4615."""
        numbers = [int(self.text[slice(*span)]) for span in self.spans[first:end]]
        is_ordered = numbers in (sorted(numbers), sorted(numbers, reverse=True))
        return (
            is_ordered
            and len(set(numbers)) == len(numbers)
            and abs(numbers[-1] - numbers[0]) <= _WIDEST_SERIES
        )

    def form(self, first: int, last: int) -> _Form | None:
        """Return groups as what may be a card, None where they are a price, a code or another number."""
        start, end = self.spans[first][0], self.spans[last][1]
        before, after = self.text[max(0, start - 2) : start], self.text[end : end + 1]
        if before[-1:] in _NO_CARD_AFTER and before:
            return None
        digits = self.digits(first, last)
        may_be_valid = is_card(digits) or _is_old_visa(digits)
        is_named = may_be_valid and self._is_named(start, end)
        if not is_named and (before[-1:].isalpha() or after.isalpha() or _FRACTION.fullmatch(before)):
            return None
        is_valid = is_named or (
            may_be_valid and len(digits) != _OLD_VISA_LENGTH and not self._is_other(start)
        )
        return _Form(start, end, is_valid, is_named)

    def _is_named(self, start: int, end: int) -> bool:
        before = self.lowered[max(0, start - _REACH_BEFORE) : start]
        after = self.lowered[end : end + _REACH_AFTER]
        return _WORD.search(before) is not None or _WORD.search(after) is not None

    def _is_other(self, start: int) -> bool:
        return _OTHER_NUMBER.search(self.lowered, max(0, start - _REACH_OF_NAME), start) is not None


def _find_cards(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield the card numbers of a text."""
    forms: list[_Form] = []
    for region in _REGION.finditer(text):
        forms += _forms(region, text, lowered)
    strangers = sum(not form.is_valid for form in forms)
    is_table = strangers >= _FEWEST_STRANGERS and strangers * 2 > len(forms)
    for form in forms:
        if form.is_valid and (form.is_named or not is_table):
            yield SecretFinding("card_number", form.start, form.end)


def is_card(digits: str) -> bool:
    """Tell whether digits are a card number: a known prefix, its length, and the check digit (Luhn)."""
    if not _has_check_digit(digits):
        return False
    return any(len(digits) in lengths and prefix.match(digits) for prefix, lengths in _PREFIXES)


def _has_check_digit(digits: str) -> bool:
    return sum(map(int, digits[::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


def _is_old_visa(digits: str) -> bool:
    return len(digits) == _OLD_VISA_LENGTH and digits[0] == "4" and _has_check_digit(digits)


def _forms(region: re.Match[str], text: str, lowered: str) -> Iterator[_Form]:
    spans = [group.span() for group in _GROUP.finditer(text, *region.span())]
    gaps = [text[one[1] : other[0]].strip(" ") or " " for one, other in pairwise(spans)]
    digits = _Digits(text, lowered, spans, gaps)
    for place, (start, end) in enumerate(spans):
        if _SHORTEST <= end - start <= _LONGEST and (form := digits.form(place, place)):
            yield form
    for first, last in digits.stretches():
        if set(digits.sizes(first, min(last, first + _LONGEST))) == {1}:
            yield from _spelled_out(digits, first, last)
        else:
            yield from _grouped(digits, first, last)
            yield from _oddly_grouped(digits, first, last)
    yield from _oddly_grouped(digits, 0, len(gaps))


def _spelled_out(digits: _Digits, first: int, last: int) -> Iterator[_Form]:
    """Yield a card whose digits stand one by one and are all there: a longer row is a list of numbers."""
    form = digits.form(first, last) if _SHORTEST <= last - first + 1 <= _LONGEST else None
    if form and (form.is_named or len(set(digits.digits(first, last))) >= _FEWEST_RANDOM_DIGITS):
        yield form


def _grouped(digits: _Digits, first: int, last: int) -> Iterator[_Form]:
    """Yield what is grouped as on a card within one stretch."""
    sizes = digits.sizes(first, last)
    place = taken = 0
    start = digits.spans[first][0]
    is_code = digits.text[max(0, start - 1) : start].isalpha()  # the groups go on behind DE89, say
    while place < len(sizes):
        is_amidst = is_code or (place > taken and sizes[place - 1] == _FOUR)
        form, count = _grouped_at(digits, first, sizes, place, is_amidst=is_amidst)
        if form is not None:
            yield form
        place += count
        taken = place if form is not None and form.is_valid else taken


def _grouped_at(
    digits: _Digits, first: int, sizes: tuple[int, ...], place: int, *, is_amidst: bool
) -> tuple[_Form | None, int]:
    """Return the card that starts at a group, else one that is only grouped so, and how many groups it takes.

    In a longer row of groups of four a card has no neighbours, unless it is named.
    """
    stranger: _Form | None = None
    for count in range(2, min(_MOST_GROUPS, len(sizes) - place) + 1):
        if sizes[place : place + count] not in _GROUPINGS:
            continue
        form = digits.form(first + place, first + place + count - 1)
        if form is None or (
            not form.is_named
            and (
                is_amidst
                or sizes[place : place + count] not in _SURE_GROUPINGS
                or _goes_on(digits, first, sizes, place + count)
                or digits.is_series(first + place, first + place + count)
            )
        ):
            continue
        if form.is_valid:
            return form, count
        stranger = form
    return stranger, 1


def _goes_on(digits: _Digits, first: int, sizes: tuple[int, ...], place: int) -> bool:
    """Tell whether more than one group of four follows, which is the date of a card, and no other card."""
    following = sizes[place : place + 4]
    if following[:2] != (_FOUR, _FOUR):
        return False
    return following != (_FOUR,) * 4 or not is_card(digits.digits(first + place, first + place + 3))


def _oddly_grouped(digits: _Digits, first: int, last: int) -> Iterator[_Form]:
    """Yield the card at the start of a stretch whose groups are none of a card's: only where it is named."""
    total = 0
    for place in range(first, last + 1):
        start, end = digits.spans[place]
        total += end - start
        if total > _LONGEST:
            return
        if place > first and total >= _SHORTEST:
            form = digits.form(first, place)
            if form is not None and form.is_valid and form.is_named:
                yield form
                return


CARDS: Final = Detector(_find_cards, digits=_SHORTEST)
