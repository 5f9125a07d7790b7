"""add_event against the whole service, its extractor a scripted chat service behind a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.system.fake_chat import FakeChat, point_extractor, running_chat, saying
from tests.system.overheard import Overheard, leaks, planted_by_kind, strings_in
from tests.system.service import RunningService, add_body, note, search_body, write_config
from tests.system.truth import rows, wait_indexed

SAID = ["I prefer tea over coffee.", "The build takes 7 minutes."]
EXTRACTOR_TIMEOUT_MS = 2000
TABLES = (
    "memory_notes",
    "memory_note_versions",
    "memory_note_chunks",
    "note_embeddings",
    "indexing_outbox",
    "memory_ingest_decisions",
)


@pytest.fixture(scope="module")
def chat() -> Iterator[FakeChat]:
    with running_chat() as chat:
        yield chat


@pytest.fixture(scope="module")
def events(chat: FakeChat, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service whose extractor is `chat`, and that logs all it can."""
    config = write_config(tmp_path_factory.mktemp("events"), log_level='"debug"')
    point_extractor(config, chat.api_base, timeout_ms=EXTRACTOR_TIMEOUT_MS)
    with RunningService(config) as running:
        yield running


def proposed(
    text: str = "The user prefers tea.", index: int = 0, quote: str = "I prefer tea", **fields: Any
) -> Any:
    return {
        "type": "preference",
        "key": None,
        "text": text,
        "importance": 0.5,
        "confidence": 0.9,
        "ttl_days": None,
        "scope_suggestion": "agent_private",
        "evidence": [{"message_index": index, "quote": quote}],
        "reason": "said so",
    } | fields


def event_body(tenant: str, *contents: str, **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content} for content in contents or SAID]
    return place(tenant) | {"messages": messages} | fields


def place(tenant: str) -> dict[str, Any]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}


def add_event(service: RunningService, tenant: str, *contents: str, **fields: Any) -> dict[str, Any]:
    response = service.post("add_event", event_body(tenant, *contents, **fields))
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    assert set(body) == {"extracted", "results"}
    assert len(body["extracted"]) == sum(one["reason_code"] != "CAP_REACHED" for one in body["results"])
    for result in body["results"]:
        assert set(result) == {"note_id", "op", "reason_code", "reason"}
        assert result["reason"]
        assert (result["reason_code"] is not None) is (result["op"] == "REJECTED")
    return body


