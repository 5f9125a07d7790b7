"""The tone that a user asks for: "I prefer concise, direct answers", "keep it casual"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_TONES: Final = (
    "blunt|brief|businesslike|calm|candid|casual|cheerful|chatty|clear|concise|conversational|detailed|direct|elaborate"
    "|encouraging|energetic|enthusiastic|factual|formal|friendly|funny|gentle|honest|humorous|in-depth|informal|kind"
    "|laconic|laid-back|lengthy|light|light-hearted|lighthearted|long|matter-of-fact|neutral|objective|personal|plain"
    "|playful|polite|precise|professional|relaxed|respectful|sarcastic|serious|short|simple|snappy|straight"
    "|straightforward|succinct|supportive|technical|terse|thorough|to the point|to-the-point|warm|witty|wordy"
)
TONES: Final = rf"(?:(?:{_TONES})(?:(?:, and |,? and |,? but |, | )(?=(?:{_TONES})\b))?)+"
_MORE: Final = r"(?:(?:a bit |a little |much )?more |very |really |nice and |pretty |fairly |as )*"
_ANSWERS: Final = (
    r"(?:answers?|replies|reply|responses?|explanations?|messages?|tone(?: of voice)?|style|communication(?: style)?"
    r"|conversations?|conversation style|writing(?: style)?|wording|chats?|register|voice|feedback|things|everything|it"
    r"|language|emails?|summaries|texts?|way of (?:speaking|talking|writing))"
)
_WANTS: Final = (
    r"(?:really |always |usually |generally |much )?(?:prefers|likes|wants|favou?rs|appreciates|enjoys|needs|loves"
    r"|would (?:like|prefer|love|appreciate|rather have))"
)
_BEING: Final = r"(?:to (?:be|stay|sound) |that (?:are|is) |kept |being )"
_PATTERNS: Final = tuple(
    re.compile(rf"^User{pattern}$", re.IGNORECASE)
    for pattern in (
        rf" {_WANTS} (?:a |an |the )?{_MORE}(?P<value>{TONES}) {_ANSWERS}(?: (?:with (?:few|no) \w+|in general))?",
        rf" {_WANTS} (?:the |User's )?{_ANSWERS} {_BEING}?{_MORE}(?P<value>{TONES})",
        rf"'s (?:preferred|favou?rite) {_ANSWERS} is {_MORE}(?P<value>{TONES})",
    )
)
_ADVERBS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "briefly": "brief", "casually": "casual", "concisely": "concise", "directly": "direct", "formally": "formal",
        "informally": "informal", "politely": "polite", "succinctly": "succinct", "plainly": "plain",
        "professionally": "professional", "bluntly": "blunt", "honestly": "honest", "simply": "simple",
    }
)  # fmt: skip
_POLITE: Final = (
    r"(?:(?:please|always|just|try to|can you|could you|would you|you can|i want you to|i'd like you to|i need you to"
    r"|and) )*"
)
_WITH_ME: Final = (
    r"(?:,? (?:with me|to me|for me|when you \w+|in your \w+|from now on|always|please|okay|ok))*"
)
_USE: Final = r"(?:use|adopt|keep|take|(?:write|speak|answer|reply|respond|talk) in|stick to|keep to)"
_TALK: Final = r"(?:answer|reply|respond|talk|speak|write|explain things|communicate)"
_KEEP: Final = r"(?:keep|make)"
_YOU_ARE: Final = (
    rf"you(?:r {_ANSWERS}(?: (?:are|is|were|to be|to sound))?|'re| are| were| to be| being| keep it| kept it)"
)
_ASKED: Final = tuple(
    re.compile(rf"^{_POLITE}{pattern}{_WITH_ME}$", re.IGNORECASE)
    for pattern in (
        rf"(?:be|stay|sound|remain) {_MORE}(?P<value>{TONES})",
        rf"(?:keep|make) (?:the |your )?{_ANSWERS} {_MORE}(?P<value>{TONES})",
        rf"{_USE} (?:a |an |the )?{_MORE}(?P<value>{TONES}) {_ANSWERS}",
        rf"{_MORE}(?P<value>{TONES}) (?:answers|replies|responses|explanations)",
        rf"i (?:like|prefer) (?:it )?(?:when |that )?you {_KEEP} (?:the |your )?{_ANSWERS} {_MORE}(?P<value>{TONES})",
        rf"(?:give|send|write) me (?:a |an )?{_MORE}(?P<value>{TONES}) {_ANSWERS}",
        rf"{_TALK}(?: (?:to|with) me)? (?:more )?(?P<how>{'|'.join(_ADVERBS)})",
        rf"i (?:like|prefer|want|love|appreciate) (?:it )?(?:when )?{_YOU_ARE} {_MORE}(?P<value>{TONES})",
        rf"i(?:'d| would) (?:like|prefer|appreciate|love) (?:it )?(?:if )?{_YOU_ARE} {_MORE}(?P<value>{TONES})",
    )
)


def tone_of(text: str) -> str | None:
    """Return the tone that a text in the third person says the user prefers; None where it says none."""
    found = next((found for pattern in _PATTERNS if (found := pattern.match(text)) is not None), None)
    return None if found is None else found["value"].lower()


def asked_tone(quote: str) -> str | None:
    """Return the tone that a user's words ask for; None where they ask for none."""
    found = next((found for pattern in _ASKED if (found := pattern.match(quote)) is not None), None)
    if found is None:
        return None
    said = found.groupdict()
    return _ADVERBS[said["how"].lower()] if said.get("how") else str(said["value"]).lower()
