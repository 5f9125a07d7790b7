"""The rule-based extractor: picks the sentences of a conversation that state something, and cites them.

It is no language model. It rewrites nothing: a note is a sentence of a message behind the name of its kind, such as
"Preference: I prefer tea.", so its evidence stands word for word in the message. The same messages always give the
same notes. It misses whatever its rules do not name, and is silent on small talk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from elf.core.sentences import sentence_ends
from elf.core.text_labels import is_label
from elf.providers.local.statements import (
    ASKED_TO_REMEMBER,
    GUARDS,
    LABELLED,
    LEAD_IN,
    REDACTED,
    RULES,
    Kind,
    Rule,
    UnkeptReason,
)

FEWEST_WORDS: Final = 3
LONGEST_SENTENCE: Final = 4  # times the longest note; what is longer is no sentence
SECRET: Final = "REJECT_SECRET"
TOO_LONG: Final = "REJECT_TOO_LONG"
_REMEMBERED: Final = 0.2  # added to the importance of what the speaker asks to remember

_SPEAKER = re.compile(r"(?P<name>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,2}): +(?=\S)")
_NO_SPEAKERS = frozenset(
    {"preference", "constraint", "decision", "profile", "fact", "plan", "note", "remember", "fyi"}
)
_BULLET = re.compile(r"(?:[-*\u2022]|\d{1,2}[.)]) +")
_CODE_OR_QUOTATION = re.compile(r"[>|#]|```")
_CLAUSE_END = re.compile(r",? (?:and|but|so|because|since|which|although)\b|[;,] | [-\u2013\u2014] ")
_SHARED = re.compile(r"\b(?:we|our|us|the team)\b", re.IGNORECASE)
_PERSONAL = re.compile(r"\b(?:I|my|me)\b")
_FAR = (
    (re.compile(r"\b(?:years?|20\d\d)\b", re.IGNORECASE), 400),
    (re.compile(r"\b(?:months?|quarters?|q[1-4]|spring|summer|fall|autumn|winter)\b", re.IGNORECASE), 100),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the extractor is asked for: how many notes, how long, and the scopes it may suggest."""

    max_notes: int
    max_note_chars: int
    scopes: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a message, and who says it where the message tells."""

    message_index: int
    role: str
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence that a rule recognised; `quote` is the part of it that is kept."""

    sentence: _Sentence
    kind: Kind
    quote: str
    key: str | None
    importance: float
    confidence: float
    states: str


def extract_notes(messages: Sequence[Mapping[str, Any]], asked: Asked) -> list[dict[str, Any]]:
    """Return the notes of section 18 that the messages hold, at most `asked.max_notes`, in the order they were said.

    Each message has a role, a content, and maybe its message_index, as in the extraction prompt. When there are more
    notes, those that matter most are kept.
    """
    return ranked_notes(messages, asked)[0]


