"""Street addresses: a house number with a street, a post box, and the forms of a few other languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import lower

_DIGIT: Final = re.compile(r"\d")

# What a street is called by. The second list holds words that also mean something else.
_CLEAR: Final = (
    r"Street|Str|St|Avenue|Ave|Av|Boulevard|Blvd|Road|Rd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Terrace|Ter|Parkway|Pkwy|"
    r"Highway|Hwy|Expressway|Expy|Freeway|Circle|Cir|Alley|Crescent|Cres|Mews|Close|Esplanade|Turnpike|Cove"
)
_AMBIGUOUS: Final = (
    r"Way|Square|Sq|Trail|Trl|Loop|Plaza|Row|Path|Walk|Grove|Gardens?|Heights|Hill|Point|Pike|Run|Ridge|Bend|Crossing|"
    r"View|Quay|Wharf|Green|Park|Landing|Commons?|Broadway"
)
_DIRECTION: Final = (
    r"(?:(?:North|South|East|West|Northeast|Northwest|Southeast|Southwest|[NS]\.?[EW]?\.?|[EW])\.?)"
)
_HOUSE: Final = re.compile(r"(?<![\w$\u20ac\xa3#.,:/+-])\d{1,6}(?![\d.:%])")
_NUMBER: Final = r"(?<![\w$\u20ac\xa3#.,:/+-])(?P<number>\d{1,6}(?:-\d{1,5})?(?: ?\xbd| 1/2)?[A-Za-z]?)"
_NAME: Final = r"(?:[A-Z][\w'\u2019.-]*|\d{1,3}(?:st|nd|rd|th)|of|the|de|la|del)"
_UNIT: Final = r"(?:apartment|apt|unit|suite|ste|floor|fl|room|rm|building|bldg|\#)\.?[ ]?\#?[\w-]{1,8}"

_PROPER: Final = re.compile(
    rf"{_NUMBER},?[ ]+(?:{_DIRECTION}[ ]+)?(?:{_NAME}[ ]+){{1,4}}?(?:{_CLEAR}|{_AMBIGUOUS})\b\.?(?:[ ]+{_DIRECTION}(?![\w]))?"
)
_OTHER: Final = re.compile(
    rf"{_NUMBER}[ ]+(?:{_DIRECTION}[ ]+)?(?:Broadway\b|(?:Avenue|Ave\.?)[ ]+(?:of[ ]+the[ ]+[A-Z]\w+|[A-Z]\b|\d+)" r"|(?:US[ ]|State[ ]|County[ ])?(?:Highway|Hwy|Route|Rte|Road)[ ]+\d+\b)"
)
_LOWER: Final = re.compile(
    rf"{_NUMBER}[ ]+(?:{_DIRECTION}[ ]+)?(?:(?!on\b|in\b|at\b|the\b|and\b|to\b|of\b|down\b|from\b|blocks?\b|miles?\b|hours?\b|"
    rf"minutes?\b|min\b|days?\b|km\b|years?\b|months?\b|weeks?\b|more\b|other\b|people\b|lane\b)[\w'\u2019.-]+[ ]+){{1,3}}?(?:{_CLEAR}|way|square)\b\.?", re.IGNORECASE,
)
_PLACE_AFTER: Final = re.compile(
    rf"[ ]?,?[ ]?(?:\n[ ]*)?(?:{_UNIT}[ ]?,?[ ]?)?(?:,?[ ]?[A-Z][\w .'\u2019-]{{1,30}}?,[ ]*)?"
    r"(?:[A-Z]{2}\b(?:[ ]+\d{5}(?:-\d{4})?)?|\d{5}(?:-\d{4})?\b|[A-Z]{1,2}\d[A-Z\d]?[ ]?\d[A-Z]{2}\b)"
)
_UNIT_AFTER: Final = re.compile(rf"[ ]?,?[ ]?{_UNIT}", re.IGNORECASE)
_TOWN_AFTER: Final = re.compile(r",[ ]?(?:\n[ ]*)?[A-Z][a-z]+")
_HOME_BEFORE: Final = re.compile(
    r"(?:\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing|ence)|address|home|house|located|based|mov(?:e|ed|ing)|ship|send|mail|deliver(?:ed|y)?|"
    r"stay(?:s|ed|ing)?|sent|apartment|flat|office|headquarter\w*)\b[^.!?\n]{0,24}|\bat\s+|:\s*)$",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"(?:1[89]|20)\d\d")
_TIME_BEFORE: Final = re.compile(
    r"\b(?:in|since|by|during|until|till|from|of|year|circa|the|before|after|early|late|mid|summer|fall|spring|winter|and|to|"
    r"jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*),?\s+(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?$",
    re.IGNORECASE,
)
_MONTH_BEFORE: Final = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?)\.?\s+$", re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    r"[ ]+(?:minutes?|mins?|hours?|days?|weeks?|months?|years?|miles?|km|best|top|new|people|more|other|times?|different|great|"
    r"big|small|of|the|january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)

_POST_BOX: Final = re.compile(
    r"\b(?:p\.? ?o\.? ?box|post office box|postbox)\s*\#?\s*\d{1,8}\b", re.IGNORECASE
)
_GERMAN: Final = re.compile(
    r"\b[A-Z\xc4\xd6\xdc][\w\xe4\xf6\xfc\xdf-]*(?:stra\xdfe|strasse|str\.|allee|gasse|platz|damm|[ ](?:Stra\xdfe|Strasse|Str\.|Allee|Platz))" r"[ ]\d{1,4}[ ]?[a-zA-Z]?\b"
)
_FRENCH: Final = re.compile(
    r"\b\d{1,4}(?:[ ]?(?:bis|ter))?,?[ ](?:rue|avenue|boulevard|place|quai|all\xe9e|chemin|impasse)[ ](?:de[ ]|du[ ]|des[ ]|d'|l'|la[ ]|le[ ]|les[ ])*" r"[A-Z\xc0-\xdd][\w\xc0-\xff'-]+"
)
_SOUTHERN: Final = re.compile(
    r"\b(?:Calle|Avenida|Av\.|Paseo|Plaza|Carrera|Rua|Via|Viale|Piazza|Corso)(?:[ ](?:de|la|del|las|los|da|do|dos|di|della|dei))*" r"(?:[ ][A-Z\xc0-\xdd][\w\xc0-\xff'-]+){1,3},?[ ](?:n[\xba\xb0o.]+[ ]?)?\d{1,4}\b"
)


_HINTED: Final = (
    (("box",), _POST_BOX),
    (("str", "allee", "gasse", "platz", "damm"), _GERMAN),
    (("rue", "avenue", "boulevard", "place", "quai", "all\xe9e", "chemin", "impasse"), _FRENCH),
    (("calle", "aven", "av.", "paseo", "plaza", "carrera", "rua ", "via", "piazza", "corso"), _SOUTHERN),
)


def find_addresses(text: str) -> Iterator[SecretFinding]:
    """Yield every street address with a house number, and every post box."""
    if _DIGIT.search(text) is None:
        return
    for number in _HOUSE.finditer(text):
        found = _address_at(number.start(), text)
        if found is not None:
            yield found
    lowered = lower(text)
    for hints, pattern in _HINTED:
        if any(hint in lowered for hint in hints):
            yield from (_finding(match, text) for match in pattern.finditer(text))


def _address_at(position: int, text: str) -> SecretFinding | None:
    for pattern in (_PROPER, _OTHER, _LOWER):
        match = pattern.match(text, position)
        if match is not None and _is_address(match, text, proper=pattern is not _LOWER):
            return _finding(match, text)
    return None


def _is_address(match: re.Match[str], text: str, *, proper: bool) -> bool:
    before = text[max(0, match.start() - 60) : match.start()]
    after = text[match.end() :]
    if _COUNTED.match(text, match.end("number")):
        return False
    if _MONTH_BEFORE.search(before) and len(match["number"]) <= 2:
        return False
    certain = _PLACE_AFTER.match(after) is not None or _UNIT_AFTER.match(after) is not None
    if _YEAR.fullmatch(match["number"]) and _TIME_BEFORE.search(before):
        return certain
    return (
        proper or certain or _TOWN_AFTER.match(after) is not None or _HOME_BEFORE.search(before) is not None
    )


def _finding(match: re.Match[str], text: str) -> SecretFinding:
    """Return the address with what belongs to it behind the street: unit, town, state, post code."""
    place = _PLACE_AFTER.match(text, match.end()) or _UNIT_AFTER.match(text, match.end())
    return SecretFinding(match.start(), match.end() if place is None else place.end(), "street_address")
