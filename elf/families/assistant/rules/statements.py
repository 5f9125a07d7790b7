"""Plain statements of users about themselves: clauses that give a known attribute a value, or tell a habit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from elf.families.assistant.rules.attributes import valued
from elf.families.assistant.rules.third_person import third_person
from elf.families.assistant.rules.tone import asked_tone, tone_of
from elf.families.assistant.rules.values import capitalized
from elf.providers.local.extractor import own_sentences
from elf.providers.local.statements import REDACTED


class Statement(NamedTuple):
    """A statement said of the user, its category, and the words that prove it, which begin at `start`."""

    text: str
    category: str
    quote: str
    start: int


_LEAD_IN: Final = re.compile(
    r"(?:(?:(?:hi|hello|hey)(?: there)?|ok|okay|so|well|oh|yes|yeah|yep|sure|no|also|and|but|plus|actually"
    r"|by the way|btw|fyi|ps|p\.s\.|just so you know|in case you(?: ar|')e wondering|in case it helps"
    r"|for (?:the record|context|reference|your information|what it's worth)"
    r"|(?:(?:can|could|would|will) you )?(?:please )?(?:remember|note|keep in mind|know|memorize|save|don't forget)"
    r"(?: for (?:later|next time|the future))?(?: this)?(?: that)?"
    r"|i (?:should|want to|wanted to|just want to|just wanted to|would like to|have to|must|forgot to) (?:mention"
    r"|say|add"
    r"|tell you|let you know|point out)(?: that)?|i'd like (?:to (?:mention|say|add|tell you)|you to (?:know|remember))"
    r"(?: that)?|i want you to (?:know|remember)(?: that)?|you should (?:know|remember)(?: that)?|let me (?:add|say"
    r"|introduce myself|tell you)(?: that)?|thanks|thank you|nice to meet you|pleased to meet you|good (?:morning"
    r"|evening"
    r"|afternoon)|as you (?:may )?know|to be clear|one more thing|quick note|first of all|about me|as for me|personally"
    r"|honestly|frankly|these days|in general|generally|usually|at the moment|right now|currently|for now)"
    r"(?:[,:;!.-]+ *| +))+",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(
    r",? (?:and|but|so|though|although|because) (?=(?:i|i'm|i've|i'd|my|please|call|you can|just|keep|use)\b)"
    r"|[,;:] (?=(?:i|i'm|i've|i'd|my|please|call me|you can|just call|but my|and my)\b)| [-\u2013\u2014] ",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"(?:,? (?:by the way|btw|these days|nowadays|nice to meet you|for now|fyi|please|thanks|thank you|you know"
    r"|if you don't mind|if possible|actually|though"
    r"|in case"
    r" you(?: are|'re) wondering|just so you know|for the record|:\)))+$",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(r"^(?:please |hey,? )*(?:can|could|would|will) (?:you|we)\b", re.IGNORECASE)
_NOT_SO: Final = re.compile(
    r"^(?:if|when|imagine|suppose|pretend|assume|say|let's say|maybe|perhaps|unless|wish|what|who|where|how|why|do"
    r"|does|did"
    r"|is|are|am|was|were|should|shall|might|may)\b",
    re.IGNORECASE,
)
# What somebody does in general; what only holds for a moment, or leads nowhere without its neighbors, is left.
_HABIT: Final = re.compile(
    r"^User (?:(?:always|generally|mainly|mostly|never|normally|often|only|rarely|still|typically|usually) )?"
    r"(?:works (?:from|remotely|nights|night shifts|part[- ]time|full[- ]time|freelance|in|with|on weekends)"
    r"|commutes|volunteers (?:at|for|in)|wakes up|sleeps|smokes|rents|owns|drives|rides|bikes|plays|speaks|teaches"
    r"|studies"
    r"|coaches|practi[cs]es|collects|codes in|programs in|travels|cooks|fasts|sings|paints|dances|swims"
    r"|walks to)\b.*\w",
    re.IGNORECASE,
)
_IS: Final = re.compile(
    r"^User is (?:(?:also|still|really|usually|generally) )?(?:(?:an?) (?!bit|little|lot|few|fan\b|big\b|huge\b"
    r"|moment|while"
    r"|step|minute|mess|loss|able)[\w-]+(?: [\w-]+){0,3}|left-handed|right-handed|colou?r ?blind|lactose intolerant"
    r"|gluten[- ]free|retired|self-employed|unemployed|married|single|divorced|dyslexic|deaf|blind|ambidextrous"
    r"|bilingual"
    r"|pregnant)$",
    re.IGNORECASE,
)
_MOMENTARY: Final = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|right now|this \w+|it|that|here|there|again)$", re.IGNORECASE
)


def statements(content: str) -> Iterator[Statement]:
    """Yield the statements of a message of a user's, in its order."""
    end = 0
    for sentence in own_sentences(content):
        offset = content.index(sentence, end)
        end = offset + len(sentence)
        is_question = sentence.rstrip(" \"')").endswith("?")
        for first, clause in _clauses(sentence):
            if is_question and not _ASKED.match(clause):
                continue
            if (found := _stated(clause)) is not None:
                yield Statement(*found, clause, offset + first)


def category_of(text: str) -> str | None:
    """Return the category of what a text in the third person says of the user; None where it gives nothing a value."""
    known = valued(text)
    if known is not None and known.attribute.subject == "user":
        return "profile"
    return "preferences" if tone_of(text.rstrip(".! ")) is not None else None


def _clauses(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield the clauses of a sentence that may stand alone, and where each begins."""
    plain = sentence.replace("\u2019", "'")
    start = 0
    for end, following in [
        *((m.start(), m.end()) for m in _CLAUSE_END.finditer(plain)),
        (len(plain), len(plain)),
    ]:
        clause = plain[start:end]
        lead = len(clause) - len(clause.lstrip())
        if (said := _LEAD_IN.match(clause, lead)) is not None and said.end() < len(clause):
            lead = said.end()
        kept = clause[lead:].rstrip(' .!?;,"')
        if (tail := _TAIL.search(kept)) is not None and tail.start() > 0:
            kept = kept[: tail.start()]
        if kept:
            yield start + lead, sentence[start + lead : start + lead + len(kept)]
        start = following


def _stated(clause: str) -> tuple[str, str] | None:
    """Return what a clause says of the user, and its category; None where it says nothing that is known to last."""
    if (_NOT_SO.match(clause) and asked_tone(clause) is None) or REDACTED.search(clause):
        return None
    said = third_person(clause)
    if said is None or not said.startswith("User"):
        return None
    text = said if valued(said) is not None else _written_large(said, clause)
    category = category_of(text)
    if category is not None:
        return text, category
    plain = text.rstrip(".")
    if (_HABIT.match(plain) or _IS.match(plain)) and not _MOMENTARY.search(plain):
        return text, "profile"
    return None


def _written_large(text: str, clause: str) -> str:
    """Return a text with the name at its end in capitals, where the clause has none and it states a value then."""
    if clause != clause.lower():
        return text
    words = text.rstrip(".").split(" ")
    for count in (1, 2, 3):
        name = capitalized(" ".join(words[-count:]))
        if name is None:
            return text
        changed = f"{' '.join([*words[:-count], name])}."
        known = valued(changed)
        if (
            known is not None
            and known.type in ("name", "place")
            and known.value == name
            and not known.is_implied
        ):
            return changed
    return text
