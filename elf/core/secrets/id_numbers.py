"""Numbers that name a person or an account: cards, IBANs, US social security numbers, bank accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Final

from stdnum import luhn, numdb
from stdnum.iso7064 import mod_97_10

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import lower

_DIGIT: Final = re.compile(r"\d")
_GAP: Final = r"[ .\-_/]"

# Cards. No "+" or currency sign in front: that is a phone number or a price.
_DIGIT_RUN: Final = re.compile(rf"(?<![\d+$])(?<!\d\.)\d(?:{_GAP}{{0,3}}\d){{11,40}}")
_FEWEST_CARD_DIGITS: Final = 12
_GROUP: Final = re.compile(r"\d+")
_CARD_WORD: Final = re.compile(
    r"\b(?:card|visa|master ?card|amex|american express|credit|debit|maestro)\b", re.IGNORECASE
)
_CARD_PREFIXES: Final = (
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
_OLD_VISA_LENGTH: Final = 13

_IBAN_START: Final = re.compile(
    rf"(?<![A-Za-z0-9])[A-Za-z]{{2}}{_GAP}?\d{_GAP}?\d(?={_GAP}{{0,2}}[A-Za-z0-9])"
)
_IBAN_PART: Final = re.compile(r"([1-9][0-9]*)!")

_SSN: Final = re.compile(
    r"(?<![\d-])(?P<area>\d{3})(?P<gap> ?[-. /] ?)(?P<group>\d{2})(?P=gap)(?P<serial>\d{4})(?![\d-])"
)
_SSN_DIGITS: Final = 9
_NAMED_SSN: Final = re.compile(
    r"\b(?:ssn|social security|social (?:number|no\b|num\b|#))[^\d\n]{0,24}?"
    r"(?P<area>\d{3}) ?(?P<group>\d{2}) ?(?P<serial>\d{4})(?!\d)"
)
_CARD_CODE: Final = re.compile(
    r"\b(?:cvv2?|cvc2?|card security code)\b(?:\s*(?:code|number|is|:|=|#))*\s*(\d{3,4})(?!\d)"
)
_BANK_ACCOUNT: Final = re.compile(
    r"\b(?:(?:bank|checking|savings) (?:account|acct)|account and routing|routing|sort code)"
    r"(?:\s*(?:number|no\.?|code|is|:|=|#))*\s*(\d[\d -]{4,18}\d)(?!\d)"
)
# What must stand in a text, in lower case, for a pattern to be worth a search.
_SSN_HINTS: Final = ("ssn", "social")
_CODE_HINTS: Final = ("cvv", "cvc", "security code")
_ACCOUNT_HINTS: Final = ("bank", "checking", "savings", "routing", "sort code")


def find_id_numbers(text: str) -> Iterator[SecretFinding]:
    """Yield cards, IBANs, social security numbers, bank accounts and card codes."""
    digits = len(_DIGIT.findall(text))
    if digits == 0:
        return
    if digits >= _FEWEST_CARD_DIGITS:
        yield from _find_cards(text)
    yield from _find_ibans(text)
    if digits >= _SSN_DIGITS:
        yield from _find_ssns(_SSN, text)
    lowered = lower(text)
    if any(map(lowered.__contains__, _SSN_HINTS)):
        yield from _find_ssns(_NAMED_SSN, lowered)
    if any(map(lowered.__contains__, _CODE_HINTS)):
        yield from (SecretFinding("card_code", *match.span(1)) for match in _CARD_CODE.finditer(lowered))
    if any(map(lowered.__contains__, _ACCOUNT_HINTS)):
        yield from (
            SecretFinding("bank_account", *match.span(1)) for match in _BANK_ACCOUNT.finditer(lowered)
        )


def is_card(digits: str) -> bool:
    """Tell whether digits are a card number: a known prefix, its length, and the Luhn check digit."""
    known = any(len(digits) in lengths and prefix.match(digits) for prefix, lengths in _CARD_PREFIXES)
    return known and luhn.is_valid(digits)


def is_iban(compact: str) -> bool:
    """Tell whether letters and digits are an IBAN: its country's length, and the check digits (ISO 7064 mod
    97).
    """
    number = compact.upper()
    return len(number) == iban_length(number[:2]) and mod_97_10.is_valid(number[4:] + number[:4])


@cache
def iban_length(country: str) -> int:
    """Return how long the IBANs of a country (two capitals) are, 0 when it has none."""
    properties = numdb.get("iban").info(country)[0][1]
    return 4 + sum(map(int, _IBAN_PART.findall(properties["bban"]))) if properties else 0


def _find_cards(text: str) -> Iterator[SecretFinding]:
    for run in _DIGIT_RUN.finditer(text):
        groups = [(group.start() + run.start(), group.group()) for group in _GROUP.finditer(run.group())]
        end_of_last = 0
        for first in range(len(groups)):
            if groups[first][0] >= end_of_last and (finding := _card_at(groups[first:], text)):
                yield finding
                end_of_last = finding.end


def _card_at(groups: list[tuple[int, str]], text: str) -> SecretFinding | None:
    """Return the card that starts with the first group and ends with a later one."""
    named = _CARD_WORD.search(text) is not None
    for count, digits in enumerate(accumulate(group for _, group in groups), start=1):
        sizes = [len(group) for _, group in groups[:count]]
        if not (named or _is_card_grouping(sizes, of=len(groups))):
            continue
        if is_card(digits) or (
            named and len(digits) == _OLD_VISA_LENGTH and digits[0] == "4" and luhn.is_valid(digits)
        ):
            start, (last, group) = groups[0][0], groups[count - 1]
            return SecretFinding("card_number", start, last + len(group))
    return None


def _is_card_grouping(sizes: list[int], *, of: int) -> bool:
    """Tell whether digits are grouped as on a card, or one by one and are all there; others are a list of numbers."""
    return min(sizes) >= 3 or (set(sizes) == {1} and len(sizes) == of)


def _find_ibans(text: str) -> Iterator[SecretFinding]:
    for start in _IBAN_START.finditer(text):
        country = start.group()[:2].upper()
        length = iban_length(country)
        body = (
            re.compile(rf"[A-Za-z0-9](?:{_GAP}{{0,2}}[A-Za-z0-9]){{{length - 1}}}(?![A-Za-z0-9])")
            if length
            else None
        )
        match = body.match(text, start.start()) if body else None
        if match and is_iban(re.sub(_GAP, "", match.group())):
            yield SecretFinding("iban", *match.span())


def _find_ssns(pattern: re.Pattern[str], text: str) -> Iterator[SecretFinding]:
    for match in pattern.finditer(text):
        if _is_ssn(match["area"], match["group"], match["serial"]):
            yield SecretFinding("us_ssn", match.start("area"), match.end())


def _is_ssn(area: str, group: str, serial: str) -> bool:
    """Tell whether a number was ever given out. Numbers known from advertisements count: they are no one's
    loss.
    """
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"
