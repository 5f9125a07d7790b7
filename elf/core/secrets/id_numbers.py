"""Numbers that name a person or an account: IBANs, US social security numbers, bank accounts, card codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from stdnum import numdb

from elf.core.secrets.detector import Detector, any_of
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.places import matches_at

_DIGIT: Final = re.compile(r"[0-9]")
_GAP: Final = r"[ .\-_/]"

# The check digits; two letters stand before them.
_IBAN_DIGITS: Final = re.compile(
    rf"[0-9](?:(?<=[A-Za-z]{{2}}[0-9])|(?<=[A-Za-z]{{2}}{_GAP}[0-9])){_GAP}?[0-9](?={_GAP}{{0,2}}[A-Za-z0-9])"
)
_IBAN_COUNTRY: Final = re.compile(rf"(?<![A-Za-z0-9])(?P<country>[A-Za-z]{{2}}){_GAP}?$")
_IBAN_PART: Final = re.compile(r"([1-9][0-9]*)!")

_SSN: Final = re.compile(
    r"[0-9](?<![0-9.-][0-9])(?P<rest>[0-9]{2})(?P<gap> ?[-. /] ?)(?P<group>[0-9]{2})(?P=gap)(?P<serial>[0-9]{4})"
    r"(?![0-9-]|\.[0-9])"
)
_NAMED_SSN: Final = re.compile(
    r"\b(?:ssn|social security|social (?:number|no\b|num\b|#)|tax(?:payer)? id)[^\d\n]{0,24}?"
    r"(?P<area>[0-9]{3})[ .-]?(?P<group>[0-9]{2})[ .-]?(?P<serial>[0-9]{4})(?![0-9])"
)
# What is numbered in the same way: goods, documents, versions.
_OTHER_NUMBER: Final = re.compile(
    r"\b(?:parts?|models?|skus?|orders?|items?|catalog(?:ue)?|ref(?:erence)?|serials?|invoices?|tickets?|forms?|lots?"
    r"|batch(?:es)?|products?|cases?|dockets?|tracking|version|build|fax|phone|tel(?:ephone)?|cas|isbn|code|section"
    r"|articles?|pn|p/n|mpn|upc|rma|po)\b[\s:#(]{0,3}(?:(?:number|num|no|nr|id|code|is|was|are|were|of)\b[\s:#.]{0,3}){0,3}$"
)
_REACH: Final = 48
_ROW_BEFORE: Final = re.compile(r"[0-9][ \t|,;]{1,4}$")
_ROW: Final = re.compile(r"[ \t|,;]{1,4}[0-9]")

_CARD_CODE: Final = re.compile(
    r"\b(?:cvv2?|cvc2?|card security code)\b(?:\s{0,3}(?:code|number|is|:|=|#)){0,4}\s{0,3}([0-9]{3,4})(?![0-9])"
)
_BANK_ACCOUNT: Final = re.compile(
    r"\b(?:(?:bank|checking|savings) (?:account|acct)|account and routing|routing|sort code)"
    r"(?:\s{0,3}(?:number|no\.?|code|is|:|=|#)){0,4}\s{0,3}([0-9][0-9 -]{4,18}[0-9])(?![0-9])"
)
# What the named ones start with.
_SSN_MARKS: Final = ("ssn", "social ", "tax")
_CODE_MARKS: Final = ("cvv", "cvc", "card security code")
_ACCOUNT_MARKS: Final = ("bank a", "checking a", "savings a", "account and routing", "routing", "sort code")


def _find_accounts(_text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield card codes and bank accounts."""
    for match in matches_at(_CODE_MARKS, _CARD_CODE, lowered):
        yield SecretFinding("card_code", *match.span(1))
    for match in matches_at(_ACCOUNT_MARKS, _BANK_ACCOUNT, lowered):
        yield SecretFinding("bank_account", *match.span(1))


def is_iban(compact: str) -> bool:
    """Tell whether letters and digits are an IBAN: its country's length, and the check digits (ISO 7064 mod 97)."""
    number = compact.upper()
    if len(number) != iban_length(number[:2]):
        return False
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1


@cache
def iban_length(country: str) -> int:
    """Return how long the IBANs of a country (two capitals) are, 0 when it has none."""
    properties = numdb.get("iban").info(country)[0][1]
    return 4 + sum(map(int, _IBAN_PART.findall(properties["bban"]))) if properties else 0


@cache
def _spaced_iban(length: int) -> re.Pattern[str]:
    return re.compile(rf"[A-Za-z0-9](?:{_GAP}{{0,2}}[A-Za-z0-9]){{{length - 1}}}(?![A-Za-z0-9])")


def _find_ibans(text: str, _lowered: str) -> Iterator[SecretFinding]:
    for digits in _IBAN_DIGITS.finditer(text):
        start = _IBAN_COUNTRY.search(text, max(0, digits.start() - 3), digits.start())
        length = iban_length(start["country"].upper()) if start else 0
        match = _spaced_iban(length).match(text, start.start()) if start and length else None
        compact = re.sub(_GAP, "", match.group()) if match else ""
        # Words hold as many letters; no country has more letters than digits.
        if match and 2 * len(_DIGIT.findall(compact)) >= len(compact) and is_iban(compact):
            yield SecretFinding("iban", *match.span())


def _find_ssns(_text: str, lowered: str) -> Iterator[SecretFinding]:
    for match in _SSN.finditer(lowered):
        start, end = match.span()
        if _is_ssn(lowered[start : start + 3], match["group"], match["serial"]):
            before = lowered[max(0, start - _REACH) : start]
            is_in_row = match["gap"] == " " and (_ROW_BEFORE.search(before) or _ROW.match(lowered, end))
            if not is_in_row and _OTHER_NUMBER.search(before) is None:
                yield SecretFinding("us_ssn", start, end)
    for match in matches_at(_SSN_MARKS, _NAMED_SSN, lowered):
        if _is_ssn(match["area"], match["group"], match["serial"]):
            yield SecretFinding("us_ssn", match.start("area"), match.end())


def _is_ssn(area: str, group: str, serial: str) -> bool:
    """Tell whether a number was ever given out. Numbers known from advertisements count: they are no one's loss."""
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


# No country's IBAN is shorter than 15, nor has more letters than digits.
ID_NUMBERS: Final = (
    Detector(_find_ibans, digits=8),
    Detector(_find_ssns, digits=9),
    Detector(_find_accounts, digits=2, marks=any_of(*_CODE_MARKS, *_ACCOUNT_MARKS)),
)
