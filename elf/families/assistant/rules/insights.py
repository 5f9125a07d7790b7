"""What shows of how a user feels and whom the user trusts: whether it may be kept, and what of it counts by rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from elf.families.assistant.rules.texts import normalised
from elf.families.assistant.rules.validators import Fault, faults_of

MOST_INSIGHTS: Final = 3
FEWEST_STATEMENTS: Final = 2
"""How many messages of a user's must say a thing before rules say it of the user."""

InsightFault: TypeAlias = Fault | Literal["NAMES_ASSISTANT", "MALFORMED"]

_ASSISTANT: Final = re.compile(
    r"\b(?:ai|a\.i\.|assistants?|bots?|chat ?bots?|chatgpt|gpt(?:-?\w+)?|llms?|(?:language|ai) models?|agents?)(?!\w)",
    re.IGNORECASE,
)
_HOW: Final = (
    r"(?:a bit |also |always |extremely |just |often |pretty |quite |rather |really |so |still |too |very )*"
)
_FEELS: Final = re.compile(
    rf"\bI(?:(?:'m| am| was|'ve been| have been) {_HOW}(?:feeling )?| {_HOW}(?:feel|felt) ){_HOW}"
    r"(?P<what>afraid|angry|annoyed|anxious|bored|calm|confident|disappointed|excited|exhausted|frustrated|grateful"
    r"|happy|hopeful|lonely|nervous|overwhelmed|proud|relieved|sad|scared|stressed|tired|upset|worried)\b",
    re.IGNORECASE,
)
_TRUSTS: Final = re.compile(
    rf"\bI (?P<not>don't |do not |no longer |never )?(?:completely |fully )?{_HOW}trust "
    r"(?:my (?P<whose>[a-z][\w-]*)|(?P<whom>[A-Z][\w-]+))\b"
)


@dataclass(frozen=True, slots=True)
class Words:
    """A message of a user's, and the turn that it was said in."""

    content: str
    turn_id: str
    thread_id: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a user said in several messages, said of the user, and the words that prove it."""

    text: str
    tag: Literal["feeling", "trust"]
    quotes: Sequence[Words]


def fault_of(text: str) -> InsightFault | None:
    """Return why a text may not be kept as an insight; None when it may be, in its normal form."""
    faults = faults_of(normalised(text), "insight")
    if faults:
        return faults[0]
    return "NAMES_ASSISTANT" if _ASSISTANT.search(text) else None


def stated(messages: Sequence[Words]) -> list[Stated]:
    """Return what at least two messages of a user's state of a feeling or of trust, in the order it was said first."""
    found: dict[tuple[str, Literal["feeling", "trust"]], dict[Words, Words]] = {}
    for message in messages:
        plain = message.content.replace("\u2019", "'")
        for said in _FEELS.finditer(plain):
            text = f"User repeatedly stated feeling {said['what'].lower()}."
            quote = Words(said[0], message.turn_id)
            found.setdefault((text, "feeling"), {}).setdefault(message, quote)
        for said in _TRUSTS.finditer(plain):
            whom = said["whom"] or f"User's {said['whose']}"
            text = f"User repeatedly stated {'a lack of ' if said['not'] else ''}trust in {whom}."
            found.setdefault((text, "trust"), {}).setdefault(message, Words(said[0], message.turn_id))
    counted = [
        Stated(text, tag, list(quotes.values()))
        for (text, tag), quotes in found.items()
        if len(quotes) >= FEWEST_STATEMENTS and fault_of(text) is None
    ]
    return counted[:MOST_INSIGHTS]
