"""Street addresses: a house number with a street, and a post box. Those of the continent: `european_addresses`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding


def _either(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


# A street's last word. Those of the second and third list mean other things, too, and count only where a town, a flat
# or a word such as "lives" stands beside.
_CLEAR: Final = _either(
    """Streets? Str St Avenue Ave Av Boulevard Blvd Roads? Rd Lane Ln Drives? Dr Courts? Ct Place Pl Terrace Ter
    Parkways? Pkwy Highway Hwy Expressway Expy Freeway Fwy Circles? Cir Alley Crescent Cres Mews Esplanade
    Turnpike Tpke Coves?"""
)
_COMMON: Final = _either(
    """Ways? Close Squares? Sq Trail Trl Loop Plaza Plz Row Path Walks? Groves? Gardens? Heights Hills? Points? Pike Run
    Ridges? Bend Crossing Views? Quay Wharf Greens? Parks? Landing Commons? Broadway"""
)
_RARE: Final = _either(
    """Branch Bridge Brooks? Burgs? Bypass Camp Canyon Cape Causeway Centers? Cliffs? Club Corners? Course Creek Crest
    Crossroad Curve Dale Dam Divide Estates? Extensions? Falls? Ferry Fields? Flats? Fords? Forest Forges? Forks? Fort
    Gateway Glens? Harbors? Haven Hollow Inlet Islands? Isle Junctions? Keys? Knolls? Lakes? Land Lights? Locks? Lodge
    Mall Manors? Meadows? Mills? Mission Motorway Mount Mountains? Neck Orchard Oval Overpass Pass Passage Pines?
    Plains? Ports? Prairie Radial Ramp Ranch Rapids? Rest River Route Rue Shoals? Shores? Skyway Springs? Spur Station
    Stravenue Stream Summit Throughway Trace Track Trafficway Tunnel Underpass Union Valley Via Viaduct Village Ville
    Vista Wall Wells?"""
)

# A number that a word follows. It is no part of a price, a time, a path or another number.
_HOUSE: Final = re.compile(
    r"[0-9](?<![\w$\u20ac\xa3#.,:/+-][0-9])[0-9]{0,5}(?![\d.:%])"
    r"(?=(?:-\d{1,5})?(?: ?\xbd| 1/2)?[A-Za-z]?,?[ ]{1,4}(?:[^\W\d_]|\d{1,3}(?:st|nd|rd|th)))"
)
_COMPASS: Final = (
    r"(?:(?:North|South|East|West|Northeast|Northwest|Southeast|Southwest|[NS]\.?[EW]?\.?|[EW])\.?)"
)
_HEAD: Final = (
    rf"(?P<number>\d{{1,6}}(?:-\d{{1,5}})?(?: ?\xbd| 1/2)?[A-Za-z]?),?[ ]{{1,4}}(?:{_COMPASS}[ ]{{1,4}})?"
)
_NAME: Final = r"(?:[A-Z][\w'.-]{0,30}|\d{1,3}(?:st|nd|rd|th)|of|the|de|la|del)"
_UNIT: Final = r"(?:apartment|apt|unit|suite|ste|floor|fl|room|rm|building|bldg|\#)\.?[ ]?\#?[\w-]{1,8}"
_NO_NAME: Final = _either(
    """on in at the and to of down from is are was for with per because it's its
    blocks? miles? hours? minutes? min mins days? km years?
    months? weeks? more other people lane lanes"""
)

_PROPER: Final = re.compile(
    rf"{_HEAD}(?:{_NAME}[ ]{{1,4}}){{1,4}}?{_CLEAR}\b(?! (?:the|an?|your|my|our|it)\b)\.?"
    rf"(?:[ ]{{1,4}}{_COMPASS}(?!\w))?"
)
_NUMBERED: Final = re.compile(
    rf"{_HEAD}(?:Broadway\b|(?:Avenue|Ave\.?)[ ]{{1,4}}(?:of[ ]{{1,4}}the[ ]{{1,4}}[A-Z]\w+|[A-Z]\b|\d+)"
    r"|(?:US[ ]|State[ ]|County[ ])?(?:Highway|Hwy|Route|Rte|Road)[ ]{1,4}\d+\b)"
)
_LOWER: Final = re.compile(
    rf"{_HEAD}(?:(?!(?:{_NO_NAME}|\d+)\b)[\w'.-]{{1,30}}[ ]{{1,4}}){{1,3}}?(?:{_CLEAR}|way|square)\b\.?",
    re.IGNORECASE,
)
_UNCOMMON: Final = re.compile(
    rf"{_HEAD}(?:{_NAME}[ ]{{1,4}}){{1,4}}?(?:{_COMMON}|{_RARE})\b\.?(?:[ ]{{1,4}}{_COMPASS}(?!\w))?"
)
_ANY_NAME: Final = re.compile(
    rf"{_HEAD}{_NAME}(?:[ ]{{1,4}}{_NAME}){{0,3}}?(?=,|[ ]{{1,4}}(?:Apt|Suite|Unit)\b)"
)

_STATE: Final = _either(
    """AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA
    RI SC SD TN TX UT VT VA WA WV WI WY DC PR GU VI AS MP AA AE AP"""
)
_TOWN: Final = r"(?:,?[ ]?[A-Z][\w .'-]{1,30}?,?[ ]{1,4})?"
_PLACE_AFTER: Final = re.compile(
    rf"[ ]?,?[ ]?(?:\n[ ]{{0,4}})?(?:{_UNIT}[ ]?,?[ ]?)?(?:\n[ ]{{0,4}})?{_TOWN}"
    rf"(?:{_STATE}\b(?:[ ]{{1,4}}\d{{5}}(?:-\d{{4}})?)?|\d{{5}}(?:-\d{{4}})?\b"
    r"|[A-Z]{1,2}\d[A-Z\d]?[ ]?\d[A-Z]{2}\b)"
)
_UNIT_AFTER: Final = re.compile(rf"[ ]?,?[ ]?{_UNIT}", re.IGNORECASE)
_TOWN_AFTER: Final = re.compile(r",[ ]?(?:\n[ ]{0,4})?[A-Z][a-z]+")
_LOWER_TOWN_AFTER: Final = re.compile(r",[ ]?[a-z]{3,20}[ ]{0,4}(?:$|[.,\n])")
_HOME_BEFORE: Final = re.compile(
    r"(?:\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing|ence)|address|home|house|located|based|mov(?:e|ed|ing)|ship|send"
    r"|mail|deliver(?:ed|y)?|stay(?:s|ed|ing)?|sent|apartment|flat|office|headquarter\w*)\b[^.!?\n]{0,24}|\bat\s+|:\s*)$",
    re.IGNORECASE,
)

# A number before a street's name may be a date, a year or a count.
_YEAR: Final = re.compile(r"(?:1[89]|20)\d\d")
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_MONTH_BEFORE: Final = re.compile(rf"\b{_MONTH}\.?\s+$", re.IGNORECASE)
_TIME_BEFORE: Final = re.compile(
    r"\b(?:in|since|by|during|until|till|from|of|year|circa|the|before|after|early|late|mid|summer|fall|spring|winter"
    rf"|and|to|{_MONTH}),?\s{{1,4}}(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s+)?$",
    re.IGNORECASE,
)
_COPYRIGHT_BEFORE: Final = re.compile(r"copyright|\(c\)|&copy;|\xa9", re.IGNORECASE)
_COUNTED: Final = re.compile(
    r"[ ]{1,4}(?:minutes?|mins?|hours?|days?|weeks?|months?|years?|miles?|km|stars?|best|top|new|people|more|other"
    rf"|times?|different|great|big|small|of|the|{_MONTH})\b",
    re.IGNORECASE,
)

_POST_BOX: Final = re.compile(
    r"\b(?:p\.? ?o\.? ?box|post office box|postbox|(?:psc|unit|cmr) \d+,? box)\s{0,3}\#?\s{0,3}\d{1,8}\b",
    re.IGNORECASE,
)
_MILITARY: Final = re.compile(r"\b(?:[A-Z][\w ]{0,30} )?[AFD]PO A[AEP] \d{5}\b")
# Each with what stands in every match.
_HINTED: Final = (
    (_POST_BOX, ("box", "Box", "BOX")),
    (_MILITARY, ("PO A",)),
)
_COLUMN_BEFORE: Final = re.compile(r"\d[ ]{2,}$")  # of a table: process and thread
# The name or number of a house before the number of the street.
_HOUSE_BEFORE: Final = re.compile(
    r"(?:\b(?:[A-Z][\w'-]{1,20}[ ]){1,2}(?:Cottage|House|Lodge|Farm|Barn|Villa|Manor|Hall|Court)"
    r"|\b(?:Flat|Apartment|Apt|Unit|Suite)[ ][\w-]{1,6}),[ ]$"
)
_REACH: Final = 60  # how far before a house number its surroundings are read
# The address of a company or of who wrote a program, in its licence or its imprint.
_COMPANY_BEFORE: Final = re.compile(
    r"\b(?:inc|llc|ltd|gmbh|corp|corporation|foundation)\b[.,]{0,2}[\s*#/;]{1,12}(?:\d[^.;]{0,40})?$",
    re.IGNORECASE,
)


def _find_addresses(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield every street address with a house number, and every post box."""
    for number in _HOUSE.finditer(text):
        yield from _address_at(number, text)
    for pattern, hints in _HINTED:
        if any(map(text.__contains__, hints)):
            yield from (_whole(match, text) for match in pattern.finditer(text))


