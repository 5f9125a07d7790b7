"""The prompts of section 18, the schema that goes with them, and how the extractor's answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elf.families.notes.writing.extraction import (
    Candidate,
    ExtractionLimits,
    NoteExtractor,
    extraction_prompt,
    notes_schema,
    read_candidate,
)
from elf.families.notes.writing.write_rules import Rejection
from elf.providers.port import JsonAnswer, Prompt, T

SCOPES = ["agent_private", "project_shared", "org_shared"]
LIMITS = ExtractionLimits(max_notes=3, max_note_chars=240, scopes=SCOPES)

# Both prompts and the schema as section 18 of the specification prints them.
SPEC_SYSTEM_PROMPT = """\
You are a memory extraction engine for an agent memory system.
Output must be valid JSON only and must match the provided schema exactly.
Extract at most MAX_NOTES high-signal, cross-session reusable memory notes from the given messages.
Each note must be one English sentence and must not contain any CJK characters.
Preserve numbers, dates, percentages, currency amounts, tickers, URLs, and code snippets exactly.
Never store secrets or PII: API keys, tokens, private keys, seed phrases, passwords, bank IDs, personal addresses.
For every note, provide 1 to 2 evidence quotes copied verbatim from the input messages and include the message_index.
If you cannot provide verbatim evidence, omit the note.
If content is ephemeral or not useful long-term, return an empty notes array."""

SPEC_USER_PROMPT = """\
Return JSON matching this exact schema:
<SCHEMA_JSON>
Constraints:
- MAX_NOTES = <MAX_NOTES>
- MAX_NOTE_CHARS = <MAX_NOTE_CHARS>
Here are the messages as JSON:
<MESSAGES_JSON>"""

SPEC_SCHEMA = """\
{
  "notes": [
    {
      "type": "preference|constraint|decision|profile|fact|plan",
      "key": "string|null",
      "text": "English-only sentence <= MAX_NOTE_CHARS",
      "importance": 0.0,
      "confidence": 0.0,
      "ttl_days": number|null,
      "scope_suggestion": "agent_private|project_shared|org_shared|null",
      "evidence": [
        { "message_index": number, "quote": "string" }
      ],
      "reason": "string"
    }
  ]
}"""

NOTE: dict[str, Any] = {
    "type": "preference",
    "key": "drink",
    "text": "The user prefers tea.",
    "importance": 0.5,
    "confidence": 0.9,
    "ttl_days": None,
    "scope_suggestion": "agent_private",
    "evidence": [{"message_index": 0, "quote": "I prefer tea"}],
    "reason": "stated",
}


class RepeatingChat:
    """Answers every question with the same value."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.prompts: list[Prompt] = []

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        self.prompts.append(prompt)
        return answer.read(self.value)


def test_the_prompts_are_those_of_the_specification_word_for_word() -> None:
    messages = [{"role": "user", "content": 'I prefer "caf\xe9" <MAX_NOTES>\nand tea'}]
    prompt = extraction_prompt(messages, LIMITS)
    assert prompt.system == SPEC_SYSTEM_PROMPT
    expected = SPEC_USER_PROMPT.replace("<SCHEMA_JSON>", SPEC_SCHEMA).replace("<MAX_NOTES>", "3")
    head, _, tail = expected.replace("<MAX_NOTE_CHARS>", "240").partition("<MESSAGES_JSON>")
    assert tail == ""
    assert prompt.user.startswith(head)
    assert json.loads(prompt.user.removeprefix(head)) == messages


def test_the_prompt_names_the_scopes_there_are() -> None:
    user = extraction_prompt(
        [], ExtractionLimits(max_notes=7, max_note_chars=90, scopes=["mine", "ours"])
    ).user
    assert '"scope_suggestion": "mine|ours|null"' in user
    assert "- MAX_NOTES = 7\n- MAX_NOTE_CHARS = 90\n" in user


def test_every_object_of_the_schema_is_strict() -> None:
    schema = notes_schema(SCOPES)
    note = schema["properties"]["notes"]["items"]
    quote = note["properties"]["evidence"]["items"]
    for one in (schema, note, quote):
        assert one["type"] == "object"
        assert one["additionalProperties"] is False
        assert one["required"] == list(one["properties"])
    assert list(note["properties"]) == list(NOTE)
    assert note["properties"]["scope_suggestion"]["enum"] == [*SCOPES, None]
    assert note["properties"]["type"]["enum"] == [
        "preference",
        "constraint",
        "decision",
        "profile",
        "fact",
        "plan",
    ]


