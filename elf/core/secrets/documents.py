"""Numbers of a person's papers, where the words beside them say so: passports, driving licences, NHS numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stdnum.gb import nhs

from elf.core.secrets.detector import Detector, any_of
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.places import matches_at

# Matched against the text in lower case. What follows the name of a paper: "number is", "no.", "-Nr.", `": "`.
_TIE: Final = (
    r"[\"'*]{0,2}(?P<tie>(?:[ _-]{0,2}(?:number|num\b|no\b\.?|nr\b\.?|nummer|n\xfamero|num\xe9ro|n[\xb0\xba]|id\b|\#"
    r"|is\b|was\b|ist\b|est\b|es\b|[:=])){0,4})[\"'*]{0,2}[ ]{0,3}[\"'`]?"
)
_NUMBER: Final = r"(?P<number>(?=[a-z0-9]{0,12}[0-9])[a-z0-9]{7,18}+(?![\w@.+/-]\w))"
_PASSPORT: Final = re.compile(
    rf"(?:passport(?![.(])|reisepass|passeport|pasaporte|passaporto|paspoort){_TIE}{_NUMBER}"
)
_LICENCE: Final = re.compile(
    r"(?:driv(?:ing|er'?s?'?)[ _-]?licen[cs]e|f\xfchrerschein|permis de conduire|rijbewijs)"
    rf"{_TIE}{_NUMBER}"
)
_PASSPORT_MARKS: Final = ("passport", "reisepass", "passeport", "pasaporte", "passaporto", "paspoort")
_LICENCE_MARKS: Final = ("driv", "f\xfchrerschein", "permis de conduire", "rijbewijs")
_NHS: Final = re.compile(rf"nhs{_TIE}(?P<number>\d{{3}}[ -]?\d{{3}}[ -]?\d{{4}})(?![\d-])")
_DIGIT: Final = re.compile(r"[0-9]")
_WORD: Final = re.compile(r"[A-Z]{6}")
_FEWEST_DIGITS: Final = 5  # of a number that no word or sign ties to the name of its paper
_FEWEST_DIFFERENT: Final = 3


def _find_documents(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield the numbers of passports, driving licences and the NHS."""
    for kind, marks, pattern in (
        ("passport", _PASSPORT_MARKS, _PASSPORT),
        ("driving_licence", _LICENCE_MARKS, _LICENCE),
    ):
        for match in matches_at(marks, pattern, lowered):
            start, end = match.span("number")
            if _is_number(text[start:end], is_tied=match["tie"].strip() != ""):
                yield SecretFinding(kind, start, end)
    for match in matches_at(("nhs",), _NHS, lowered):
        if nhs.is_valid(match["number"]):
            yield SecretFinding("nhs_number", *match.span("number"))


def _is_number(value: str, *, is_tied: bool) -> bool:
    """Tell whether letters and digits are written as on a paper: in capitals, and no word or row of zeros."""
    if value != value.upper() or _WORD.search(value) or len(set(value)) < _FEWEST_DIFFERENT:
        return False
    return is_tied or len(_DIGIT.findall(value)) >= _FEWEST_DIGITS


DOCUMENTS: Final = Detector(_find_documents, digits=1, marks=any_of(*_PASSPORT_MARKS, *_LICENCE_MARKS, "nhs"))