def row_counts(service: RunningService) -> dict[str, int]:
    """How many rows each table that a write touches has, once nothing is left to index."""
    wait_indexed(service)
    folder = service.config.parent
    return {table: rows(folder, f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in TABLES}


def stored_ref(service: RunningService, tenant: str, note_id: str) -> dict[str, Any]:
    note = service.client.get(f"/v1/memory/notes/{note_id}", params=place(tenant)).json()
    ref: dict[str, Any] = note["source_ref"]
    return ref


def test_a_note_is_stored_with_the_words_that_prove_it_and_found(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed(key="drink"))
    (result,) = add_event(events, tenant, messages=[
        {"role": "user", "content": SAID[0], "msg_id": "m-1", "ts": "2026-03-01T10:00:00Z"}
    ])["results"]  # fmt: skip
    assert result["op"] == "ADD"
    assert stored_ref(events, tenant, result["note_id"]) == {
        "evidence": [
            {
                "message_index": 0,
                "quote": "I prefer tea",
                "role": "user",
                "msg_id": "m-1",
                "ts": "2026-03-01T10:00:00Z",
            }
        ],
        "reason": "said so",
    }
    assert events.wait_found(tenant, "What does the user drink?", result["note_id"])["key"] == "drink"
    (request,) = chat.asked
    assert request["model"] == "scripted"
    assert request["temperature"] == 0.1
    assert request["response_format"]["json_schema"]["strict"] is True


def test_one_request_asks_the_extractor_once_however_many_notes_and_messages(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(*[proposed(f"Note number {number}.", key=str(number)) for number in range(9)])
    body = add_event(events, tenant, *SAID * 20)
    assert len(chat.asked) == 1
    assert [(one["op"], one["reason_code"]) for one in body["results"]] == [
        *[("ADD", None)] * 3,  # max_notes_per_add_event
        *[("REJECTED", "CAP_REACHED")] * 6,
    ]


def test_add_note_and_everything_else_never_asks_the_extractor(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed())
    (keyed, _) = events.add(
        tenant, note("Alice prefers tea.", key="drink"), note("The office closes at six.")
    )
    events.add(tenant, note("Alice prefers coffee.", key="drink"), note("The office closes at 6."))
    context = place(tenant) | {"note_id": keyed["note_id"]}
    assert events.post("update", context | {"text": "Alice prefers milk."}).json()["op"] == "UPDATE"
    events.search(tenant, "What does Alice drink?")
    assert events.post("delete", context).json()["op"] == "DELETE"
    assert chat.asked == []


def test_cjk_anywhere_is_refused_with_its_path_before_the_extractor_is_asked(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed())
    cases = {
        "add_event": (
            event_body(tenant, "ok", "\u8336", "ok", "\u30c6"),
            ["$.messages[1].content", "$.messages[3].content"],
        ),
        "add_note": (add_body(tenant, note("\u8336", key="\ud55c")), ["$.notes[0].text", "$.notes[0].key"]),
        "search": (search_body(tenant, "\u8336?"), ["$.query"]),
        "update": (place(tenant) | {"note_id": str(uuid4()), "text": "\u8336"}, ["$.text"]),
    }  # fmt: skip
    for name, (body, paths) in cases.items():
        response = events.post(name, body)
        assert response.status_code == 422
        assert response.json() == {
            "error_code": "NON_ENGLISH_INPUT",
            "message": "CJK detected; upstream must canonicalize to English before calling ELF.",
            "fields": paths,
        }
    assert chat.asked == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"messages": []}, "$.messages"),
        ({"messages": [{"role": "user", "content": "x"}] * 257}, "$.messages"),
        ({"messages": [{"role": "user", "content": "x" * 16_385}]}, "$.messages[0].content"),
        ({"messages": [{"role": "system", "content": "x"}]}, "$.messages[0].role"),
        ({"messages": [{"role": "user", "content": "nul\x00"}]}, "$.messages[0].content"),
        ({"messages": [{"role": "user", "content": "x", "time": "noon"}]}, "$.messages[0].time"),
        ({"messages": [{"role": "user"}]}, "$.messages[0].content"),
        ({"dry_run": "yes"}, "$.dry_run"),
        ({"dry-run": True}, "$.dry-run"),
        ({"tenant_id": ""}, "$.tenant_id"),
    ],
)
def test_a_bad_request_is_refused_with_its_path_before_the_extractor_is_asked(
    events: RunningService, chat: FakeChat, tenant: str, change: dict[str, Any], path: str
) -> None:
    chat.proposes(proposed())
    response = events.post("add_event", event_body(tenant) | change)
    assert response.status_code == 400
    assert response.json()["fields"] == [path]
    assert chat.asked == []


def test_the_largest_conversation_is_taken(events: RunningService, chat: FakeChat, tenant: str) -> None:
    chat.proposes(proposed(index=255, quote="x" * 320))
    contents = ["x" * 16_384, *["x"] * 254, "x" * 16_384]
    assert [result["op"] for result in add_event(events, tenant, *contents)["results"]] == ["ADD"]


def test_evidence_that_does_not_stand_in_the_cited_message_is_a_mismatch(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed(quote="I prefer Tea"), proposed(index=1), proposed("Kept.", quote="tea over"))
    results = add_event(events, tenant)["results"]
    assert len(chat.asked) == 1
    assert [(result["op"], result["reason_code"]) for result in results] == [
        ("REJECTED", "REJECT_EVIDENCE_MISMATCH"),
        ("REJECTED", "REJECT_EVIDENCE_MISMATCH"),
        ("ADD", None),
    ]
    assert [result["note_id"] is None for result in results] == [True, True, False]