@pytest.mark.anyio
async def test_notes_beyond_the_maximum_are_cut_off() -> None:
    chat = RepeatingChat({"notes": [{**NOTE, "text": f"{number}"} for number in range(5)]})
    found = await NoteExtractor(chat, LIMITS).extract([])
    assert [note["text"] for note in found.notes] == ["0", "1", "2"]
    assert [note["text"] for note in found.dropped] == ["3", "4"]
    assert len(chat.prompts) == 1


@pytest.mark.parametrize(
    "value", [None, [], "notes", {"note": []}, {"notes": None}, {"notes": {}}, {"notes": "[]"}]
)
@pytest.mark.anyio
async def test_an_answer_without_a_list_of_notes_is_not_the_json_asked_for(value: object) -> None:
    with pytest.raises(ValueError, match="list of notes"):
        await NoteExtractor(RepeatingChat(value), LIMITS).extract([])


@pytest.mark.anyio
async def test_an_answer_nested_beyond_reason_is_not_the_json_asked_for() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper"):
        await NoteExtractor(RepeatingChat({"notes": [deep]}), LIMITS).extract([])


def test_a_whole_note_is_read_as_it_is() -> None:
    candidate = read_candidate(NOTE)
    assert isinstance(candidate, Candidate)
    assert candidate.model_dump() == NOTE


def test_unknown_fields_are_passed_over() -> None:
    quote = {"message_index": 0, "quote": "q", "speaker": "Ann"}
    candidate = read_candidate({**NOTE, "mood": "calm", "evidence": [quote]})
    assert isinstance(candidate, Candidate)
    assert candidate.model_dump()["evidence"] == [{"message_index": 0, "quote": "q"}]


@pytest.mark.parametrize("word", [None, "null", "NULL", "none", "", "  "])
def test_null_in_words_is_null(word: str | None) -> None:
    candidate = read_candidate({**NOTE, "key": word, "scope_suggestion": word, "ttl_days": word})
    assert isinstance(candidate, Candidate)
    assert (candidate.key, candidate.scope_suggestion, candidate.ttl_days) == (None, None, None)


@pytest.mark.parametrize(
    "field", ["type", "key", "text", "ttl_days", "scope_suggestion", "evidence", "reason"]
)
def test_a_missing_field_is_left_to_the_rules_that_name_it(field: str) -> None:
    assert isinstance(
        read_candidate({name: value for name, value in NOTE.items() if name != field}), Candidate
    )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"importance": 1.5}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"importance": True}, "importance"),
        ({"confidence": None}, "confidence"),
        ({"confidence": -0.1}, "confidence"),
        ({"ttl_days": 10**9}, "ttl_days"),
        ({"ttl_days": "soon"}, "ttl_days"),
        ({"key": "k" * 129}, "key"),
        ({"key": ["k"]}, "key"),
        ({"text": None}, "text"),
        ({"text": 7}, "text"),
        ({"type": ["fact"]}, "type"),
        ({"evidence": "I prefer tea"}, "evidence"),
        ({"evidence": [{"quote": "tea"}]}, "evidence.0.message_index"),
        ({"evidence": [{"message_index": 10**12, "quote": "tea"}]}, "evidence.0.message_index"),
        ({"evidence": [{"message_index": 0, "quote": None}]}, "evidence.0.quote"),
        ({"reason": {}}, "reason"),
        ({"text": "nul\x00"}, "NUL"),
        ({"key": "nul\x00"}, "NUL"),
        ({"reason": "nul\x00"}, "NUL"),
    ],
)
def test_a_note_that_breaks_the_schema_is_rejected_by_name_of_the_field(
    changes: dict[str, Any], named: str
) -> None:
    rejection = read_candidate({**NOTE, **changes})
    assert isinstance(rejection, Rejection)
    assert rejection.code == "REJECT_MALFORMED"
    assert named in rejection.reason
    assert "tea" not in rejection.reason


@pytest.mark.parametrize("raw", [None, 3, "a note", ["a note"], [NOTE]])
def test_what_is_no_note_at_all_is_rejected(raw: object) -> None:
    rejection = read_candidate(raw)
    assert isinstance(rejection, Rejection)
    assert rejection == Rejection("REJECT_MALFORMED", "the extractor's note breaks the schema at the note")
