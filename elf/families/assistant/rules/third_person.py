"""What a user says of himself, said of him: "I prefer tea" is "User prefers tea.".

There are fixed patterns only. What none of them fits is left: no guess is made about who is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from elf.families.assistant.rules.validators import has_pronoun

_VERBS: Final = (
    "adore|avoid|belong|buy|collect|cook|detest|dislike|drink|drive|eat|enjoy|favor|favour|go|hate|have|hope|intend|know"
    "|learn|like|live|love|need|own|plan|play|prefer|read|ride|run|speak|study|swim|take|teach|train|travel|use|want"
    "|watch|wear|work|write"
)
_HOW: Final = (
    r"(?:(?P<how>also|always|currently|generally|mainly|mostly|never|now|often|only|really|still|usually) )?"
)
_PAST: Final = (
    r"\w{2,}ed|ate|became|began|bought|built|chose|found|gave|got|grew|had|held|kept|left|lost|made|met|moved|paid|quit"
    r"|ran|saw|sold|spent|started|taught|took|went|won|wrote"
)
_TO_DO: Final = {"have": "has", "go": "goes"}
_END: Final = re.compile(r"[\s.!;,]+$")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:{text})$", re.IGNORECASE | re.DOTALL)


def _does(verb: str) -> str:
    """Return a verb as it is of a third person."""
    verb = verb.lower()
    if verb in _TO_DO:
        return _TO_DO[verb]
    if re.search(r"(?:s|x|z|ch|sh)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _how(found: re.Match[str]) -> str:
    return f"{found['how'].lower()} " if found["how"] else ""


_RULES: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]] = (
    (_pattern(r"(?:please |you can |just )*call me (?P<rest>.+)"), lambda m: f"User's preferred name is {m['rest']}"),
    (
        _pattern(
            r"(?:please )?(?:always |only )?(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? (?:only )?in "
            r"(?P<rest>dutch|english|french|german|italian|polish|portuguese|spanish|swedish|turkish)"
        ),
        lambda m: f"User's preferred language is {m['rest'].capitalize()}",
    ),
    (_pattern(r"my (?P<rest>.+? (?:is|are|has|have)\b.+)"), lambda m: f"User's {m['rest']}"),
    (_pattern(rf"(?:I am|I'm) {_HOW}(?P<rest>.+)"), lambda m: f"User is {_how(m)}{m['rest']}"),
    (_pattern(rf"(?:I have|I've)(?: got)? {_HOW}(?P<rest>.+)"), lambda m: f"User has {_how(m)}{m['rest']}"),
    (_pattern(r"I (?:don't|do not) (?P<rest>.+)"), lambda m: f"User does not {m['rest']}"),
    (_pattern(r"I (?:can't|cannot|can not) (?P<rest>.+)"), lambda m: f"User cannot {m['rest']}"),
    (_pattern(r"I can (?P<rest>.+)"), lambda m: f"User can {m['rest']}"),
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
    for pattern, said in _RULES:
        if (found := pattern.match(plain)) is not None:
            return _told_of_user(said(found))
    return None if has_pronoun(plain) else f"{plain[0].upper()}{plain[1:]}."


def _told_of_user(text: str) -> str | None:
    told = _MY.sub("User's", _AND_DOES.sub(lambda found: f"and {_does(found['verb'])}", text))
    return None if has_pronoun(told) else f"{told}."