def test_the_same_event_twice_says_none(events: RunningService, chat: FakeChat, tenant: str) -> None:
    chat.proposes(proposed(key="drink"), proposed("The build takes 7 minutes.", 1, "7 minutes", type="fact"))
    first = add_event(events, tenant)["results"]
    second = add_event(events, tenant)["results"]
    assert [result["op"] for result in first] == ["ADD", "ADD"]
    assert [result["op"] for result in second] == ["NONE", "NONE"]
    assert [result["note_id"] for result in second] == [result["note_id"] for result in first]


def test_what_an_extractor_would_share_stays_with_the_agent_that_sent_it(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed(scope_suggestion="org_shared"))
    (result,) = add_event(events, tenant)["results"]
    found = events.wait_found(tenant, "What does the user drink?", result["note_id"])
    assert found["scope"] == "agent_private"
    others = place(tenant) | {"agent_id": "b"}
    assert events.search(tenant, "What does the user drink?", **others) == []
    note = f"/v1/memory/notes/{result['note_id']}"
    assert events.client.get(note, params=others).status_code == 404
    assert events.client.get(note).status_code == 404


def test_add_note_and_add_event_share_their_notes(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    (added,) = events.add(tenant, note("The user prefers coffee.", key="drink", type="preference"))
    chat.proposes(proposed(key="drink"))
    (result,) = add_event(events, tenant, scope="project_shared")["results"]
    assert (result["op"], result["note_id"]) == ("UPDATE", added["note_id"])
    assert "evidence" in stored_ref(events, tenant, added["note_id"])


def test_every_rejection_has_its_code_and_its_decision(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed(" "), proposed("\u8336"), proposed("x" * 241))
    codes = [result["reason_code"] for result in add_event(events, tenant)["results"]]
    chat.proposes(proposed(type="mood"), {"text": "Half a note."})
    codes += [result["reason_code"] for result in add_event(events, tenant)["results"]]
    chat.proposes(proposed())
    codes += [result["reason_code"] for result in add_event(events, tenant, scope="galaxy")["results"]]
    assert codes == [
        "REJECT_EMPTY", "REJECT_CJK", "REJECT_TOO_LONG",
        "REJECT_INVALID_TYPE", "REJECT_MALFORMED", "REJECT_SCOPE_DENIED",
    ]  # fmt: skip
    decisions = rows(
        events.config.parent,
        "SELECT reason_code FROM memory_ingest_decisions WHERE tenant_id = $1 ORDER BY decision_id",
        tenant,
    )
    assert [row["reason_code"] for row in decisions] == codes


def test_a_dry_run_says_what_would_be_and_stores_nothing(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    chat.proposes(proposed(key="drink"))
    (known,) = add_event(events, tenant)["results"]
    before = row_counts(events)
    chat.proposes(
        proposed("The user prefers coffee now.", key="drink"),
        proposed("The build takes 7 minutes.", 1, "7 minutes"),
        proposed(quote="never said"),
    )
    results = add_event(events, tenant, dry_run=True)["results"]
    assert [(result["op"], result["note_id"]) for result in results] == [
        ("UPDATE", known["note_id"]),
        ("ADD", None),
        ("REJECTED", None),
    ]
    assert row_counts(events) == before
    real = add_event(events, tenant)["results"]
    assert [result["op"] for result in real] == ["UPDATE", "ADD", "REJECTED"]


def test_a_dry_run_of_two_equal_notes_adds_one(events: RunningService, chat: FakeChat, tenant: str) -> None:
    chat.proposes(proposed(), proposed())
    results = add_event(events, tenant, dry_run=True)["results"]
    assert [(result["op"], result["note_id"]) for result in results] == [("ADD", None), ("NONE", None)]


def assert_unavailable(response: httpx.Response) -> str:
    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) >= 1
    body = response.json()
    assert body["error_code"] == "UNAVAILABLE"
    return str(body["message"])


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_extractor_that_is_down_is_unavailable_and_nothing_is_stored(
    events: RunningService, chat: FakeChat, tenant: str, status: int
) -> None:
    before = row_counts(events)
    chat.script(lambda body: (status, {"error": {"message": "overloaded"}}))
    message = assert_unavailable(events.post("add_event", event_body(tenant)))
    assert "providers.llm_extractor" in message
    assert row_counts(events) == before
    chat.proposes(proposed())
    assert [result["op"] for result in add_event(events, tenant)["results"]] == ["ADD"]


def test_content_that_is_never_json_is_tried_three_times_then_unavailable(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    before = row_counts(events)
    chat.script(lambda body: saying("I could not find anything."))
    assert "JSON" in assert_unavailable(events.post("add_event", event_body(tenant)))
    assert len(chat.asked) == 3
    assert row_counts(events) == before


def test_a_second_try_may_bring_json(events: RunningService, chat: FakeChat, tenant: str) -> None:
    answers = iter(["no JSON yet", json.dumps({"notes": [proposed()]})])
    chat.script(lambda body: saying(next(answers)))
    assert [result["op"] for result in add_event(events, tenant)["results"]] == ["ADD"]
    assert len(chat.asked) == 2


def test_a_secret_stays_out_of_prompts_answers_logs_and_tables(
    events: RunningService, chat: FakeChat, tenant: str
) -> None:
    secrets = [min(texts, key=len) for texts in planted_by_kind().values()]
    heard = Overheard(events)
    for text in secrets:
        chat.proposes(
            proposed(text),
            proposed("One.", 1, text),
            proposed("Two.", key=text[:128], reason=text),
        )
        messages = [
            {"role": "user", "content": SAID[0], "msg_id": text[:128]},
            {"role": "user", "content": text},
        ]
        results = heard.answer(events.post("add_event", event_body(tenant, messages=messages)))["results"]
        assert {result["op"] for result in results} == {"REJECTED"}, text
        assert leaks({"asked": "\n".join(strings_in(chat.asked))}, [text]) == []
    wait_indexed(events)
    said = heard.everything()
    assert leaks(said, secrets) == []
    assert said["memory_ingest_decisions"].count("REJECTED") == 3 * len(secrets)


def test_nothing_that_was_said_is_logged(events: RunningService, chat: FakeChat, tenant: str) -> None:
    chat.proposes(
        proposed("The canary sings at noon.", quote="a yellow canary"), proposed(quote="not said at all")
    )
    add_event(events, tenant, "There is a yellow canary here.")
    for words in ("canary", "not said at all"):
        assert words not in events.log


# The same through the default extractor, which needs no model and no network.


def test_the_rule_based_extractor_keeps_what_is_plainly_stated(service: RunningService, tenant: str) -> None:
    body = add_event(
        service,
        tenant,
        "Hi there! How are you? My name is Dana, by the way.",
        "We decided to use Postgres 18. What do you think?",
        "Thanks!",
    )
    assert [(note["type"], note["text"]) for note in body["extracted"]] == [
        ("profile", "Profile: My name is Dana, by the way."),
        ("decision", "Decision: We decided to use Postgres 18."),
    ]
    assert [result["op"] for result in body["results"]] == ["ADD", "ADD"]
    found = service.wait_found(tenant, "Which database do we use?", body["results"][1]["note_id"])
    assert found["scope"] == "agent_private"
    assert body["extracted"][1]["scope_suggestion"] == "project_shared"
    assert found["source_ref"]["evidence"][0]["quote"] == "We decided to use Postgres 18."


def test_small_talk_leaves_nothing_behind(service: RunningService, tenant: str) -> None:
    assert add_event(service, tenant, "Hello!", "How are you today?") == {"extracted": [], "results": []}


def test_a_keyed_statement_is_updated_by_a_later_one(service: RunningService, tenant: str) -> None:
    (first,) = add_event(service, tenant, "I live in Lisbon.")["results"]
    (second,) = add_event(service, tenant, "I live in Porto now.")["results"]
    assert (second["op"], second["note_id"]) == ("UPDATE", first["note_id"])
