"""Asking the extractor for notes: the prompts of section 18, word for word, and how its answer is read.

The answer as a whole must be an object with a list of notes, or it is asked for again. Each note is then read by
itself: one that breaks the schema is one rejected result, and says nothing about the others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from elf.api.bodies import Identifier
from elf.config.model import NOTE_TYPES
from elf.core.cjk import contains_nul
from elf.families.notes.api.fields import TtlDays, UnitInterval
from elf.families.notes.writing.write_rules import Rejection
from elf.providers.port import Chat, JsonAnswer, Prompt

DEEPEST_ANSWER = 32
MOST_DROPPED = 64
"""So many notes beyond the maximum are told of, at most."""

SYSTEM_PROMPT = """\
You are a memory extraction engine for an agent memory system.
Output must be valid JSON only and must match the provided schema exactly.
Extract at most MAX_NOTES high-signal, cross-session reusable memory notes from the given messages.
Each note must be one English sentence and must not contain any CJK characters.
Preserve numbers, dates, percentages, currency amounts, tickers, URLs, and code snippets exactly.
Never store secrets or PII: API keys, tokens, private keys, seed phrases, passwords, bank IDs, personal addresses.
For every note, provide 1 to 2 evidence quotes copied verbatim from the input messages and include the message_index.
If you cannot provide verbatim evidence, omit the note.
If content is ephemeral or not useful long-term, return an empty notes array."""

USER_PROMPT = """\
Return JSON matching this exact schema:
<SCHEMA_JSON>
Constraints:
- MAX_NOTES = <MAX_NOTES>
- MAX_NOTE_CHARS = <MAX_NOTE_CHARS>
Here are the messages as JSON:
<MESSAGES_JSON>"""

MESSAGES_BEGIN = "Here are the messages as JSON:"
CONTEXT_RULE = (
    '- Messages with "context": true only help to understand the others: extract and cite nothing from them.'
)

SCHEMA_SHOWN = """\
{
  "notes": [
    {
      "type": "preference|constraint|decision|profile|fact|plan",
      "key": "string|null",
      "text": "English-only sentence <= MAX_NOTE_CHARS",
      "importance": 0.0,
      "confidence": 0.0,
      "ttl_days": number|null,
      "scope_suggestion": "<SCOPES>|null",
      "evidence": [
        { "message_index": number, "quote": "string" }
      ],
      "reason": "string"
    }
  ]
}"""


def _none_in_words(value: object) -> object:
    # The schema as shown has "string|null" in quotes, so models write "null" as well as null.
    return None if isinstance(value, str) and value.strip().lower() in ("", "null", "none") else value


_NoneInWords = BeforeValidator(_none_in_words)


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


class CandidateQuote(_Lenient):
    """Words that the extractor cites."""

    message_index: Annotated[int, Field(strict=False, ge=-(2**31), lt=2**31)]
    quote: str


class Candidate(_Lenient):
    """A note as the extractor proposes it.

    A missing text, type or evidence is left to the rules that every note must pass: they name what is missing.
    """

    type: str = ""
    key: Annotated[Identifier | None, _NoneInWords] = None
    text: str = ""
    importance: UnitInterval
    confidence: UnitInterval
    ttl_days: Annotated[TtlDays | None, _NoneInWords] = None
    scope_suggestion: Annotated[str | None, _NoneInWords] = None
    evidence: list[CandidateQuote] = Field(default_factory=list)
    reason: str = ""


def read_candidate(raw: object) -> Candidate | Rejection:
    """Read one note of the extractor's answer; the rejection names the fields at fault and repeats no value."""
    try:
        candidate = Candidate.model_validate(raw)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        named = sorted({".".join(map(str, fault["loc"])) or "the note" for fault in faults})
        return _malformed(f"the extractor's note breaks the schema at {', '.join(named)}")
    if any(contains_nul(text) for text in (candidate.text, candidate.key or "", candidate.reason)):
        return _malformed("the extractor's note holds a NUL character")
    return candidate


def _malformed(reason: str) -> Rejection:
    return Rejection("REJECT_MALFORMED", reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """What the extractor is told: how many notes, how long, and which scopes it may suggest."""

    max_notes: int
    max_note_chars: int
    scopes: Sequence[str]


class Extracted(NamedTuple):
    """The notes that an extractor proposes, as they came, and those that it proposes beyond the maximum."""

    notes: Sequence[Any]
    dropped: Sequence[Any]


class NoteExtractor:
    """Asks a chat provider for the notes worth keeping of some messages."""

    def __init__(self, chat: Chat, limits: ExtractionLimits) -> None:
        self._chat = chat
        self._limits = limits
        self._answer = JsonAnswer("memory_notes", notes_schema(limits.scopes), _read_notes)

    async def extract(
        self, messages: Sequence[dict[str, Any]], context: Sequence[dict[str, Any]] = ()
    ) -> Extracted:
        """Return what is proposed of messages; `context` is what was said before, of which nothing is.

        Raises ProviderUnavailable when the extractor does not answer or never answers with the JSON asked for.
        """
        notes = await self._chat.ask(extraction_prompt(messages, self._limits, context), self._answer)
        most = self._limits.max_notes
        return Extracted(notes[:most], notes[most : most + MOST_DROPPED])


def extraction_prompt(
    messages: Sequence[dict[str, Any]], limits: ExtractionLimits, context: Sequence[dict[str, Any]] = ()
) -> Prompt:
    """Return the prompts of section 18. The messages go last, so that nothing in them is mistaken for a slot."""
    messages = [*({**one, "context": True} for one in context), *messages]
    slots = {
        "<SCHEMA_JSON>": SCHEMA_SHOWN.replace("<SCOPES>", "|".join(limits.scopes)),
        "<MAX_NOTES>": str(limits.max_notes),
        "<MAX_NOTE_CHARS>": str(limits.max_note_chars),
        "<MESSAGES_JSON>": json.dumps(messages, ensure_ascii=False),
    }
    user = (
        USER_PROMPT.replace(MESSAGES_BEGIN, f"{CONTEXT_RULE}\n{MESSAGES_BEGIN}") if context else USER_PROMPT
    )
    for slot, value in slots.items():
        user = user.replace(slot, value)
    return Prompt(SYSTEM_PROMPT, user)


def notes_schema(scopes: Sequence[str]) -> dict[str, Any]:
    """Return the schema of section 18 as JSON Schema, with only what strict modes take: no lengths, no ranges."""
    quote = _object(message_index={"type": "integer"}, quote={"type": "string"})
    note = _object(
        type={"type": "string", "enum": list(NOTE_TYPES)},
        key={"type": ["string", "null"]},
        text={"type": "string"},
        importance={"type": "number"},
        confidence={"type": "number"},
        ttl_days={"type": ["number", "null"]},
        scope_suggestion={"type": ["string", "null"], "enum": [*scopes, None]},
        evidence={"type": "array", "items": quote},
        reason={"type": "string"},
    )
    return _object(notes={"type": "array", "items": note})


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read_notes(value: Any) -> list[Any]:
    if not isinstance(value, dict) or not isinstance(value.get("notes"), list):
        raise ValueError("the content is no object with a list of notes")
    if _is_deeper_than(DEEPEST_ANSWER, value):
        raise ValueError(f"the content is nested deeper than {DEEPEST_ANSWER}")
    return list(value["notes"])


def _is_deeper_than(limit: int, value: Any) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
