"""The rule-based extractor of the graph: takes what sentences plainly state, word for word.

It is no language model. It knows some forms of English sentences, tasks by `TODO:` or an open box, and events by a date
beside a verb in the past tense; it is silent on all others. The same text always gives the same candidates, in their
order, in time that is in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elf.families.graph.extraction.candidate import Candidate, importance_of
from elf.families.graph.extraction.passages import Sentence, sentences_of
from elf.families.graph.extraction.past import WHEN, happened
from elf.families.graph.extraction.statements import DECISIONS, LABELLED, OTHERS, Rule
from elf.families.graph.model import NODE_TYPES, NodeType
from elf.families.graph.rules.subjects import USER, Key
from elf.providers.local.statements import LEAD_IN, NO_ANTECEDENT, QUESTION, REDACTED, UNSURE

LONGEST_SENTENCE: Final = 480
FEWEST_WORDS: Final = 3
FEWEST_CHARS: Final = 3
LABELLED_CONFIDENCE: Final = 0.95
EVENT_CONFIDENCE: Final = 0.85

_ASKED_AFTER: Final = re.compile(
    r", (?:so |and |but )?(?:can|could|did|do|does|how|is|are|should|was|what|when|where|which|who|why|will|would)\b"
    r"[^.?!]*\?\W*$"
)
"""A question behind a statement: "I prefer print, which edition is the best?"."""

_DATED: Final = re.compile(rf"{WHEN}[,:]? ", re.IGNORECASE)
_IMPERSONAL: Final = re.compile(r"it (?:was|has been) (?:agreed|decided|resolved)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
_SUPPOSED: Final = re.compile(
    r"^(?:assume|imagine|let's say|pretend|suppose)\b|\b(?:ask|asked|asks|wonder|wondered|wonders) (?:if|whether)\b",
    re.IGNORECASE,
)
_POINTS: Final = re.compile(r"\bwith (?:it|that|this|these|those)[.!]?$", re.IGNORECASE)


_KEYED: Final = MappingProxyType(
    {
        type: [rule for rule in (*DECISIONS, *OTHERS) if rule.type == type and rule.key is not None]
        for type in NODE_TYPES
    }
)
"""The rules that make keys, by the type of what they recognise."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """What a rule recognised, and between which places of a sentence."""

    type: NodeType
    start: int
    end: int
    confidence: float
    key: Key | None = None


def extract(text: str) -> Sequence[Candidate]:
    """Return what the sentences of a text state. Takes any text; a long one belongs in a worker thread."""
    found = ((sentence, _stated(sentence)) for sentence in sentences_of(text))
    return [_quoted(text, sentence, statement) for sentence, statement in found if statement is not None]


def key_in(text: str, type: NodeType) -> Key | None:
    """Return the key of the first statement of a type in a text that has one, as `extract` makes it.

    Only sentences that follow one of the few rules which make keys are looked at for what they state.
    """
    rules = _KEYED[type]
    for sentence in sentences_of(text) if rules else ():
        if _first(rules, _without_frame(sentence)[1]) is not None:
            statement = _stated(sentence)
            if statement is not None and statement.type == type and statement.key is not None:
                return statement.key
    return None


def _quoted(text: str, sentence: Sentence, statement: _Statement) -> Candidate:
    start, end = sentence.start + statement.start, sentence.start + statement.end
    quote = text[start:end]
    words = " ".join(quote.split())
    return Candidate(
        type=statement.type,
        text=words if sentence.speaker is None else f"{sentence.speaker}: {words}",
        quote=quote,
        start=start,
        end=end,
        importance=importance_of(statement.type),
        confidence=statement.confidence,
        key=statement.key,
    )


def _stated(sentence: Sentence) -> _Statement | None:
    plain = sentence.plain
    if not FEWEST_CHARS <= len(plain) <= LONGEST_SENTENCE or REDACTED.search(plain):
        return None
    if sentence.is_task:
        return _Statement("Todo", 0, len(plain), LABELLED_CONFIDENCE)
    for type, label in LABELLED:
        labelled = label.match(plain)
        if labelled is not None:
            return _Statement(type, labelled.end(), len(plain), LABELLED_CONFIDENCE)
    return _recognised(sentence)


def _recognised(sentence: Sentence) -> _Statement | None:
    """Return what the first rule says that a sentence follows."""
    start, plain = _without_frame(sentence)
    end = start + len(plain)
    if _means_little(plain):
        return None
    decided = _first(DECISIONS, plain)
    if decided is None and happened(plain):
        return _Statement("Event", start, end, EVENT_CONFIDENCE)
    found = decided or _first(OTHERS, plain)
    if found is None:
        return None
    rule, match = found
    key = None if rule.key is None else rule.key(match, sentence.speaker or USER)
    return _Statement(rule.type, start, end, rule.confidence, key)


def _without_frame(sentence: Sentence) -> tuple[int, str]:
    """Return a sentence without its lead-in and a question behind it, and where that begins."""
    lead_in = LEAD_IN.match(sentence.plain)
    start = 0 if lead_in is None else lead_in.end()
    plain = sentence.plain[start:]
    asked = _ASKED_AFTER.search(plain)
    return start, plain if asked is None else plain[: asked.start()]


def _means_little(plain: str) -> bool:
    """Tell whether a sentence is too short, asks, guesses, or says nothing without its neighbours."""
    if len(_WORD.findall(plain)) < FEWEST_WORDS:
        return True
    if any(guard.search(plain) for guard in (QUESTION, UNSURE, _POINTS, _SUPPOSED)):
        return True
    dated = _DATED.match(plain)
    said = plain if dated is None else plain[dated.end() :]
    return NO_ANTECEDENT.match(said) is not None and _IMPERSONAL.match(said) is None


def _first(rules: Sequence[Rule], plain: str) -> tuple[Rule, re.Match[str]] | None:
    """Return the first rule that a sentence follows outside of quotation marks."""
    for rule in rules:
        match = rule.pattern.search(plain)
        if match is not None and plain.count('"', 0, match.start()) % 2 == 0:
            return rule, match
    return None
