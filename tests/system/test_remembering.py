"""Remembering what was said by its client, its command and its tool, against the whole service."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from elf import Memory
from elf.client import AsyncClient, Client, Conflict, InvalidRequest, NotFound
from elf.client.credentials import Credentials
from elf.client.families.memories import InFamily, MemoriesClient, Remembered, Said
from tests.families.command_line import CommandLine
from tests.metrics_kit import Page
from tests.system.service import RunningService, wait_for, write_config
from tests.system.truth import rows

pytestmark = pytest.mark.anyio

WAIT_MS = 30_000
KEEPING = ("conversations", "notes", "assistant")
TEA = "I prefer green tea over coffee."
TRAIN = "Decision: We take the night train to Lisbon."
ANSWER = "Noted, the night train it is."
CHINESE = "我喜欢喝绿茶"
MESSAGES = (Said(content=TEA), Said(content=TRAIN), Said(content=ANSWER, role="assistant"))


@pytest.fixture
def user() -> str:
    """Whoever it is: conversations are of one tenant where nobody has to prove who calls."""
    return f"user-{uuid4().hex}"


@pytest.fixture(scope="module")
def client(service: RunningService) -> Iterator[Client]:
    with Client(service.url, tenant_id="default") as client:
        yield client


def told(answer: Remembered) -> dict[str, InFamily]:
    return {one.family: one for one in answer.families}


def entries_of(client: Client, user: str, answer: Remembered) -> list[str]:
    """The texts of all entries of the conversation that an answer is of."""
    (entry, *_) = told(answer)["conversations"].written
    (conversation,) = (
        name.removeprefix("conversation:")
        for name in client.memories.item("conversations", "entry", str(entry.id), user_id=user).provenance
        if name.startswith("conversation:")
    )
    calling = client.proven_by(Credentials(token=user))
    return [one.content[0]["text"] for one in calling.conversations.entries(conversation)]


def known(client: Client, user: str) -> set[tuple[str, str]]:
    """All that is told of a user when anything of it is asked for: families and texts.

    Knowledge does not remember here; what is global there is everybody's of the tenant.
    """
    return {
        (item.family, item.text)
        for query in (TEA, TRAIN)
        for item in client.memories.recall(query, user_id=user, top_k=100, families=KEEPING).items
    }


def test_it_is_stored_at_once_and_becomes_what_families_keep(client: Client, user: str) -> None:
    at_once = client.memories.remember(MESSAGES, user_id=user, conversation="trip")
    assert (at_once.conversation, at_once.repeated) == ("trip", False)
    assert told(at_once)["conversations"].state == "done"
    answer = client.memories.remember(MESSAGES, user_id=user, conversation="later", wait_ms=WAIT_MS)
    assert answer.done
    assert [one.state for one in answer.families] == ["done"] * 3
    assert [*told(answer)] == [*KEEPING]
    entries = told(answer)["conversations"].written
    assert [one.kind for one in entries] == ["entry"] * len(MESSAGES)
    for one, said in zip(entries, MESSAGES, strict=True):
        assert client.memories.item("conversations", "entry", str(one.id), user_id=user).text == said.content


def test_what_was_made_of_it_names_the_entries_that_it_rests_on(client: Client, user: str) -> None:
    answer = client.memories.remember(MESSAGES, user_id=user, conversation="trip", wait_ms=WAIT_MS)
    first, second, _ = (one.id for one in told(answer)["conversations"].written)
    notes = [
        client.memories.item("notes", "note", str(one.id), user_id=user)
        for one in told(answer)["notes"].written
    ]
    assert {note.text: set(note.provenance) for note in notes} == {
        f"Preference: {TEA}": {f"event:{answer.id}", "thread:trip", f"entry:{first}"},
        TRAIN: {f"event:{answer.id}", "thread:trip", f"entry:{second}"},
    }
    (memory, *_) = told(answer)["assistant"].written
    item = client.memories.item("assistant", "memory", str(memory.id), user_id=user)
    assert set(item.provenance) == {f"turn:{answer.id}", "thread:trip"}


def test_equal_requests_at_once_have_one_effect(client: Client, service: RunningService, user: str) -> None:
    def remember(_: int) -> Remembered:
        return client.memories.remember(
            MESSAGES, user_id=user, conversation="trip", request_id="r-1", wait_ms=WAIT_MS
        )

    with ThreadPoolExecutor(32) as threads:
        answers = [*threads.map(remember, range(32))]
    assert Counter(answer.repeated for answer in answers) == {False: 1, True: 31}
    assert len({(answer.id, str(answer.families)) for answer in answers}) == 1
    (first, *_) = answers
    assert {one.op for family in first.families for one in family.written} == {"ADD"}
    shown = httpx.get(
        f"{service.url}/v1/memory/list",
        params={"tenant_id": "default", "project_id": user, "scope": "project_shared"},
    ).json()
    assert Counter(one["text"] for one in shown["items"]) == {f"Preference: {TEA}": 1, TRAIN: 1}
    assert entries_of(client, user, first) == [one.content for one in MESSAGES]


def test_the_same_request_with_other_words_is_refused_and_changes_nothing(client: Client, user: str) -> None:
    answer = client.memories.remember(MESSAGES, user_id=user, request_id="r-1", wait_ms=WAIT_MS)
    with pytest.raises(Conflict) as refused:
        client.memories.remember([Said(content=TRAIN)], user_id=user, request_id="r-1")
    assert refused.value.fields == ("request_id",)
    assert client.memories.remembered(answer.id, user_id=user) == answer
    other = client.memories.remember(MESSAGES, user_id=f"{user}2", request_id="r-1")
    assert (other.repeated, other.id == answer.id) == (False, False)


def test_a_dry_run_shows_all_and_keeps_nothing(client: Client, user: str) -> None:
    shown = client.memories.remember(MESSAGES, user_id=user, conversation="trip", dry_run=True)
    assert {one.family: [item.op for item in one.written] for one in shown.families} == {
        "conversations": ["ADD", "ADD", "ADD"],
        "notes": ["ADD", "ADD"],
        "assistant": ["ADD"],
    }
    assert {item.id for one in shown.families for item in one.written} == {None}
    assert known(client, user) == set()
    with pytest.raises(NotFound):
        client.memories.remembered(shown.id, user_id=user)
    again = client.memories.remember(MESSAGES, user_id=user, conversation="trip", wait_ms=WAIT_MS)
    assert {item.op for one in again.families for item in one.written} == {"ADD"}


def test_a_family_that_does_not_take_it_is_named_and_the_others_go_on(client: Client, user: str) -> None:
    answer = client.memories.remember([Said(content=CHINESE)], user_id=user, wait_ms=WAIT_MS)
    assert answer.done
    refused = told(answer)["notes"]
    assert (refused.state, refused.error_code) == ("refused", "NON_ENGLISH_INPUT")
    (entry,) = told(answer)["conversations"].written
    assert client.memories.item("conversations", "entry", str(entry.id), user_id=user).text == CHINESE


def test_what_cannot_be_remembered_is_refused_by_its_name(client: Client, user: str) -> None:
    for messages, field in (
        ([], "messages"),
        ([{"content": "  "}], "messages[0].content"),
        ([{"content": "x"}, {"content": "y", "role": "narrator"}], "messages[1].role"),
        ([{"content": "x" * 16_385}], "messages[0].content"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            client.memories.remember(messages, user_id=user)
        assert refused.value.fields == (field,)


def test_nobody_else_is_told_what_became_of_it(client: Client, user: str) -> None:
    answer = client.memories.remember(MESSAGES, user_id=user, agent_id="planner")
    assert client.memories.remembered(answer.id, user_id=user, agent_id="planner").id == answer.id
    for other in ({"user_id": user}, {"user_id": "bob", "agent_id": "planner"}):
        with pytest.raises(NotFound):
            client.memories.remembered(answer.id, **other)


async def test_it_is_awaited_by_the_other_client(service: RunningService, user: str) -> None:
    async with AsyncClient(service.url, tenant_id="default") as client:
        answer = await client.memories.remember([{"content": TEA}], user_id=user, wait_ms=WAIT_MS)
        assert answer.done
        assert (await client.memories.remembered(answer.id, user_id=user)).families == answer.families


def test_the_command_does_the_same(
    service: RunningService, user: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"')
    line = CommandLine(config, "default", capsys)
    said: Any = line.data(
        MemoriesClient, "remember", json.dumps({"content": TEA}), "--user-id", user, "--wait-ms", str(WAIT_MS)
    )
    assert said["done"]
    told_again = line.data(MemoriesClient, "remembered", said["id"], "--user-id", user)
    assert told_again["families"] == said["families"]


def test_what_waits_for_a_family_that_is_not_asked_any_more_is_skipped(
    client: Client, service: RunningService, user: str
) -> None:
    old, new = (
        client.memories.remember(MESSAGES, user_id=user, conversation=name, wait_ms=WAIT_MS)
        for name in ("old", "new")
    )
    # As they are left by a service that asked the family graph in place of notes.
    left = (
        "WITH messages AS (UPDATE memory_said SET messages = '[]' WHERE said_id = $1)"
        " UPDATE memory_said_outbox SET family = 'graph', status = 'PENDING', written = '[]', available_at = now(),"
        " created_at = now() - $2::interval WHERE said_id = $1 AND family = 'notes'"
    )
    rows(service.config.parent, left, old.id, timedelta(hours=2))
    rows(service.config.parent, left, new.id, timedelta(minutes=2))

    def is_over() -> Remembered | None:
        told = client.memories.remembered(old.id, user_id=user)
        return told if told.done else None

    skipped = told(wait_for(is_over, "it is over"))["graph"]
    assert (skipped.state, skipped.written) == ("skipped", [])
    assert skipped.message == "graph is not among the families of [remember] any more"
    assert Page(service.admin.get("/metrics").text).value("elf_remember_skipped_total", family="graph") == 1
    (kept,) = rows(service.config.parent, "SELECT messages FROM memory_said WHERE said_id = $1", old.id)
    assert kept["messages"] is None  # so that it is dropped in time
    later = client.memories.remembered(new.id, user_id=user)
    assert (told(later)["graph"].state, later.done) == (
        "pending",
        False,
    )  # it may be one that newer processes ask


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "tea"}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
OF_OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "I prefer to answer in French."},
    {"role": "developer", "content": [{"type": "text", "text": "I prefer short answers."}]},
    {"role": "user", "name": "ana", "content": [{"type": "text", "text": TEA}, IMAGE]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None, "annotations": []},
    {"role": "tool", "tool_call_id": "c1", "content": "The ferry leaves at six."},
    {"role": "assistant", "content": "Noted.", "tool_calls": []},
    {"role": "assistant", "content": "I am looking.", "tool_calls": [CALL], "audio": None},
    {"role": "user", "content": [IMAGE]},
    {"role": "user", "content": [{"type": "text", "text": "Decision: We take"},
                                 {"type": "input_text", "text": "the train."}]},
    {"role": "user", "content": "   "},
]  # fmt: skip
KEPT = [TEA, "The ferry leaves at six.", "Noted.", "I am looking.", "Decision: We take\nthe train."]
SKIPPED = [
    (0, "ROLE", ["role"]), (1, "ROLE", ["role"]), (2, "NOT_TEXT", ["content[1]"]), (3, "NO_TEXT", ["tool_calls"]),
    (6, "NOT_TEXT", ["tool_calls"]), (7, "NO_TEXT", ["content[0]"]), (9, "NO_TEXT", ["content"]),
]  # fmt: skip


def test_of_messages_of_the_chat_api_of_openai_the_text_is_kept_and_the_rest_is_told(
    client: Client, user: str
) -> None:
    answer = client.memories.remember(OF_OPENAI, user_id=user, conversation="chat", wait_ms=WAIT_MS)
    assert [(one.message, one.reason, one.fields) for one in answer.skipped] == SKIPPED
    assert entries_of(client, user, answer) == KEPT
    texts = {text for _, text in known(client, user)}
    assert f"Preference: {TEA}" in texts
    assert not any("French" in text or "short answers" in text for text in texts)
    shown = client.memories.remember(OF_OPENAI, user_id=user, dry_run=True)
    assert [(one.message, one.reason, one.fields) for one in shown.skipped] == SKIPPED
    assert client.memories.remembered(answer.id, user_id=user).skipped == []


def test_what_is_skipped_is_refused_in_strict_mode_and_nothing_kept(client: Client, user: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        client.memories.remember(OF_OPENAI, user_id=user, strict=True)
    expected = tuple(f"messages[{index}].{field}" for index, _, fields in SKIPPED for field in fields)
    assert caught.value.fields == expected
    assert known(client, user) == set()
    told = client.memories.remember([Said(content=TEA)], user_id=user, strict=True, wait_ms=WAIT_MS)
    assert (told.done, told.skipped) == (True, [])


def test_a_message_without_any_text_keeps_nothing_and_is_no_error(client: Client, user: str) -> None:
    answer = client.memories.remember(OF_OPENAI[3:4], user_id=user, conversation="chat", wait_ms=WAIT_MS)
    assert (answer.done, answer.families) == (True, [])
    assert [(one.message, one.reason) for one in answer.skipped] == [(0, "NO_TEXT")]
    assert known(client, user) == set()
    for blank in (
        {"role": "user"},
        {"content": ""},
        {"content": None},
        {"content": "\x00\u200b"},
        {"content": []},
    ):
        with pytest.raises(InvalidRequest) as caught:
            client.memories.remember([blank], user_id=user)
        assert caught.value.fields == ("messages[0].content",)
    half = "x" * 9000
    for wrong, field in (
        ({"role": "narrator", "content": TEA}, "role"),
        ({"content": 5}, "content"),
        ({"content": TEA, "contents": TEA}, "contents"),
        ({"content": [{"type": "text", "text": half}, {"type": "text", "text": half}]}, "content"),
    ):
        with pytest.raises(InvalidRequest) as caught:
            client.memories.remember([wrong], user_id=user)
        assert caught.value.fields[0].startswith(f"messages[0].{field}")


def test_the_verbs_of_memory_take_them_too(service: RunningService, user: str) -> None:
    with Memory(service.url, user_id=user, tenant_id="default") as memory:
        added = memory.add(OF_OPENAI)
        assert [(one["message"], one["reason"], one["fields"]) for one in added["skipped"]] == SKIPPED
        assert f"Preference: {TEA}" in [one["memory"] for one in added["results"]]
        with pytest.raises(InvalidRequest):
            memory.remember(OF_OPENAI, strict=True)


@pytest.mark.parametrize(
    ("shorter", "longer", "notes", "memories"),
    [
        (
            "I prefer green tea.",
            "I prefer green tea with honey in the morning.",
            "Preference: I prefer green tea with honey in the morning.",
            "User prefers green tea with honey in the morning.",
        ),
        (
            "I have a dog.",
            "I have a dog named Rex.",
            "Profile: I have a dog named Rex.",
            "User has a dog named Rex.",
        ),
        (
            "I live in Porto.",
            "I live in Porto with two cats.",
            "Profile: I live in Porto with two cats.",
            "User lives in Porto with two cats.",
        ),
    ],
)
def test_a_longer_statement_takes_the_place_of_the_one_that_it_contains(
    client: Client, user: str, shorter: str, longer: str, notes: str, memories: str
) -> None:
    for text in (shorter, longer):
        answer = client.memories.remember([Said(content=text)], user_id=user, wait_ms=WAIT_MS)
    assert [one.op for one in told(answer)["notes"].written] == ["UPDATE"]
    assert {"UPDATE", "RECREATE"} & {one.op for one in told(answer)["assistant"].written}
    items = client.memories.recall(longer, user_id=user, top_k=100, families=["notes", "assistant"]).items
    texts = {item.text for item in items} | {
        client.memories.item(one.family, one.kind, one.id, user_id=user).text
        for item in items
        for one in item.also
    }
    assert texts == {notes, memories}


@pytest.mark.parametrize(
    ("longer", "shorter", "note"),
    [
        ("I live in Porto with two cats.", "I live in Porto.", "Profile: I live in Porto with two cats."),
        ("I have a dog named Rex.", "I have a dog.", "Profile: I have a dog named Rex."),
        (
            "I prefer green tea with honey in the morning.",
            "I prefer green tea.",
            "Preference: I prefer green tea with honey in the morning.",
        ),
    ],
)
def test_a_shorter_statement_takes_nothing_of_the_one_that_contains_it(
    client: Client, user: str, longer: str, shorter: str, note: str
) -> None:
    for text in (longer, shorter):
        answer = client.memories.remember([Said(content=text)], user_id=user, wait_ms=WAIT_MS)
    for family in ("notes", "assistant"):
        assert {one.op for one in told(answer)[family].written} <= {"NONE"}, family
    (kept,) = client.memories.recall(longer, user_id=user, top_k=100, families=["notes"]).items
    assert kept.text == note
    changed = client.memories.remember([Said(content="I live in Oslo.")], user_id=user, wait_ms=WAIT_MS)
    if "Porto" in longer:
        assert [one.op for one in told(changed)["notes"].written] == ["UPDATE"]
