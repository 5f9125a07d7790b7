"""What a sentence may not hold to be taken for a plain statement, and what it may begin and end with."""

from __future__ import annotations

import re
from typing import Final

from elf.providers.local.vocabulary import DAY, MONTH, OPENERS


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


UNSAID: Final = (
    re.compile(r"\?[\"')\]]*$|\.\.\.|\u2026|\[REDACTED:|https?://|\S@\S"),
    _any(
        r"^(?:he|her|here|his|how|it|its|she|that|their|there|these|they|this|those|what|when|where|which|who"
        r"|whose|why)\b",
        r"^(?:are|can|could|did|do|does|have|has|is|should|was|were|will|would|am|shall) (?!not\b)\w+",
    ),
    _any(
        r"\b(?:maybe|perhaps|probably|possibly|presumably|apparently|supposedly|allegedly|reportedly|likely"
        r"|unsure|rumou?rs?)\b",
        r"\b(?:might|could|would|should|wonder|wish|hope|hopefully|imagine|pretend|suppose|seems?|seemed|appears?"
        r"|doubt)\b",
        r"\b(?:not sure|who knows|i guess|i think|i bet|i believe|in my opinion|let's say|what if|as if|for"
        r" example|e\.g)\b",
        r"\b(?:if|unless|whether|until|unlike|almost|nearly|used to|no longer|any ?more|except for|according to)\b",
        r"\bthey say\b|\bminutes? ago\b|\b(?:hero|heroine|villain|protagonist|main character) of\b",
        r"^(?:once upon|in (?:the|an?|my|this|that|his|her|their|our)"
        r" (?:book|dream|example|film|game|joke|movie"
        r"|novel|photo|picture|play|poem|scene|series|show|song|story|video)s?\b)",
        r"\bdo(?:n't| not) (?:know|think|believe|remember|care)\b|\bkind of\b|\bsort of\b|\bcan't wait\b",
    ),
    re.compile(r"\bmay\b|\b(?:I'd|they'd|he'd|she'd|we'd|you'd)\b"),
    _any(
        r"\b(?:said|says|saying|wrote|writes|told|tells|asked|asks|heard|hears|claims?|claimed|thinks|thought"
        r"|believes?"
        r"|believed|jokes?|joked|joking|lied|reads|quoted?|mentioned|suggests|suggested|dreamt|dreamed|pretended)\b"
    ),
    _any(
        r"\b(?:passwords?|passcodes?|passphrases?|pin|api[ -]?keys?|secrets?|tokens?|iban|cvv|ssn|seed phrase"
        r"|(?:passport|card|account|social security) numbers?)\b"
    ),
)
"""Questions, guesses, conditions, what somebody else said, sentences that hang on another, and credentials."""

NEGATED: Final = _any(
    r"\b(?:not|no|never|nobody|none|nothing|neither|nor|without|hardly|barely|cannot|ain't)\b|n't\b"
)
PASSING: Final = _any(
    r"\b(?:today|tonight|tomorrow|yesterday|this time|for a moment|right now|just now|this (?:morning|afternoon"
    r"|evening|week))\b"
)

_LEAD: Final = (
    rf"(?:{OPENERS}(?: {OPENERS}){{0,3}}(?: (?-i:[A-Z])[a-z]+)?[,!:.-]+ +"
    r"|(?:(?:please )?(?:be aware|do not forget|don't forget|keep in mind|note|remember)|for the record|for"
    r" future reference)"
    r"(?: that\b|,|:)+ +"
    r"|(?:and|but|so|also|plus|actually|anyway|again|besides|good news|yes|no|now|fyi|remember|note|well)(?:[,:!]"
    r"| (?!that\b)) *)+"
)
LEAD_IN: Final = re.compile(_LEAD, re.IGNORECASE)

FRONTED: Final = re.compile(
    rf"(?:(?:since|after|as of|starting|in|on|at|by|following|from)\b[^,;]{{1,40}}, +|from (?:(?:next|this) \w+"
    rf"|{DAY}|{MONTH}"
    r"|now|\d{4}|\w+) on,? +|(?:currently|nowadays|these days|lately),? +)",
    re.IGNORECASE,
)
"""A time or a place in front of a statement."""

TRAILING: Final = re.compile(
    r"(?:,? (?:again|already|anyway|as well|at the moment|btw|by the way|currently|for now|honestly|i promise"
    r"|lately|now"
    r"|nowadays|obviously|of course|only|please|recently|still|thanks|thank you|these days|though|too|unfortunately"
    r"|you know(?: that)?|(?:last|next|this) (?:week|month|year|spring|summer|autumn|fall|winter)"
    r"|since [^,;]{1,40}|(?:a|two|three|four|five|\d+) (?:days?|weeks?|months?|years?) ago))+$",
    re.IGNORECASE,
)
"""What a statement may end with and says without."""

_ONE = r"(?:I|I'm|I've|my|we|we're|we've|our|the user|the user's|(?-i:[A-Z])[\w-]+(?:'s)?)"
_VERBS = (
    r"(?:am|are|is|has|have|live|lives|work|works|like|likes|love|loves|hate|hates|enjoy|enjoys|prefer|prefers"
    r"|speak|speaks"
    r"|opens?|closes?|starts?|ends?|costs?|needs?|takes?|runs?|weighs?|uses?|requires?|supports?|expires?|carries"
    r"|plays?"
    r"|call me|always|usually|often|only|never|asked|booked|ordered|went|was|were|carry)"
)
CLAUSES: Final = re.compile(
    rf"(?:,? (?:and|but|so)|[;,]| [-\u2013\u2014]) (?={_ONE} )|,? (?:and|but|so) (?={_VERBS}\b)|[;:] |(?:,| -|"
    rf" \u2013| \u2014)? "
    r"(?=(?:because|since i|although|though|which|who|while|so that|so please|despite|whereas|even though)\b)",
    re.IGNORECASE,
)
"""Where another clause begins: behind a mark or a conjunction, with somebody or with a verb of the same subject."""

SAME_SUBJECT: Final = re.compile(
    r"(?:am|are|is|has|have|live|lives|works|enjoys?|prefers?|speaks?|opens?|closes?|starts?|ends?|costs?|needs?"
    r"|takes?|runs"
    r"|weighs?|uses?|requires?|supports?|expires?) ",
    re.IGNORECASE,
)
"""A verb that goes on about the subject before it, and is no noun."""

DANGLING: Final = _any(
    r"\b(?:it|him|her|them|he|she|they|this|that|these|those|here|there|both|yours?|such|something|someone"
    r"|everything|stuff|thing)\b"
)
"""Words that say nothing without the sentence before."""
