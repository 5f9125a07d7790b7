"""What a user says of himself, said of him: "I prefer tea" is "User prefers tea.".

There are fixed patterns only. What none of them fits is left: no guess is made about who is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from elf.families.assistant.rules.tone import asked_tone
from elf.families.assistant.rules.validators import has_pronoun
from elf.families.assistant.rules.values import LANGUAGE, capitalized, value_of

_VERBS: Final = (
    "adore|aim|appreciate|avoid|belong|bike|buy|celebrate|code|coach|collect|come|call|communicate|commute|cook|dance|detest"
    "|dislike|draw|dream|drink|drive|eat|enjoy|fast|favor|favour|fear|follow|go|grow|hail|hate|have|hope|identify|intend"
    "|keep|know|lead|learn|like|live|love|manage|need|own|paint|plan|play|practice|practise|prefer|program|read|rent"
    "|reside|respond|ride|run|share|sing|sleep|smoke|speak|stay|study|support|swim|take|teach|train|travel|use|volunteer"
    "|vote|wake|walk to|want|watch|wear|work|write"
)
_HOW: Final = (
    r"(?:(?P<how>absolutely|actually|also|always|currently|generally|just|mainly|mostly|natively|never|normally|now"
    r"|often|only"
    r"|originally|primarily|rarely|recently|really|still|strongly|typically|usually) )?"
)
_PAST: Final = (
    r"\w{2,}ed|ate|became|began|bought|built|chose|found|gave|got|grew|had|held|kept|left|lost|made|met|moved|paid|quit"
    r"|ran|saw|sold|spent|started|taught|took|went|won|wrote"
)
_TO_DO: Final = {"have": "has", "go": "goes"}
_END: Final = re.compile(r"[\s.!;,]+$")


_PLEASE: Final = re.compile(
    r",? (?:please|thanks|thank you|if you don't mind|from now on|instead)$", re.IGNORECASE
)
_DOES: Final = "is|are|has|have|was|lives|works|likes|loves|prefers|plays|studies|speaks"
_ASKS: Final = (
    r"(?:(?:please|you can|you may|feel free to|just|always|only|can you|could you|would you|will you|can we|could we"
    r"|let's|I want you to|I'd like you to|I would like you to|I'd prefer (?:if you|you to|that you)|I need you to"
    r"|I'd appreciate it if you|go ahead and|don't hesitate to) )*"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:{text})$", re.IGNORECASE | re.DOTALL)


def _does(verb: str) -> str:
    """Return a verb as it is of a third person."""
    verb, _, more = verb.lower().partition(" ")
    if more:
        return f"{_does(verb)} {more}"
    if verb in _TO_DO:
        return _TO_DO[verb]
    if re.search(r"(?:s|x|z|ch|sh)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _how(found: re.Match[str]) -> str:
    """Return the adverb of a statement; what is currently so is so, and would be untrue one day."""
    how = (found["how"] or "").lower()
    return f"{how} " if how and how not in ("currently", "recently", "just") else ""


def _named(rest: str) -> str | None:
    """Return that the user is called so; None where it is no name: "call me later"."""
    name = _END.sub("", _PLEASE.sub("", rest))
    said = capitalized(name) or name
    return None if value_of(said, "name") is None else f"User's preferred name is {said}"


_RULES: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]]]] = (
    (
        _pattern(
            rf"{_ASKS}(?:(?:everyone|everybody|people|folks|(?:my )?(?:friends|family)|they|all"
            rf"|most people) (?:just )?)?"
            r"(?:calls?|knows?|address(?:es)?|refers? to) me (?:as )?(?P<rest>(?!.*/).+)"
        ),
        lambda m: _named(m["rest"]),
    ),
    (
        _pattern(
            r"(?P<rest>[\w'. -]{2,40}) is my (?P<more>(?:\w+ ){0,2}(?:name|nickname|home|city|home ?town|language"
            r"|tongue))"
        ),
        lambda m: f"User's {m['more']} is {m['rest']}",
    ),
    (_pattern(r"(?P<rest>[\w'. -]{2,40}) is where I live"), lambda m: f"User lives in {m['rest']}"),
    (
        _pattern(r"(?:home(?: for me)?|the (?:city|town|place) (?:where )?I live(?: in)?) is (?P<rest>.+)"),
        lambda m: f"User's home is {m['rest']}",
    ),
    (
        _pattern(r"we (?:(?:now|all|both|currently) )?(?P<verb>live|moved|relocated|settled)\b(?P<rest>.+)"),
        lambda m: f"User {'lives' if m['verb'].lower() == 'live' else m['verb'].lower()}{m['rest']}",
    ),
    (
        _pattern(
            r"(?:I (?:use|prefer|go by|take) (?!\w+ ?/))?(?P<rest>she|he|they)(?:(?: and | ?/ ?)(?P<more>her|him"
            r"|them|she|he"
            r"|they))"
            r"(?: pronouns)?(?:,? please)?"
        ),
        lambda m: f"User's pronouns are {m['rest'].lower()}/{m['more'].lower()}",
    ),
    (
        _pattern(rf"{_ASKS}use the name (?P<rest>.+)"),
        lambda m: _named(m["rest"]),
    ),
    (_pattern(r"(?:my|the) (?P<rest>(?:\w+ )?name)'s (?P<more>.+)"), lambda m: f"User's {m['rest']} is {m['more']}"),
    (
        _pattern(
            rf"{_ASKS}(?:use|refer to me (?:as|with|by|using)|address me (?:as|with)|my pronouns(?: are)?:?"
            rf"|pronouns(?: are)?:?)"
            r" (?:the )?(?:pronouns )?(?P<rest>(?:she|he|they|it|xe|ze|ey|fae)(?: ?/ ?\w+)+)"
            r"(?: pronouns)?(?: (?:for|with|when) .+)?(?:,? please)?"
        ),
        lambda m: f"User's pronouns are {m['rest']}",
    ),
    (
        _pattern(
            r"my (?P<more>(?:\w+ )?pronouns are) (?P<rest>she|he|they)(?: and |, | or )"
            r"(?P<other>her|him|them|she|he|they)"
        ),
        lambda m: f"User's {m['more']} {m['rest']}/{m['other']}",
    ),
    (
        _pattern(
            rf"{_ASKS}(?:(?:answer|reply|respond|write|speak|talk|chat|communicate|continue|converse|stick|switch"
            r"|explain things)(?: (?:to|with))?(?: me)?(?: everything)?(?: only)?(?: in| to)?|use|in) "
            rf"(?P<rest>{LANGUAGE})(?: (?:with|to|for) me| only| from now on| here| instead| when .+)*(?:,? please)?"
        ),
        lambda m: f"User's preferred language is {m['rest'][0].upper()}{m['rest'][1:]}",
    ),
    (_pattern(rf"my (?P<rest>.+? (?:{_DOES})\b.+)"), lambda m: f"User's {m['rest']}"),
    (_pattern(rf"(?:I am|I'm) {_HOW}(?P<rest>.+)"), lambda m: f"User is {_how(m)}{m['rest']}"),
    (_pattern(rf"(?:I have|I've)(?: got)? {_HOW}(?P<rest>.+)"), lambda m: f"User has {_how(m)}{m['rest']}"),
    (_pattern(r"I (?:don't|do not) (?P<rest>.+)"), lambda m: f"User does not {m['rest']}"),
    (_pattern(r"I (?:can't|cannot|can not) (?P<rest>.+)"), lambda m: f"User cannot {m['rest']}"),
    (_pattern(r"I can (?P<rest>.+)"), lambda m: f"User can {m['rest']}"),
    (
        _pattern(r"(?:I would|I'd) (?P<verb>like|prefer|love|appreciate) (?P<rest>.+)"),
        lambda m: f"User would {m['verb'].lower()} {m['rest']}",
    ),
    (_pattern(r"(?:I would|I'd) rather (?P<rest>.+)"), lambda m: f"User would rather {m['rest']}"),
    (
        _pattern(rf"I {_HOW}(?P<verb>{_VERBS})\b(?P<rest>.*)"),
        lambda m: f"User {_how(m)}{_does(m['verb'])}{m['rest']}",
    ),
    (_pattern(rf"I {_HOW}(?P<verb>{_PAST})\b(?P<rest>.*)"), lambda m: f"User {_how(m)}{m['verb']}{m['rest']}"),
)  # fmt: skip
_AND_DOES: Final = re.compile(rf"(?<=[ ,])and (?P<verb>{_VERBS})(?= )", re.IGNORECASE)
_MY: Final = re.compile(r"\bmy\b", re.IGNORECASE)


def third_person(quote: str) -> str | None:
    """Return what a user's words say, said of the user, as a sentence.

    None where no pattern fits them, or a pronoun is left of which nobody would know later whom it means.
    """
    plain = _END.sub("", quote.replace("\u2019", "'").strip())
    if not plain:
        return None
    if (tone := asked_tone(plain)) is not None:
        return f"User prefers {tone} answers."
    for pattern, said in _RULES:
        if (found := pattern.match(plain)) is not None:
            told = said(found)
            return None if told is None else _told_of_user(told)
    return None if has_pronoun(plain) else f"{plain[0].upper()}{plain[1:]}."


def _told_of_user(text: str) -> str | None:
    told = _MY.sub("User's", _AND_DOES.sub(lambda found: f"and {_does(found['verb'])}", text))
    return None if has_pronoun(told) else f"{told}."
