"""Events: sentences that tell in the past tense what happened, and when."""

from __future__ import annotations

import re
from typing import Final

from elf.families.graph.extraction.wording import DATE, MONTHS, SEASON
from elf.providers.local.vocabulary import DAY

_PART: Final = r"(?:morning|afternoon|evening|night)"
_SPAN: Final = rf"(?:week|weekend|month|year|quarter|{SEASON}|night)"
_COUNT: Final = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of|\d{1,3}) "
    r"(?:minutes?|hours?|days?|weeks?|months?|years?)"
)
_YEARLY: Final = rf"(?:{MONTHS}(?:,? (?:of )?\d{{4}})?|(?:19|20)\d\d|q[1-4])"
WHEN: Final = (
    rf"(?:(?:earlier )?(?:yesterday|today)(?: {_PART})?|this (?:morning|afternoon)"
    rf"|(?:earlier )?last (?:{_SPAN}|{DAY}|{MONTHS})(?: {_PART})?|{_COUNT} ago|the {_SPAN} before last"
    rf"|on (?:{DAY}(?: {_PART})?|{DATE})|(?:during|in) the night of {DATE}|{DATE}"
    r"|at \d{1,2}(?::\d\d(?: utc| cet| gmt)?| ?[ap]\.?m\.?)"
    rf"|in (?:early |late |mid-|(?:the )?{SEASON} of )?{_YEARLY})\b"
)

_IRREGULAR: Final = (
    r"(?:ate|became|began|bought|broke|brought|built|came|caught|chose|crashed|cut|did|drove|fell|felt|flew|found|froze"
    r"|gave|got|grew|had|heard|held|hit|hurt|kept|knew|laid|led|left|lent|lost|made|met|paid|put|quit|ran|read|rode|rose"
    r"|said|sang|sat|saw|sent|set|shot|shut|slept|sold|spent|spoke|spread|stood|stole|swam|swept|taught|threw|told|took"
    r"|tore|was|went|were|woke|won|wore|wrote)"
)
_PAST: Final = rf"(?:{_IRREGULAR}|[a-z]{{2,}}ed(?<!need)(?<!seed)(?<!speed))"
_DID: Final = rf"(?:(?:also|already|even|finally|just|never|recently|then|\w+ly) )?{_PAST}\b"
_NAME: Final = r"(?-i:(?!I')[A-Z][\w'&.-]*)"
_THING: Final = (
    r"(?:the|our|my|his|her|their|a|an|one|two|three|all|some|customer|somebody|someone|everyone)"
    r"(?: (?!(?:that|which|who|will|is|are|has|have|can|must|should)\b)[\w'./-]+){0,5}?"
)
_SUBJECT: Final = rf"(?:I|we|my \w+ and I|{_THING}|{_NAME}(?: (?:and )?{_NAME}){{0,3}})"

_DATED_FIRST: Final = re.compile(rf"{WHEN}[,:]? {_SUBJECT} {_DID}", re.IGNORECASE)
_DATED_LATER: Final = re.compile(rf"{_SUBJECT} {_DID}.*?\b{WHEN}", re.IGNORECASE)
_LOGGED: Final = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[T ][\d:.]+Z?)?[:,]? (?:- )?{_PAST}\b", re.IGNORECASE)
_NOT_HAPPENED: Final = re.compile(
    r"\bI was born\b|\b(?:will|won't|would|could|should|must|shall|going to|planned (?:for|on)|scheduled"
    r"|supposed to|expected to|due|is|are|am|has to|have to|needs?|used to|wanted|hoped|thought|wondered|seemed"
    r"|felt like|looks|seems|plans?)\b",
    re.IGNORECASE,
)


def happened(sentence: str) -> bool:
    """Tell whether a sentence says what happened at a time that it names."""
    told = _DATED_FIRST.match(sentence) or _LOGGED.match(sentence) or _DATED_LATER.match(sentence)
    return told is not None and _NOT_HAPPENED.search(sentence) is None
