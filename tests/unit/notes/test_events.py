"""What add_event lets through: evidence first, then the gate, then the scope, and never a secret."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from elf.core.blank_text import is_blank
from elf.core.errors import ProviderUnavailable
from elf.core.evidence import EvidenceBounds
from elf.core.ids import NoteId, new_note_id
from elf.core.secrets import find_secret
from elf.families.notes.api.requests import AddEventRequest, AddEventResponse
from elf.families.notes.model import Context
from elf.families.notes.writing.decisions import Attempt, Refused
from elf.families.notes.writing.events import MAX_REASON_CHARS, NO_REASON, EventService
from elf.families.notes.writing.extraction import ExtractionLimits, NoteExtractor
from elf.families.notes.writing.resolver import Incoming, Outcome
from elf.families.notes.writing.service import NotePolicy
from elf.families.notes.writing.write_rules import WriteGate
from elf.providers.port import JsonAnswer, Prompt, T
from tests.notes_kit import RULES, SCOPES, scope_rules
from tests.unit.data.planted_secrets import planted_secrets

EVIDENCE = EvidenceBounds(min_quotes=1, max_quotes=2, max_quote_chars=320)
TALK = ["I prefer tea over coffee.", "The build takes 7 minutes."]
PLANTED = planted_secrets(11)


class ScriptedChat:
    """Answers with given notes; remembers what it was shown."""

    def __init__(self, *notes: Any) -> None:
        self.notes = list(notes)
        self.prompts: list[Prompt] = []

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        self.prompts.append(prompt)
        return answer.read({"notes": self.notes})

    @property
    def shown(self) -> list[dict[str, Any]]:
        (prompt,) = self.prompts
        messages: list[dict[str, Any]] = json.loads(prompt.user.split("Here are the messages as JSON:\n")[1])
        return messages


class AwayChat:
    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        raise ProviderUnavailable("asleep")


class StoringNotes:
    """Adds every note that was not refused, as a service without any note would."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.calls: list[dict[str, Any]] = []

    async def store_incoming(
        self,
        context: Context,
        attempts: Sequence[Attempt],
        *,
        actor: str,
        dry_run: bool = False,
        stored: object = None,
    ) -> list[Outcome]:
        assert stored is None, "add_event has nobody to tell"
        self.calls.append({"context": context, "actor": actor, "dry_run": dry_run})
        self.attempts += attempts
        return [Outcome(new_note_id(), "ADD") for attempt in attempts if isinstance(attempt, Incoming)]

    @property
    def stored(self) -> list[Incoming]:
        return [attempt for attempt in self.attempts if isinstance(attempt, Incoming)]


def proposed(text: str = "The user prefers tea.", *quotes: tuple[int, str], **fields: Any) -> dict[str, Any]:
    cited = quotes or ((0, "I prefer tea"),)
    return {
        "type": "preference",
        "key": None,
        "text": text,
        "importance": 0.5,
        "confidence": 0.9,
        "ttl_days": None,
        "scope_suggestion": "agent_private",
        "evidence": [{"message_index": index, "quote": quote} for index, quote in cited],
        "reason": "said so",
    } | fields


def request(*contents: str, **fields: Any) -> AddEventRequest:
    messages = [{"role": "user", "content": content} for content in contents or TALK]
    body = {"tenant_id": "acme", "project_id": "alpha", "agent_id": "anna", "messages": messages}
    return AddEventRequest.model_validate(body | fields)


def service(chat: Any, notes: Any, *, redact: bool = True, **write_allowed: bool) -> EventService:
    scopes = scope_rules(**write_allowed)
    limits = ExtractionLimits(max_notes=3, max_note_chars=60, scopes=SCOPES)
    policy = NotePolicy(gate=WriteGate(scopes, 60), scopes=scopes, rules=RULES, redact=redact)
    return EventService(extractor=NoteExtractor(chat, limits), notes=notes, policy=policy, evidence=EVIDENCE)


async def respond(
    *notes: Any, to: AddEventRequest | None = None, **config: bool
) -> tuple[AddEventResponse, StoringNotes]:
    storing = StoringNotes()
    response = await service(ScriptedChat(*notes), storing, **config).add_event(to or request())
    return response, storing


