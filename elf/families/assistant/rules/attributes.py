"""What a short text says of whom: the attribute that has one value at a time, and what is liked or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from elf.families.assistant.rules.values import ValueType, holds_value, value_of


class Attribute(NamedTuple):
    """A subject and what of it is told; it has one value at a time."""

    subject: str
    name: str


@dataclass(frozen=True, slots=True)
class Valued:
    """An attribute and its value, which has the type of the attribute; `tells_more` where the text goes on after it.

    `is_implied` where the words say it in passing, or may say it of several: "is from" a place, "speaks" a language, or
    the bare "is Ana". No other value takes the place of such a one by rule.
    """

    attribute: Attribute
    type: ValueType
    value: str
    tells_more: bool = False
    is_implied: bool = False

    @property
    def folded(self) -> str:
        """The value as it is compared."""
        return _folded(self.value.removeprefix("the ").removeprefix("The "))


@dataclass(frozen=True, slots=True)
class Liking:
    """Who likes something, or does not."""

    subject: str
    what: str
    likes: bool


class _Said(NamedTuple):
    """A way to state an attribute: the value follows the words, which `_WHO` precedes."""

    words: str
    name: str
    type: ValueType
    is_implied: bool = False
    after: str = ""


_WHO: Final = r"(?P<who>User|(?:User's |the |The )?[\w-]+(?: [A-Z][\w-]*)?)"
_NOW: Final = r"(?:now |still )?"
_CITY_OF: Final = r"(?:the (?:city|town) of )?"
_FIRST: Final = r"(?:(?:preferred|first|given|full|real|actual|legal|chosen|own) )*"
# Each names the attribute where the text does not: one has one home, one employer and one name at a time.
_WAYS: Final[Sequence[_Said]] = (
    _Said(
        rf" {_NOW}(?:lives|resides|dwells|stays) (?:in|near|at|over in|down in|out in|up in) {_CITY_OF}",
        "home",
        "place",
    ),
    _Said(rf" is {_NOW}(?:living|residing|based|located|settled) (?:in|near|at|out of) ", "home", "place"),
    _Said(r" has been (?:living|residing|based|staying) (?:in|near) ", "home", "place"),
    _Said(r" (?:has )?(?:just )?(?:moved|relocated)(?: back)?(?: over)?(?: from .+?)? to ", "home", "place"),
    _Said(
        r"'s (?:(?:current|home|present) )?(?:city|town|home|residence|location|place of residence|home base) is "
        rf"{_NOW}(?:in )?",
        "home",
        "place",
    ),
    _Said(r" (?:now )?calls ", "home", "place", after=" home"),
    _Said(r" (?:has )?settled (?:down )?in ", "home", "place"),
    _Said(r" has lived (?:in|near) ", "home", "place", is_implied=True),
    _Said(rf" is {_NOW}in ", "home", "place", is_implied=True),
    _Said(r" makes (?:User's |a |the )?home in ", "home", "place"),
    _Said(
        r" has (?:a |the |User's )?(?:home|house|flat|apartment|place) in ", "home", "place", is_implied=True
    ),
    _Said(r" is (?:originally )?from ", "origin", "place", is_implied=True),
    _Said(r" (?:originally )?(?:comes|hails) from ", "origin", "place", is_implied=True),
    _Said(r"'s home ?town is ", "origin", "place", is_implied=True),
    _Said(rf" {_NOW}works (?:at|for) ", "employer", "organization"),
    _Said(rf" is {_NOW}(?:employed (?:at|by)|working (?:at|for)) ", "employer", "organization"),
    _Said(r"'s employer is ", "employer", "organization"),
    _Said(rf" {_NOW}works as ", "occupation", "occupation"),
    _Said(rf" is {_NOW}working as ", "occupation", "occupation"),
    _Said(r"'s (?:job|occupation|profession) is (?:being |that of )?", "occupation", "occupation"),
    _Said(r" is (?:called|named|known as) ", "name", "name"),
    _Said(rf"'s {_FIRST}name is ", "name", "name"),
    _Said(r"'s nickname is ", "name", "name"),
    _Said(
        r" (?:usually |mostly |generally |normally |typically |just )?goes by (?:the (?:nick)?name (?:of )?)?",
        "name",
        "name",
    ),
    _Said(
        r" (?:prefers|likes|wants|would (?:like|prefer|rather)|should|asks|needs) (?:to )?(?:be |being |go by )?"
        r"(?:called|addressed as|named|known as|go by) (?:as )?",
        "name",
        "name",
    ),
    _Said(r" (?:prefers|likes) (?:the name|going by) ", "name", "name"),
    _Said(r" responds to ", "name", "name", is_implied=True),
    _Said(r" is ", "name", "name", is_implied=True),
    _Said(r"'s (?:(?:preferred|personal) )?pronouns are ", "pronouns", "pronouns"),
    _Said(r" (?:uses|prefers|goes by|has|takes|likes)(?: the)? (?:pronouns )?", "pronouns", "pronouns"),
    _Said(r" identifies as ", "pronouns", "pronouns", is_implied=True),
    _Said(r" should be referred to (?:as|with|using|by) ", "pronouns", "pronouns"),
    _Said(r" is (?:a )?", "pronouns", "pronouns", is_implied=True),
    _Said(
        r"'s (?:preferred|favou?rite|chosen) language(?: (?:of|for|in) \w+(?: \w+)?)? is ",
        "preferred language",
        "language",
    ),
    _Said(
        r" (?:prefers|wants|would (?:like|prefer|rather have)|likes|needs) (?:(?:the )?(?:answers|replies|responses"
        r"|messages|explanations|conversations|everything|communication)(?: to be)? in|"
        r"to (?:speak|talk|chat|communicate|converse|write|use|be (?:answered|addressed)|read|receive answers)(?: in)?"
        r"|(?:speaking|talking|chatting|communicating|conversing|writing|using|reading)(?: in)?) ",
        "preferred language",
        "language",
    ),
    _Said(
        r" (?:would rather (?:speak|talk|chat|communicate|write|converse)(?: in)?"
        r"|is (?:most|more) (?:comfortable|at home) (?:in|with|speaking|writing(?: in)?)) ",
        "preferred language",
        "language",
    ),
    _Said(r" (?:prefers|would prefer|wants) ", "preferred language", "language"),
    _Said(r" (?:communicates|converses) (?:best |mostly |mainly )?in ", "preferred language", "language"),
    _Said(
        r"'s (?:native|first|mother|main|primary|own|home|strongest) (?:language|tongue) is ",
        "native language",
        "language",
    ),
    _Said(r"'s (?:language|mother tongue) is ", "native language", "language"),
    _Said(r" is a native(?: speaker of)? ", "native language", "language", after="(?: speaker)?"),
    _Said(
        r" (?:natively |mainly |mostly |only )?speaks (?:only |mainly |mostly )?",
        "spoken language",
        "language",
        is_implied=True,
        after="(?: natively| at home| as (?:a|the|User's) (?:first|native) language)?",
    ),
    _Said(rf" is {_NOW}", "age", "number", after=" years old"),
    _Said(rf" is {_NOW}", "marital status", "marital status"),
    _Said(r" is (?:also )?", "diet", "diet"),
    _Said(r" (?:follows|eats|keeps|has|is on) (?:an? )?", "diet", "diet", after=" diet"),
    _Said(r"(?:'s birthday is| was born)(?: on)? ", "birthday", "date"),
)
_WAYS_READ: Final = tuple(
    (
        re.compile(rf"^{_WHO}{way.words}(?P<value>.+)$"),
        re.compile(rf"^(?P<value>.+?){way.after}$") if way.after else None,
        way,
    )
    for way in _WAYS
)
# Of these nouns one has one at a time; of most others, such as sisters and hobbies, several.
_NOUNS: Final[Sequence[tuple[str, ValueType]]] = (
    (r"(?:[\w-]+ ){0,3}(?:colou?r)", "color"),
    (r"(?:favou?rite|preferred) [\w-]+(?: [\w-]+)?", "thing"),
    (r"(?:[\w-]+ ){0,3}(?:age|budget|cap|capacity|cost|height|limit|price|port)", "number"),
    (r"(?:[\w-]+ ){0,3}(?:quota|salary|size|timeout|version|weight)", "number"),
    (r"(?:[\w-]+ ){0,3}(?:birthday|deadline)", "date"),
    (r"(?:[\w-]+ ){0,3}location", "place"),
    (r"(?:[\w-]+ ){0,3}employer", "organization"),
    (r"(?:[\w-]+ ){0,3}name", "name"),
    (r"(?:[\w-]+ ){0,3}language", "language"),
    (r"(?:[\w-]+ ){0,3}(?:address|password|timezone|time zone)", "token"),
    (r"(?:[\w-]+ ){0,3}(?:title|occupation)", "thing"),
)
_POSSESSED: Final = tuple(
    (
        re.compile(
            rf"^(?P<who>[\w-]+(?: [A-Z][\w-]*)?)'s (?P<name>{noun}) (?:is|are) (?:now )?(?P<value>.+)$"
        ),
        type,
    )
    for noun, type in _NOUNS
)
_OF_A_THING: Final = tuple(
    (re.compile(rf"^(?:The|Our) (?P<name>{noun}) (?:is|are) (?:now )?(?P<value>.+)$", re.IGNORECASE), type)
    for noun, type in _NOUNS
)
_NO_SUBJECT: Final = re.compile(r"^(?:what|that|this|it|there|which|who|here)$", re.IGNORECASE)
_LIKES: Final = re.compile(
    rf"^{_WHO} (?P<not>does not |doesn't |is not |isn't |no longer )?(?:really )?"
    r"(?P<verb>likes?|loves?|enjoys?|adores?|fond of|a fan of|dislikes?|hates?|detests?|can't stand|cannot stand) "
    r"(?P<what>.+)$"
)
_PREFERS: Final = re.compile(
    rf"^{_WHO} (?:really |always |strongly |usually )?(?:prefers|favou?rs) (?P<what>.+)$"
)
_PAIRS: Final = (
    "dark/light dark/bright short/long brief/detailed concise/detailed brief/long short/detailed formal/informal"
    " formal/casual hot/cold warm/cold spicy/mild sweet/savory sweet/sour sweet/bitter quiet/loud quiet/noisy"
    " big/small large/small early/late morning/evening mornings/evenings indoor/outdoor indoors/outdoors summer/winter"
    " tabs/spaces public/private direct/indirect fast/slow modern/traditional crowded/quiet busy/quiet"
    " city/countryside verbose/concise verbose/terse simple/complex spicy/bland strong/weak thick/thin soft/hard"
    " wet/dry rainy/sunny rainy/dry online/offline paper/digital remote/onsite group/solo blunt/gentle serious/playful"
)
_OPPOSITES: Final = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())
_AGAINST: Final = re.compile(r"^(?:dislike|hate|detest|can)")


def valued(text: str) -> Valued | None:
    """Return the attribute and value that a text states; None where it states none that is known to have one value."""
    plain = text.strip().rstrip(".!")
    for pattern, ending, way in _WAYS_READ:
        found = pattern.match(plain)
        if found is None or _NO_SUBJECT.match(found["who"]) or (way.is_implied and found["who"] != "User"):
            continue
        said = found["value"]
        if ending is not None:
            ended = ending.match(said)
            if ended is None:
                continue
            said = ended["value"]
        value = value_of(said, way.type)
        if value is not None:
            attribute = Attribute(_folded(found["who"]), way.name)
            return Valued(attribute, way.type, value.text, value.tells_more, way.is_implied)
    for pattern, type in (*_POSSESSED, *_OF_A_THING):
        if (found := pattern.match(plain)) is not None and (
            value := value_of(found["value"], type)
        ) is not None:
            who = found.groupdict().get("who") or ""
            return Valued(Attribute(_folded(who), _folded(found["name"])), type, value.text, value.tells_more)
    return None


def may_replace(newer: str, older: str) -> bool:
    """Tell whether one of two texts may give another value to what the other one states, whoever says that it does.

    Where one of them states a value of an attribute, the other one has to hold a value of the same type.
    """
    ours, theirs = valued(newer), valued(older)
    if ours is not None and theirs is not None:
        return ours.attribute == theirs.attribute
    for known, other in ((ours, older), (theirs, newer)):
        if known is not None and not holds_value(other, known.type, other_than=known.value):
            return False
    return True


def are_opposite(new: str, old: str) -> bool:
    """Tell whether two texts state opposite preferences: one likes what the other does not, or its opposite."""
    likes, liked = liking(new), liking(old)
    if likes is not None and liked is not None and (likes.subject, likes.what) == (liked.subject, liked.what):
        return likes.likes != liked.likes
    ours, theirs = _PREFERS.match(new.strip().rstrip(".!")), _PREFERS.match(old.strip().rstrip(".!"))
    if ours is None or theirs is None or ours["who"] != theirs["who"]:
        return False
    return _are_opposed(_folded(ours["what"]).split(), _folded(theirs["what"]).split())


def _are_opposed(words: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether two lists of words differ in one, which has the opposite meaning in the other."""
    if len(words) != len(others):
        return False
    apart = [(word, other) for word, other in zip(words, others, strict=True) if word != other]
    return len(apart) == 1 and frozenset(apart[0]) in _OPPOSITES


def liking(text: str) -> Liking | None:
    """Return who likes what, or does not, by a text; None where it says nothing of that."""
    found = _LIKES.match(text.strip().rstrip(".!"))
    if found is None:
        return None
    likes = (found["not"] is None) != (_AGAINST.match(found["verb"]) is not None)
    return Liking(_folded(found["who"]), _folded(found["what"]), likes)


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