def ranked_notes(
    messages: Sequence[Mapping[str, Any]], asked: Asked
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the same notes, and those that are beyond the maximum."""
    found: dict[str, _Statement] = {}
    for sentence in _sentences(messages):
        statement = _recognised(sentence, asked.max_note_chars)
        if statement is not None:
            found.setdefault(_note_text(statement), statement)
    ranked = sorted(found, key=lambda text: -found[text].importance * found[text].confidence)
    kept = {*ranked[: asked.max_notes]}
    notes = {text: _wire(statement, text, asked) for text, statement in found.items()}
    return [notes[text] for text in notes if text in kept], [
        notes[text] for text in notes if text not in kept
    ]


class Unkept(NamedTuple):
    """A sentence of a user's that is not kept: in which message, why, and whether the user asked to remember it."""

    message_index: int
    reason: UnkeptReason
    is_asked: bool


def unkept(messages: Sequence[Mapping[str, Any]], *, max_note_chars: int) -> list[Unkept]:
    """Return what users ask to remember and guards keep out, and what they say that has secrets in it."""
    found = []
    for sentence in _sentences(messages):
        if sentence.role != "user" and sentence.speaker is None:
            continue
        text = sentence.text[_lead_in(sentence.text) :].replace("\u2019", "'")
        asked = ASKED_TO_REMEMBER.match(text)
        guard = _guard(text if asked is None else text[asked.end() :])
        if guard == SECRET or (asked is not None and guard is not None):
            found.append(Unkept(sentence.message_index, guard, asked is not None))
        elif asked is not None and _recognised(sentence, max_note_chars) is None:
            found.append(Unkept(sentence.message_index, TOO_LONG, is_asked=True))
    return found


def own_sentences(content: str) -> Iterator[str]:
    """Yield the sentences of prose in a user's message, as they stand in it: none where somebody else speaks."""
    for sentence in _sentences([{"role": "user", "content": content}]):
        if sentence.speaker is None:
            yield sentence.text


def _guard(plain: str) -> UnkeptReason | None:
    """Return why a sentence is not kept, whatever it says."""
    if REDACTED.search(plain):
        return SECRET
    if len(plain.split()) < FEWEST_WORDS:
        return "REJECT_TOO_SHORT"
    return next((reason for reason, guard in GUARDS.items() if guard.search(plain)), None)


def _sentences(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Sentence]:
    for place, message in enumerate(messages):
        index = message.get("message_index", place)
        if message["role"] == "tool":
            continue  # what programs print states nothing
        content = message["content"]
        named = _SPEAKER.match(content)
        if named is not None and named["name"].lower() in _NO_SPEAKERS:
            named = None
        start = 0 if named is None else named.end()
        speaker = None if named is None or is_label(named["name"]) else named["name"]
        for text in _cut(content[start:]):
            yield _Sentence(index, message["role"], speaker, text)


def _cut(content: str) -> Iterator[str]:
    """Yield the sentences of prose: code, quotations, headings and tables are left out, marks of lists cut off."""
    in_code = False
    start = 0
    for end in sentence_ends(content):
        text = content[start:end].strip()
        start = end
        if "```" in text:
            in_code ^= text.count("```") % 2 == 1
            continue
        if in_code or _CODE_OR_QUOTATION.match(text):
            continue
        bullet = _BULLET.match(text)
        yield text if bullet is None else text[bullet.end() :]


def _recognised(sentence: _Sentence, max_note_chars: int) -> _Statement | None:
    if len(sentence.text) > LONGEST_SENTENCE * max_note_chars:
        return None
    text = sentence.text[_lead_in(sentence.text) :]
    plain = text.replace("\u2019", "'")  # of the same length, so that places agree
    asked = ASKED_TO_REMEMBER.match(plain)
    labelled = LABELLED.match(plain)
    start = (asked or labelled).end() if asked or labelled else 0  # type: ignore[union-attr]
    text, plain = text[start:], plain[start:]
    if _guard(plain) is not None:
        return None
    found = _first_rule(plain, sentence, told=asked is not None or labelled is not None)
    if found is None:
        return None
    rule, match = found
    kind: Kind = labelled["kind"].lower() if labelled is not None else rule.kind  # type: ignore[assignment]
    quote = _fitted(text, match.end(), max_note_chars - len(_head(kind, sentence.speaker)))
    if quote is None:
        return None
    return _Statement(
        sentence=sentence,
        kind=kind,
        quote=quote,
        key=None if rule.key is None else _owned(rule.key(match), sentence.speaker),
        importance=min(1.0, rule.importance + (_REMEMBERED if asked is not None else 0.0)),
        confidence=rule.confidence,
        states=rule.states,
    )


_TOLD = Rule("fact", "what it was told to keep", re.compile(""), 0.6, 0.9)


def _first_rule(text: str, sentence: _Sentence, *, told: bool) -> tuple[Rule, re.Match[str]] | None:
    """Return the first rule that the sentence follows; what the speaker asks to keep follows one in any case."""
    assistant = sentence.role == "assistant" and sentence.speaker is None
    for rule in RULES:
        match = None if assistant and not rule.anyone else rule.pattern.search(text)
        if match is not None:
            return rule, match
    match = _TOLD.pattern.match(text) if told and not assistant else None
    return None if match is None else (_TOLD, match)


def _lead_in(text: str) -> int:
    """Return where a sentence begins to say something, behind words such as "Oh yeah, "."""
    match = LEAD_IN.match(text)
    return 0 if match is None else match.end()


def _fitted(text: str, needed: int, room: int) -> str | None:
    """Return the text when it fits, else as many of its clauses as do; None when what the rule needs does not."""
    if len(text) < room:
        return text
    ends = [mark.start() for mark in _CLAUSE_END.finditer(text) if needed <= mark.start() < room]
    return text[: ends[-1]].rstrip() if ends else None


def _head(kind: Kind, speaker: str | None) -> str:
    return f"{kind.capitalize()}: " if speaker is None else f"{kind.capitalize()}: {speaker}: "


def _note_text(statement: _Statement) -> str:
    quote = statement.quote
    end = "" if quote[-1] in ".!?\"')" else "."
    return f"{_head(statement.kind, statement.sentence.speaker)}{quote[0].upper()}{quote[1:]}{end}"


def _owned(key: str | None, speaker: str | None) -> str | None:
    """Name the owner in a key where several people speak."""
    if key is None or speaker is None:
        return key
    return re.sub(r"[^a-z0-9]+", "_", f"{speaker} {key}".lower()).strip("_")


def _wire(statement: _Statement, text: str, asked: Asked) -> dict[str, Any]:
    return {
        "type": statement.kind,
        "key": statement.key,
        "text": text,
        "importance": round(statement.importance, 2),
        "confidence": statement.confidence,
        "ttl_days": _ttl_days(statement),
        "scope_suggestion": _scope(statement, asked.scopes),
        "evidence": [{"message_index": statement.sentence.message_index, "quote": statement.quote}],
        "reason": f"A rule recognised {statement.states}.",
    }


def _ttl_days(statement: _Statement) -> int | None:
    """Return how long a plan for later than the usual two weeks is kept; None leaves it to the service."""
    if statement.kind != "plan":
        return None
    return next((days for pattern, days in _FAR if pattern.search(statement.quote)), None)


def _scope(statement: _Statement, scopes: Sequence[str]) -> str | None:
    """Suggest to share what is said of a group or of a thing, and to keep private what is said of a person."""
    personal = statement.kind in ("preference", "profile") or (
        _PERSONAL.search(statement.quote) is not None and _SHARED.search(statement.quote) is None
    )
    wanted = "agent_private" if personal else "project_shared"
    return wanted if wanted in scopes else None
