"""What a short text says of whom: the attribute that has one value at a time, and what is liked or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple


class Attribute(NamedTuple):
    """A subject and what of it is told; it has one value at a time."""

    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class Valued:
    """An attribute and its value, in lower case."""

    attribute: Attribute
    value: str


@dataclass(frozen=True, slots=True)
class Liking:
    """Who likes something, or does not."""

    subject: str
    what: str
    likes: bool


_WHO: Final = r"(?P<who>User|(?:User's |the |The )?[\w-]+(?: [A-Z][\w-]*)?)"
# Each names the attribute where the text does not: one has one home, one employer and one name at a time.
_ONE_VALUE: Final[Sequence[tuple[re.Pattern[str], str]]] = tuple(
    (re.compile(rf"^{_WHO} {pattern}$"), name)
    for pattern, name in (
        (r"(?:now )?(?:lives|is based|is located) (?:in|near|at) (?P<value>.+)", "home"),
        (r"(?:moved|relocated) (?:from .+? )?to (?P<value>.+)", "home"),
        (r"(?:now )?works (?:at|for) (?P<value>.+)", "employer"),
        (r"(?:now )?works as (?P<value>.+)", "occupation"),
        (r"is (?:called|named) (?P<value>.+)", "name"),
        (r"is (?P<value>\d+) years old", "age"),
        (r"is (?P<value>single|married|engaged|divorced|widowed)", "marital status"),
    )
)
# Of these nouns one has one at a time; of most others, such as sisters and hobbies, several.
_SINGLE: Final = (
    r"(?:(?:favou?rite|preferred) [\w-]+(?: [\w-]+)?"
    r"|(?:[\w-]+ ){0,3}(?:age|address|birthday|budget|cap|capacity|color|cost|deadline|employer|height|hometown"
    r"|language|limit|location|name|occupation|password|port|price|quota|salary|size|timeout|timezone|time zone|title"
    r"|version|weight))"
)
_POSSESSED: Final = re.compile(
    rf"^(?P<who>[\w-]+(?: [A-Z][\w-]*)?)'s (?P<name>{_SINGLE}) (?:is|are) (?:now )?(?P<value>.+)$"
)
_OF_A_THING: Final = re.compile(
    rf"^(?:The|Our) (?P<name>{_SINGLE}) (?:is|are) (?:now )?(?P<value>.+)$", re.IGNORECASE
)
_LIKES: Final = re.compile(
    rf"^{_WHO} (?P<not>does not |doesn't |is not |isn't |no longer )?(?:really )?"
    r"(?P<verb>likes?|loves?|enjoys?|adores?|fond of|a fan of|dislikes?|hates?|detests?|can't stand|cannot stand) "
    r"(?P<what>.+)$"
)
_AGAINST: Final = re.compile(r"^(?:dislike|hate|detest|can)")


def valued(text: str) -> Valued | None:
    """Return the attribute and value that a text states; None where it states none that is known to have one value."""
    plain = text.strip().rstrip(".!")
    for pattern, name in _ONE_VALUE:
        if (found := pattern.match(plain)) is not None:
            return Valued(Attribute(_folded(found["who"]), name), _folded(found["value"]))
    if (found := _POSSESSED.match(plain)) is not None:
        return Valued(Attribute(_folded(found["who"]), _folded(found["name"])), _folded(found["value"]))
    if (found := _OF_A_THING.match(plain)) is not None:
        return Valued(Attribute("", _folded(found["name"])), _folded(found["value"]))
    return None


def liking(text: str) -> Liking | None:
    """Return who likes what, or does not, by a text; None where it says nothing of that."""
    found = _LIKES.match(text.strip().rstrip(".!"))
    if found is None:
        return None
    likes = (found["not"] is None) != (_AGAINST.match(found["verb"]) is not None)
    return Liking(_folded(found["who"]), _folded(found["what"]), likes)


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