def _address_at(number: re.Match[str], text: str) -> Iterator[SecretFinding]:
    """Yield the address that starts at a house number, if one does: the surer forms are tried first."""
    position = number.start()
    found = [
        (match, is_sure)
        for pattern, is_sure in ((_PROPER, True), (_NUMBERED, True), (_LOWER, False), (_UNCOMMON, False))
        if (match := pattern.match(text, position)) is not None
    ]
    match = _ANY_NAME.match(text, position)
    is_placed = match is not None and _PLACE_AFTER.match(text, match.end()) is not None
    if not (found or is_placed) or _is_date_or_count(number, text):
        return
    before = text[max(0, position - _REACH) : position]
    is_year = _YEAR.match(text, position) is not None
    if any(pattern.search(before) for pattern in (_COLUMN_BEFORE, _COMPANY_BEFORE)):
        return
    if is_year and _COPYRIGHT_BEFORE.search(before):
        return
    is_home = _HOME_BEFORE.search(before) is not None
    is_year = is_year and _TIME_BEFORE.search(before) is not None
    for street, is_sure in found:
        if (is_sure and not is_year) or _is_placed(street.end(), text, is_home=is_home and not is_year):
            yield _whole(street, text)
            return
    if match is not None and is_placed and not is_year:
        yield _whole(match, text)


def _is_date_or_count(number: re.Match[str], text: str) -> bool:
    if _COUNTED.match(text, number.end()):
        return True
    start = number.start()
    return len(number.group()) <= 2 and _MONTH_BEFORE.search(text[max(0, start - _REACH) : start]) is not None


def _is_placed(end: int, text: str, *, is_home: bool) -> bool:
    """Tell whether what stands around a street makes an address of it."""
    if _PLACE_AFTER.match(text, end) or _UNIT_AFTER.match(text, end):
        return True
    return is_home or bool(_TOWN_AFTER.match(text, end) or _LOWER_TOWN_AFTER.match(text, end))


def _whole(match: re.Match[str], text: str) -> SecretFinding:
    """Return the address with what belongs to it: the house before it; flat, town, state and post code behind it."""
    place = _PLACE_AFTER.match(text, match.end()) or _UNIT_AFTER.match(text, match.end())
    house = _HOUSE_BEFORE.search(text, max(0, match.start() - _REACH), match.start())
    start = match.start() if house is None else house.start()
    return SecretFinding("street_address", start, match.end() if place is None else place.end())


ADDRESSES: Final = Detector(_find_addresses, digits=1)