def codes(response: AddEventResponse) -> list[str | None]:
    return [result.reason_code for result in response.results]


@pytest.mark.anyio
async def test_a_note_is_stored_with_its_evidence_and_reason() -> None:
    messages = [
        {"role": "user", "content": TALK[0], "msg_id": "m-1", "ts": "2026-03-01T10:00:00Z"},
        {"role": "tool", "content": TALK[1]},
    ]
    note = proposed("The user prefers tea.", (0, "I prefer tea"), (1, "7 minutes"), key="drink", ttl_days=3)
    response, notes = await respond(note, to=request(messages=messages, scope="project_shared"))
    assert notes.calls == [
        {"context": Context("acme", "alpha", "anna"), "actor": "add_event", "dry_run": False}
    ]
    (stored,) = notes.stored
    assert stored == Incoming(
        scope="project_shared", type="preference", key="drink", text="The user prefers tea.", importance=0.5,
        confidence=0.9, ttl_days=3.0, source_ref={
            "evidence": [
                {"message_index": 0, "quote": "I prefer tea", "role": "user", "msg_id": "m-1",
                 "ts": "2026-03-01T10:00:00Z"},
                {"message_index": 1, "quote": "7 minutes", "role": "tool"},
            ],
            "reason": "said so",
        }, is_said=True,
    )  # fmt: skip
    assert response.extracted == [note]
    (result,) = response.results
    assert (result.op, result.reason_code, result.reason) == ("ADD", None, "said so")
    assert result.note_id is not None


@pytest.mark.parametrize(
    ("note", "code"),
    [
        (proposed("A note."), None),
        (proposed("A note.", (0, "I prefer milk")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", (1, "I prefer tea")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", (0, "i prefer tea")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", (0, " ")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", (2, "tea")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", (-1, "build")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", (0, "tea"), (0, "I"), (1, "7")), "REJECT_EVIDENCE_MISMATCH"),
        (proposed("A note.", evidence=[]), "REJECT_EVIDENCE_MISMATCH"),
        ({k: v for k, v in proposed("A note.").items() if k != "evidence"}, "REJECT_EVIDENCE_MISMATCH"),
        (proposed(" "), "REJECT_EMPTY"),
        ({k: v for k, v in proposed().items() if k != "text"}, "REJECT_EMPTY"),
        (proposed("The user drinks \u8336."), "REJECT_CJK"),
        (proposed("A note.", key="\u8336"), "REJECT_CJK"),
        (proposed("x" * 61), "REJECT_TOO_LONG"),
        (proposed("A note.", type="mood"), "REJECT_INVALID_TYPE"),
        (proposed("The password: hunter2xyz!"), "REJECT_SECRET"),
        (proposed("A note.", importance=2), "REJECT_MALFORMED"),
        ("a note", "REJECT_MALFORMED"),
    ],
)  # fmt: skip
@pytest.mark.anyio
async def test_every_rule_has_its_code(note: Any, code: str | None) -> None:
    response, notes = await respond(note)
    assert codes(response) == [code]
    (result,) = response.results
    assert result.op == ("ADD" if code is None else "REJECTED")
    assert (result.note_id is None) is (code is not None)
    assert result.reason
    (attempt,) = notes.attempts
    assert isinstance(attempt, Incoming) is (code is None)


@pytest.mark.anyio
async def test_evidence_is_checked_before_anything_else() -> None:
    wrong_in_every_way = proposed(" ", (0, "never said"), type="mood", scope_suggestion=None)
    assert codes((await respond(wrong_in_every_way))[0]) == ["REJECT_EVIDENCE_MISMATCH"]


@pytest.mark.anyio
async def test_a_bad_note_does_not_stop_the_others_and_the_order_is_kept() -> None:
    response, notes = await respond(proposed("One."), 7, proposed("Three."))
    assert [result.op for result in response.results] == ["ADD", "REJECTED", "ADD"]
    assert [note.text for note in notes.stored] == ["One.", "Three."]
    assert response.extracted[1] == 7


@pytest.mark.anyio
async def test_only_the_caller_can_have_notes_shared() -> None:
    notes = [proposed(scope_suggestion=scope) for scope in ("org_shared", "galaxy", None)]
    for asked, scope in ((None, "agent_private"), ("project_shared", "project_shared")):
        response, storing = await respond(*notes, to=request(scope=asked))
        assert codes(response) == [None] * 3
        assert [note.scope for note in storing.stored] == [scope] * 3
        assert response.extracted == notes


