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
        ([{"content": "x"}, {"content": "y", "role": "system"}], "messages[1].role"),
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
