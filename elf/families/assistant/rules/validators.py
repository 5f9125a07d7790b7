"""What the text of a memory has to be like, and what becomes of one that is not.

A text that a model or an extractor wrote is trimmed to whole sentences, or rejected. What somebody adds by hand is
kept, and its faults are warnings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from elf.core.sentences import sentence_ends
from elf.families.assistant.model import MemoryType
from elf.families.assistant.rules.english import is_english
from elf.families.assistant.rules.texts import normalised

MAX_CHARS: Final = 280
MAX_SENTENCES: Final = 2

Fault: TypeAlias = Literal[
    "EMPTY", "TOO_LONG", "TOO_MANY_SENTENCES", "PRONOUN", "TIME_BOUND", "NOT_PAST_TENSE"
]
TRIMMABLE: Final[frozenset[Fault]] = frozenset({"TOO_LONG", "TOO_MANY_SENTENCES"})

_QUOTATION: Final = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")

# In "she/her" pronouns are told, and stand for nobody.
_PRONOUN: Final = re.compile(
    r"(?<!\bphase )(?<!\bpart )(?<!\btype )(?<!\bwar )(?<!\bclass )(?<!\blevel )(?<!\bstage )(?<!\btier )\bi\b(?!\.\w)"
    r"|(?<!/)\b(?:me|my|myself|we|our|ours|ourselves|you|your|yours|yourself|yourselves|he|him|his|himself|she|her|hers"
    r"|herself|they|them|their|theirs|themself|themselves)\b(?!/)"
    r"|(?<!\ba )(?<!\bthe )(?<!\bgold )(?<!\bcoal )\bmine\b"
    r"|\b(?-i:[Uu]s)\b",
    re.IGNORECASE,
)

_UNIT: Final = r"(?:minute|hour|day|week|weekend|fortnight|month|quarter|year)"
_NAMED: Final = (
    rf"(?:{_UNIT}|night|morning|afternoon|evening|spring|summer|fall|autumn|winter|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december)"
)
_COUNT: Final = (
    r"(?:an?|a few|a couple of|several|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d+)"
)
_TIME_BOUND: Final = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|recently|soon|lately|nowadays|right now|just now|at the moment|these days"
    r"|the other day|currently|at present|for the time being"
    rf"|(?:for|over|in|during) the (?:past|last|next|coming) (?:{_COUNT} |few |couple of )?{_UNIT}s?"
    rf"|last {_NAMED}(?! (?:at|as|of|in|with|on) .*\b(?:19|20)\d\d\b)"
    rf"|(?:next|this|past|coming|upcoming|previous) {_NAMED}"
    rf"|{_COUNT} {_UNIT}s? ago|{_COUNT} {_UNIT}s? from now"
    rf"|(?:is|are|be|due|starts?|begins?|ends?|leaves?|moves?|flies) in {_COUNT} {_UNIT}s?"
    rf"|in {_COUNT} {_UNIT}s?'? time)\b",
    re.IGNORECASE,
)
# "In three days" is a time from now, unless it says how long something took, or how often it happens.
_AHEAD: Final = re.compile(
    rf"(?<!once )(?<!twice )(?<!times )\bin (?:(?!an?\b){_COUNT} (?:days|weeks|months|years)"
    r"|(?:an?|one) (?:day|week|fortnight|month|year))\b",
    re.IGNORECASE,
)
_TOOK: Final = re.compile(
    r"\b(?:built|climb|complet|cycl|deliver|drove|finish|gain|hik|knit|learn|lost|made|paint|produc|ran|read|run|saved|ships|solv"
    r"|visit|walk|went|won|wrote|earn|paid)\w*\b",
    re.IGNORECASE,
)

_PAST: Final = re.compile(
    r"\b(?:\w{2,}ed|was|were|had|did|went|said|told|chose|made|took|found|met|wrote|bought|began|came|gave|got|held|kept"
    r"|knew|left|lost|paid|ran|saw|sent|spoke|spent|thought|won|built|brought|felt|heard|led|put|set|sold|taught|drew"
    r"|drove|ate|fell|flew|forgot|grew|read|rose|sang|slept|stood|understood|woke|wore|broke|caught|cut|dealt|fought"
    r"|hit|laid|lent|let|meant|rebuilt|rewrote|shut|split|threw)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A text as it may be kept; `trimmed` when sentences of it were left out."""

    text: str
    trimmed: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """A text that is not kept, and why: the first of its faults."""

    reason: Fault


def faults_of(text: str, type: MemoryType) -> list[Fault]:
    """Return what a text in its normal form lacks of one of this type; empty for a good one."""
    if not text:
        return ["EMPTY"]
    faults: list[Fault] = []
    if len(text) > MAX_CHARS:
        faults.append("TOO_LONG")
    if len(_sentences(text)) > MAX_SENTENCES:
        faults.append("TOO_MANY_SENTENCES")
    return [*faults, *_faults_of_words(text, type)]


def accepted(text: str, type: MemoryType) -> Accepted | Rejected:
    """Return a text that a model or an extractor wrote as it may be kept, or why it is not."""
    whole = normalised(text)
    kept = whole
    faults = faults_of(kept, type)
    if TRIMMABLE.intersection(faults):
        kept = _whole_sentences(whole)
        faults = ["TOO_LONG"] if not kept else _faults_of_words(kept, type)
    return Rejected(faults[0]) if faults else Accepted(kept, kept != whole)


def has_pronoun(text: str) -> bool:
    """Tell whether an English text has a pronoun that stands for somebody; what is quoted is somebody else's."""
    return _PRONOUN.search(_QUOTATION.sub('""', text)) is not None


def _whole_sentences(text: str) -> str:
    """Return the first sentences that fit, at most two; nothing where the first one does not."""
    kept = ""
    for sentence in _sentences(text)[:MAX_SENTENCES]:
        longer = f"{kept} {sentence}".strip()
        if len(longer) > MAX_CHARS:
            break
        kept = longer
    return kept


def _sentences(text: str) -> Sequence[str]:
    sentences, start = [], 0
    for end in sentence_ends(text):
        sentences.append(text[start:end].strip())
        start = end
    return sentences


def _faults_of_words(text: str, type: MemoryType) -> list[Fault]:
    """Return the faults that only English words tell; what is quoted is somebody else's."""
    if type == "procedural" or not is_english(text):
        return []
    said = _QUOTATION.sub('""', text)
    if type == "episodic":
        return [] if _PAST.search(said) else ["NOT_PAST_TENSE"]
    faults: list[Fault] = []
    if has_pronoun(text):
        faults.append("PRONOUN")
    if _TIME_BOUND.search(said) or (_AHEAD.search(said) and not _TOOK.search(said)):
        faults.append("TIME_BOUND")
    return faults