@pytest.mark.parametrize(
    ("scope", "reason"),
    [
        (None, "the scope agent_private may not be written"),
        ("org_shared", "the scope org_shared may not be written"),
        ("galaxy", "the scope must be one of agent_private, project_shared, org_shared"),
    ],
)
@pytest.mark.anyio
async def test_a_scope_that_may_not_be_written_is_refused(scope: str | None, reason: str) -> None:
    note = proposed(scope_suggestion="project_shared")
    response, notes = await respond(note, to=request(scope=scope), agent_private=False, org_shared=False)
    (result,) = response.results
    assert (result.reason_code, result.reason) == ("REJECT_SCOPE_DENIED", reason)
    assert notes.stored == []


@pytest.mark.anyio
async def test_a_dry_run_has_no_ids_for_notes_that_do_not_exist() -> None:
    known = NoteId(new_note_id())

    class OneIsKnown(StoringNotes):
        async def store_incoming(self, *args: Any, **options: Any) -> list[Outcome]:
            (new, _, _) = outcomes = [*await super().store_incoming(*args, **options)]
            return [new, Outcome(new.note_id, "NONE"), Outcome(known, "UPDATE")][: len(outcomes)]

    notes = OneIsKnown()
    chat = ScriptedChat(proposed("One."), proposed("One."), proposed("Two."))
    response = await service(chat, notes).add_event(request(dry_run=True))
    assert notes.calls[0]["dry_run"] is True
    assert [(result.op, result.note_id) for result in response.results] == [
        ("ADD", None),
        ("NONE", None),
        ("UPDATE", known),
    ]


@pytest.mark.anyio
async def test_nothing_is_stored_when_the_extractor_is_away() -> None:
    notes = StoringNotes()
    with pytest.raises(ProviderUnavailable):
        await service(AwayChat(), notes).add_event(request())
    assert notes.calls == []


@pytest.mark.anyio
async def test_the_extractor_is_asked_once_and_shown_the_messages_in_order() -> None:
    chat = ScriptedChat()
    response = await service(chat, StoringNotes()).add_event(request())
    assert response == AddEventResponse(extracted=[], results=[])
    assert [(one["message_index"], one["role"], one["content"]) for one in chat.shown] == [
        (0, "user", TALK[0]),
        (1, "user", TALK[1]),
    ]


@pytest.mark.parametrize("family", sorted({one.family for one in PLANTED}))
@pytest.mark.parametrize(
    "anyio_backend", ["asyncio"]
)  # what is blanked depends on no backend, and they are many
@pytest.mark.anyio
async def test_a_secret_never_reaches_the_extractor_nor_what_is_stored_shown_or_logged(family: str) -> None:
    found = [(one.text, find_secret(one.text)) for one in PLANTED if one.family == family]
    known = [(text, text[secret.start : secret.end]) for text, secret in found if secret is not None]
    assert len(known) >= 0.9 * len(found)
    for text, value in known:
        for place, shown in (await everything_that_leaves(text)).items():
            assert value not in shown, place
            assert json.dumps(value)[1:-1] not in shown, place


async def everything_that_leaves(planted: str) -> dict[str, str]:
    """Plant a text in a conversation and in all that a careless extractor makes of it."""
    chat = ScriptedChat(
        proposed(planted[:60]),
        proposed("One.", (1, planted)),
        proposed(
            "Two.", key=planted[:128], reason=planted, scope_suggestion=planted, extra={planted: [planted]}
        ),
    )
    messages = [
        {"role": "user", "content": TALK[0], "msg_id": planted[:128], "ts": planted[:128]},
        {"role": "user", "content": planted},
    ]
    notes = StoringNotes()
    with structlog.testing.capture_logs() as logs:
        response = await service(chat, notes).add_event(request(messages=messages, scope="org_shared"))
    return {
        "prompt": chat.prompts[0].user,
        "response": response.model_dump_json(),
        "stored or kept of a refusal": repr(notes.attempts),
        "logs": repr(logs),
    }


