"""Street addresses of the continent of Europe: most have the number behind the street, and the post code before the
town.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector, any_of
from elf.core.secrets.finding import SecretFinding

_GERMAN: Final = re.compile(
    r"\b[A-Z\xc4\xd6\xdc][\w\xe4\xf6\xfc\xdf-]{0,40}"
    r"(?:stra\xdfe|strasse|str\.|allee|gasse|platz|damm|[ ](?:Stra\xdfe|Strasse|Str\.|Allee|Platz))"
    r"[ ]\d{1,4}[ ]?[a-zA-Z]?\b"
)
_FRENCH: Final = re.compile(
    r"[0-9](?<!\w[0-9])\d{0,3}(?:[ ]?(?:bis|ter))?,?[ ](?:rue|avenue|boulevard|place|quai|all\xe9e|chemin|impasse)[ ]"
    r"(?:de[ ]|du[ ]|des[ ]|d'|l'|la[ ]|le[ ]|les[ ]){0,3}[A-Z\xc0-\xdd][\w\xc0-\xff'-]+"
)
_SOUTHERN: Final = re.compile(
    r"\b(?:Calle|Avenida|Av\.|Paseo|Plaza|Carrera|Rua|Via|Viale|Piazza|Corso)"
    r"(?:[ ](?:de|la|del|las|los|da|do|dos|di|della|dei)){0,3}"
    r"(?:[ ][A-Z\xc0-\xdd][\w\xc0-\xff'-]+){1,3},?[ ](?:n[\xba\xb0o.]+[ ]?)?\d{1,4}\b"
)
_TOWN: Final = (
    r"[ ][A-Z\xc0-\xde][\w\xdf-\xff'-]{1,30}"
    r"(?:[ ](?:am|an der|im|in|ob|sur|de|del|la|aan den)[ ][A-Z\xc0-\xde][\w\xdf-\xff-]{1,30})?"
)
_PLACE_AFTER: Final = re.compile(
    rf",?[ ]?(?:\n[ ]{{0,4}})?(?:[A-Z]{{1,2}}-)?(?:\d{{4}}[ ]?[A-Z]{{2}}|\d{{3}}[ ]\d{{2}}|\d{{4,5}}){_TOWN}"
)
# Words that end the names of streets, but mean other things, too: only a post code and a town make an address of them.
_ENDINGS: Final = (
    *("weg", "ufer", "steig", "stieg", "pfad", "graben", "chaussee", "promenade", "zeile", " Weg", " Ufer"),
    *("straat", "laan", "gracht", "kade", "plein", "singel", "dijk", "dreef", "steenweg"),
    *("vej", "ergade", "gatan", "v\xe4gen", "veien", "vegen", "gata", "katu"),
)
# 79104 or 0153, which must not be a year, 3511 KX, 111 51, each with a town.
_CODE_AND_TOWN: Final = re.compile(
    r"[0-9](?<![0-9][0-9])(?<![\w.][0-9])(?:[0-9]{3}(?:[0-9]|[ ]?[A-Z]{2}|(?<!000)(?<!19[0-9]{2})(?<!20[0-9]{2}))"
    rf"|[0-9]{{2}}[ ][0-9]{{2}}){_TOWN}"
)
_STREET_BEFORE: Final = re.compile(
    rf"\b(?:(?P<known>[A-Z\xc0-\xde][\w\xdf-\xff'-]{{2,40}}(?<!\bBloc)(?:{'|'.join(_ENDINGS)}))"
    r"|(?:Am|An der|Unter den)[ ][A-Z\xc0-\xde][\w\xdf-\xff-]{1,40})"
    r"[ ]\d{1,4}[ ]?[a-zA-Z]?(?:,[ ]?(?:\n[ ]{0,4})?|[ ]?\n[ ]{0,4})(?:[A-Z]{1,2}-)?$"
)
_REACH: Final = 72  # of a street and its number before the post code
_GERMAN_CODE: Final = re.compile(r"[0-9]{5}(?<!000)[ ]")
# Each with what stands in every match.
_HINTED: Final = (
    (
        _GERMAN,
        ("tra\xdfe", "trasse", "str.", "allee", "gasse", "platz", "damm", "Str.", "Allee", "Platz"),
    ),
    (
        _FRENCH,
        (" rue ", " avenue ", " boulevard ", " place ", " quai ", " all\xe9e ", " chemin ", " impasse "),
    ),
    (
        _SOUTHERN,
        (
            *("Calle", "Avenida", "Av.", "Paseo", "Plaza", "Carrera"),
            *("Rua", "Via", "Viale", "Piazza", "Corso"),
        ),
    ),
)


def _find_streets(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield the streets with a house number in the forms of German, French, Spanish and their like."""
    for pattern, hints in _HINTED:
        if any(map(text.__contains__, hints)):
            yield from (_with_town(match, text) for match in pattern.finditer(text))


def _find_before_towns(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield what may be a street with a house number, before a post code and a town."""
    for place in _CODE_AND_TOWN.finditer(text):
        street = _STREET_BEFORE.search(text, max(0, place.start() - _REACH), place.start())
        if street is not None and (street["known"] or _GERMAN_CODE.match(place.group())):
            yield SecretFinding("street_address", street.start(), place.end())


def _with_town(match: re.Match[str], text: str) -> SecretFinding:
    """Return the address with the post code and the town behind the street."""
    place = _PLACE_AFTER.match(text, match.end())
    return SecretFinding("street_address", match.start(), match.end() if place is None else place.end())


EUROPEAN_ADDRESSES: Final = (
    Detector(
        _find_streets, digits=1, marks=any_of(*(hint.lower() for _, hints in _HINTED for hint in hints))
    ),
    Detector(_find_before_towns, digits=4),
)
