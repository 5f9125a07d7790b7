"""What a clause may say of a thing, and the attributes of things and people: "the port of the server is 80"."""

from __future__ import annotations

import re
from typing import Final

from elf.families.knowledge.consolidation.people import RELATIVES, Said

_DEFINITE: Final = (
    r"(?:[$\u20ac\u00a3]?\d|[\w-]+-\d|(?-i:[A-Z])|(?:one(?! of\b)|two|three|four|five|six|seven"
    r"|eight|nine|ten|twelve)\b)"
)
_VALUE: Final = (
    rf"(?:(?:the|an?|on(?= \d)|at|by|called|named|set to|due (?:on|by|in)) )*{_DEFINITE}.{{0,200}}"
)
_NOUNS: Final = r"[\w./-]+(?: (?!is\b|are\b|of\b|for\b|that\b|which\b)[\w./-]+){0,3}"
_FAVOURITE: Final = re.compile(
    r"(?:(?:all-time|absolute) )?(?:favou?rite|preferred) \w+(?: (?:of )?\w+){0,3}", re.IGNORECASE
)
_TOLD_PLAINLY: Final = re.compile(
    r"(?:blood type|browser|company|country|default [\w ]+|diet|editor|eye colou?r|gender|hair colou?r|hobby"
    r"|hometown|job|job title"
    r"|language|location|major|mother tongue|nationality|native language|occupation|operating system|profession"
    r"|pronouns|religion"
    r"|role|shell|star sign|time ?zone|title|username)",
    re.IGNORECASE,
)
_AIM: Final = re.compile(r"(?:(?:main|next|long-term) )?(?:aim|goal|plan)", re.IGNORECASE)
_NO_ATTRIBUTE: Final = re.compile(
    r".*\b(?:answer|best|bit|day|fear|feeling|guess|idea|impression|kind|life|lot|mood|one|only|opinion|part"
    r"|point|problem|question|fact|result|secret|solution|issue|team"
    r"|reason|rest|sort|thing|thought|time|truth|way|worst)s?",
    re.IGNORECASE,
)
_STATE: Final = re.compile(
    r"(?:a (?:bit|little|lot|mess|shame|must)|always|back|down|fine|gone|going|good|great|here|hard|in|late|nice"
    r"|on|out|over|really|so"
    r"|sure|there|too|up|very|with)\b",
    re.IGNORECASE,
)
_OF_PERSON: Final = re.compile(RELATIVES, re.IGNORECASE)
_PROPER_NAME: Final = re.compile(r"[A-Z][\w.'-]+")
_MEASURED: Final = re.compile(
    r"\d+ (?:year|month|week|day|hour|minute)s? (?:ago|away|early|late|left|off|old|over)\b", re.IGNORECASE
)
_DEFINITE_VALUE: Final = re.compile(_VALUE, re.IGNORECASE)

ATTRIBUTES: Final = (
    re.compile(
        rf"(?P<whose>my|our|(?:the |our )?[\w.-]+(?: [\w.-]+){{0,3}}'s) (?P<attribute>{_NOUNS}(?: of \w+)?)(?:'s"
        rf" name)? "
        r"(?:is|are)(?: (?:called|named))? (?P<content>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:the|our) (?P<attribute>[\w-]+(?: [\w-]+){0,2}?) (?:of|for) (?:the |our )?(?P<whose>(?!us\b|me\b"
        r"|you\b|it\b)[\w./-]+"
        r"(?: (?!is\b|are\b)[\w./-]+){0,4}) (?:is|are) (?P<content>.+)$",
        re.IGNORECASE,
    ),
)


def is_attribute(name: str, content: str) -> bool:
    """Tell whether words name an attribute, and what is said of it is a value and no opinion or passing state."""
    if _NO_ATTRIBUTE.fullmatch(name) or _MEASURED.match(content):
        return False
    if _OF_PERSON.fullmatch(name):
        return _PROPER_NAME.match(content) is not None
    if _AIM.fullmatch(name):
        return content.startswith("to ")
    if _DEFINITE_VALUE.fullmatch(content):
        return True
    plainly = _FAVOURITE.fullmatch(name) or _TOLD_PLAINLY.fullmatch(name)
    return plainly is not None and _STATE.match(content) is None


def is_vague(noun: str) -> bool:
    """Tell whether a noun names nothing that anybody could look for again."""
    return _NO_ATTRIBUTE.fullmatch(noun) is not None


def _of_thing(verb: str, content: str = rf"(?:.{{0,40}} )??{_DEFINITE}.{{0,120}}") -> re.Pattern[str]:
    return re.compile(
        rf"(?P<subject>(?:(?:the|our|an?) )?[\w./-]+(?: (?!is\b|are\b|and\b|or\b|that\b|which\b|to\b(?!"
        rf" (?-i:[A-Z])))[\w./-]+){{0,5}}?)"
        rf" (?P<verb>{verb}) (?P<content>{content})$",
        re.IGNORECASE,
    )


_NAMED: Final = r"(?:the |an? )?[\w./-]+(?: [\w./-]+){0,4}"
_SINGLE: Final = (
    r"(?:belongs to|closes (?:at|on)|costs?|ends (?:at|on|in)|expires (?:on|in|at)|leaves (?:at|on)|arrives (?:at"
    r"|on)|listens on"
    r"|lives in|opens (?:at|on)|points to|reports to|runs (?:on|in)|starts (?:at|on|in)|begins (?:at|on|in)|takes"
    r"|lasts|weighs|runs?(?= every))"
)
_SEVERAL: Final = r"(?:contains?|includes?|integrates with|requires?|supports?|uses?)"

OF_THINGS: Final = (
    Said("{verb}", _of_thing(_SINGLE)),
    Said("{verb}", _of_thing(r"(?:belongs to|reports to)", _NAMED)),
    Said("{verb} {what}", _of_thing(_SEVERAL, rf"(?P<what>{_DEFINITE}.{{0,80}})")),
    Said("{verb} {what}", _of_thing("depends on", rf"(?:the )?(?P<what>{_NAMED})")),
    Said(
        "is",
        _of_thing(
            r"(?:is|are)",
            rf"(?:(?:the|an?|in(?= (?-i:[A-Z]))|on(?= \d)|called|named|due (?:on|by|in)) )*{_DEFINITE}.{{0,120}}",
        ),
    ),
    Said("is called", _of_thing(r"(?:is|are) (?:called|named)", r"[\w./-]+")),
)
"""The first form that fits decides."""