@pytest.mark.anyio
async def test_a_quote_beside_a_blanked_secret_counts_and_one_across_it_does_not() -> None:
    key = "sk" + "-" + "a1B2c3D4e5" * 4
    said = f"I prefer tea and my key is {key} by the way"
    across = proposed("Two.", (0, "my key is [REDACTED:api_key] by the way"))
    whole = proposed("Three.", (0, said))
    response, notes = await respond(proposed("One."), across, whole, to=request(said))
    assert codes(response) == [None, "REJECT_EVIDENCE_MISMATCH", "REJECT_EVIDENCE_MISMATCH"]
    assert len(notes.stored) == 1


@pytest.mark.anyio
async def test_a_quote_that_only_reads_as_a_secret_out_of_its_sentence_is_one() -> None:
    said = "I prefer tea, part number 9123-45-67890"
    assert find_secret(said) is None
    response, _ = await respond(proposed("One.", (0, "123-45-6789")), to=request(said))
    assert codes(response) == ["REJECT_SECRET"]


@pytest.mark.anyio
async def test_references_stay_as_they_came_when_redaction_is_off_but_the_extractor_sees_no_secret() -> None:
    key = "sk" + "-" + "a1B2c3D4e5" * 4
    chat, notes = ScriptedChat(proposed("One.", reason=f"it was {key}")), StoringNotes()
    messages = [{"role": "user", "content": f"I prefer tea. My key is {key}", "msg_id": key}]
    response = await service(chat, notes, redact=False).add_event(request(messages=messages))
    assert key not in chat.prompts[0].user
    assert key not in response.model_dump_json()
    assert notes.stored[0].source_ref["evidence"][0]["msg_id"] == key


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("", NO_REASON),
        ("  ", NO_REASON),
        ("\u7406\u7531", NO_REASON),
        (" because ", "because"),
        ("r" * 2000, "r" * MAX_REASON_CHARS),
    ],
)
@pytest.mark.anyio
async def test_the_reason_is_english_and_short(reason: str, shown: str) -> None:
    response, notes = await respond(proposed(reason=reason))
    assert response.results[0].reason == shown
    assert notes.stored[0].source_ref["reason"] == shown


@pytest.mark.anyio
async def test_the_shown_output_of_the_extractor_is_english_only() -> None:
    note = proposed("\u8336", extra=["\u8336", 3, None, {"\u8336": True}])
    response, _ = await respond(note)
    assert response.extracted[0]["text"] == "[CJK]"
    assert response.extracted[0]["extra"] == ["[CJK]", 3, None, {"[CJK]": True}]


@pytest.mark.anyio
async def test_a_malformed_note_is_refused_without_a_word_of_it() -> None:
    _, notes = await respond({**proposed("Hush."), "importance": "very"}, to=request(scope="org_shared"))
    assert notes.attempts == [
        Refused(None, "org_shared", False, 0, "REJECT_MALFORMED",
                "the extractor's note breaks the schema at importance")
    ]  # fmt: skip


TEXTS = st.text(st.sampled_from("ab \n\u00e9\u2019.7"), max_size=12)


@given(contents=st.lists(TEXTS, min_size=1, max_size=3), index=st.integers(-1, 3), quote=TEXTS)
def test_evidence_counts_if_and_only_if_it_stands_word_for_word_in_the_cited_message(
    contents: list[str], index: int, quote: str
) -> None:
    response, _ = anyio.run(lambda: respond(proposed("A note.", (index, quote)), to=request(*contents)))
    proven = 0 <= index < len(contents) and not is_blank(quote) and quote in contents[index]
    assert codes(response) == [None if proven else "REJECT_EVIDENCE_MISMATCH"]


@given(st.data())
def test_any_cut_of_a_message_is_evidence(data: st.DataObject) -> None:
    content = data.draw(
        st.text(
            st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), min_size=1, max_size=200
        )
    )
    start = data.draw(st.integers(0, len(content) - 1))
    quote = content[start : data.draw(st.integers(start + 1, len(content)))]
    response, _ = anyio.run(lambda: respond(proposed("A note.", (0, quote)), to=request(content)))
    blank_or_secret = is_blank(quote) or find_secret(content) is not None or find_secret(quote) is not None
    assert blank_or_secret or codes(response) == [None]
