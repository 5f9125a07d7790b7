"""Street addresses of the continent of Europe: the number behind the street, or before it, and the post code before the town."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

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
    r"[ ][A-Z\xc0-\xde][\w\xdf-\xff'-]{1,30}(?:[ ](?:am|an der|im|in|ob|sur|de|del|la|aan den)[ ][A-Z\xc0-\xde][\w\xdf-\xff-]{1,30})?"
)
_CODE: Final = r"(?:[A-Z]{1,2}-)?(?:\d{4}[ ]?[A-Z]{2}\b|\d{3}[ ]\d{2}\b|\d{4,5}\b)"
_PLACE_AFTER: Final = re.compile(rf",?[ ]?(?:\n[ ]{{0,4}})?{_CODE}{_TOWN}")
# Words that end the names of streets, but mean other things, too: only a post code and a town make an address of them.
_ENDINGS: Final = (
    *("weg", "ring", "ufer", "steig", "stieg", "pfad", "hof", "markt", "graben", "chaussee", "promenade", "zeile", "kai"),
    *("straat", "laan", "gracht", "kade", "plein", "singel", "dijk", "dreef", "lei", "steenweg"),
    *("vej", "gade", "gatan", "v\xe4gen", "veien", "vegen", "katu", "gata"),
)
_PLACED: Final = re.compile(
    rf"\b(?:[A-Z\xc0-\xde][\w\xdf-\xff'-]{{0,40}}(?:{'|'.join(_ENDINGS)}|[ ](?:{'|'.join(map(str.title, _ENDINGS))}))"
    r"|(?:Am|An der|Im|In der|Unter den|Zum|Zur|Auf dem|Auf der)[ ][A-Z\xc0-\xde][\w\xdf-\xff-]{1,40})"
    rf"[ ]\d{{1,4}}[ ]?[a-zA-Z]?(?:,[ ]?(?:\n[ ]{{0,4}})?|[ ]?\n[ ]{{0,4}}){_CODE}{_TOWN}"
)
# Each with what stands in every match.
_HINTED: Final = (
    (
        _GERMAN,
        tuple(f"{name} " for name in "tra\xdfe trasse str. allee gasse platz damm Str. Allee Platz".split()),
    ),
    (
        _FRENCH,
        tuple(f" {name} " for name in "rue avenue boulevard place quai all\xe9e chemin impasse".split()),
    ),
    (
        _SOUTHERN,
        tuple(f"{name} " for name in "Calle Avenida Av. Paseo Plaza Carrera Rua Via Viale Piazza Corso".split()),
    ),
    (
        _PLACED,
        (
            *(f"{name} " for ending in _ENDINGS for name in (ending, ending.title())),
            *(f"{name} " for name in ("Am", "An der", "Im", "In der", "Unter den", "Zum", "Zur", "Auf dem", "Auf der")),
        ),
    ),
)
_DIGIT: Final = re.compile(r"[0-9]")


def find_european_addresses(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield the street addresses with a house number in the forms of German, French, Spanish, Dutch and their like."""
    if _DIGIT.search(text) is None:
        return
    for pattern, hints in _HINTED:
        if any(map(text.__contains__, hints)):
            yield from (_with_town(match, text) for match in pattern.finditer(text))


def _with_town(match: re.Match[str], text: str) -> SecretFinding:
    """Return the address with the post code and the town behind the street."""
    place = _PLACE_AFTER.match(text, match.end())
    return SecretFinding("street_address", match.start(), match.end() if place is None else place.end())
