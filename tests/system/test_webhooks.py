"""Webhooks against the whole service: what each family tells, and what comes of receivers that do not listen well."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from elf.client import Client, NotFound
from elf.client.families.webhooks import Webhook, WebhooksClient
from tests.families.command_line import CommandLine
from tests.folders import fresh_folder
from tests.metrics_kit import Page
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.webhook_receiver import WebhookReceiver, add_webhook, running_receiver

USER = "ana"
NOBODY = "local"  # who calls conversations where nobody proves who it is


@pytest.fixture(scope="module")
def told() -> Iterator[WebhookReceiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def stubborn() -> Iterator[WebhookReceiver]:
    """Only told of what is forgotten in the store, and asked twice."""
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def away() -> Iterator[WebhookReceiver]:
    """Only told of the tenant `bounded`, of which it may have 5 events waiting; it begins by being gone."""
    with running_receiver() as receiver:
        receiver.leave()
        yield receiver


@pytest.fixture(scope="module")
def service(
    told: WebhookReceiver, stubborn: WebhookReceiver, away: WebhookReceiver, model_folder: Path
) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        add_webhook(config, "all", told)
        add_webhook(
            config, "stubborn", stubborn, families='["store"]', events='["forgotten"]', attempts="2",
            timeout_ms="1000",
        )  # fmt: skip
        add_webhook(config, "bounded", away, tenants='["bounded"]', max_backlog="5", attempts="2")
        with RunningService(config) as running:
            yield running


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4()}"


@pytest.fixture
def client(service: RunningService, tenant: str) -> Iterator[Client]:
    with Client(service.url, tenant_id=tenant, agent_id="a", user=USER) as client:
        yield client


@pytest.fixture
def webhooks(service: RunningService, tenant: str) -> Iterator[WebhooksClient[Client]]:
    """What an operator asks, of the tenant."""
    with Client(service.admin_url, tenant_id=tenant) as client:
        yield client.webhooks


def test_notes_tell_what_becomes_of_them_and_not_what_they_say(
    client: Client, told: WebhookReceiver, tenant: str
) -> None:
    (written,) = client.add_notes([note("Ana prefers green tea in the morning.")])
    client.update(written.note_id, text="Ana prefers black tea in the evening.")
    client.delete(written.note_id)
    heard = told.wait_taken(3, item_id=str(written.note_id))
    assert [one.event for one in heard] == ["written", "changed", "forgotten"]
    assert heard[0].data == {
        "family": "notes", "kind": "note", "item_id": str(written.note_id), "tenant_id": tenant,
        "project_id": USER, "agent_id": "a",
    }  # fmt: skip
    assert not told.forged


def test_a_transaction_that_is_undone_tells_nothing(client: Client, told: WebhookReceiver) -> None:
    (first,) = client.add_notes([note("Ana likes hiking on Sundays.")])
    client.add_notes([note("Ana likes hiking on Sundays.")])  # it is known: nothing is written
    (last,) = client.add_notes([note("Ana lives in the north of Berlin.")])
    told.wait_taken(1, item_id=str(last.note_id))
    assert told.events(1, item_id=str(first.note_id)) == ["written"]


def test_knowledge_tells_of_episodes_facts_rules_and_contradictions(
    client: Client, told: WebhookReceiver
) -> None:
    knowledge = client.knowledge
    episode = knowledge.store_episode("Ana asked for a window seat.", "travel").id
    old = knowledge.store_fact("ana", "seat", "Ana sits at the window.").id
    new = knowledge.store_fact("ana", "seat", "Ana sits at the aisle.").id
    other = knowledge.store_fact("ana", "dislikes", "Ana dislikes aisles.").id
    rule = knowledge.store_rule("Ask for a seat before booking.").id
    knowledge.link("fact", other, "contradicts", "fact", new)
    knowledge.confirm("fact", new)
    knowledge.forget("fact", new)
    knowledge.forget("rule", rule)
    knowledge.forget("episode", episode)
    assert told.events(2, item_id=str(old)) == ["written", "forgotten"]  # it was superseded
    assert told.events(3, item_id=str(new)) == ["written", "contradicted", "forgotten"]
    assert told.events(2, item_id=str(rule)) == ["written", "forgotten"]
    assert told.events(2, item_id=str(episode)) == ["written", "forgotten"]
    assert told.taken(item_id=str(new))[1].data["by"] == f"fact:{other}"


def test_conversations_tell_their_owner_of_what_is_said(client: Client, told: WebhookReceiver) -> None:
    conversations = client.conversations
    made = conversations.create(title="Tea").id
    entry = conversations.append(
        made, [{"role": "USER", "text": "I prefer green tea."}], channel="history"
    ).id
    conversations.rename(made, "Green tea")
    conversations.delete(made)
    assert told.events(3, item_id=str(made)) == ["written", "changed", "forgotten"]
    (said,) = told.wait_taken(1, item_id=str(entry))
    assert (said.event, said.data["user_id"], said.data["conversation_id"]) == ("written", NOBODY, str(made))


def test_the_assistant_tells_of_memories_and_files(
    client: Client, told: WebhookReceiver, tenant: str
) -> None:
    assistant = client.assistant
    memory = assistant.add("Ana prefers green tea.", "preferences", user_id=USER).memory.id
    assistant.update(memory, text="Ana prefers black tea.", user_id=USER)
    assistant.delete(memory, user_id=USER)
    assistant.restore(memory, user_id=USER)
    assistant.delete(memory, hard=True, user_id=USER)
    path = "/memories/tea.md"
    assistant.create_file(path, "green\n", user_id=USER)
    assistant.replace_in_file(path, "green", "black", user_id=USER)
    assistant.rename_file(path, "/memories/tea/black.md", user_id=USER)
    assistant.delete_file("/memories/tea", user_id=USER)
    assert told.events(5, item_id=str(memory)) == ["written", "changed", "forgotten", "written", "forgotten"]
    mine = {"tenant_id": tenant, "kind": "file", "user_id": USER}
    files = told.wait_taken(4, **mine)
    assert [(one.event, one.data["path"]) for one in files] == [
        ("written", path), ("changed", path), ("changed", "/memories/tea/black.md"),
        ("forgotten", "/memories/tea/black.md"),
    ]  # fmt: skip


def test_the_store_tells_of_values(client: Client, told: WebhookReceiver, tenant: str) -> None:
    at = ["settings", "ui"]
    for value in (1, 2):
        client.store.put(at, "theme", value, user_id=USER)
    client.store.get(at, "theme", user_id=USER)
    client.store.delete(at, "theme", user_id=USER)
    heard = told.wait_taken(3, tenant_id=tenant, kind="value")
    assert [(one.event, one.data["namespace"], one.data["key"]) for one in heard] == [
        (event, at, "theme") for event in ("written", "changed", "forgotten")
    ]


@pytest.mark.parametrize("trouble", ["fail", "hang", "leave"])
def test_a_receiver_in_trouble_is_told_later_in_order_and_nobody_else_waits(
    client: Client, webhooks: WebhooksClient[Client], tenant: str, told: WebhookReceiver, stubborn: WebhookReceiver,
    trouble: str,
) -> None:  # fmt: skip
    getattr(stubborn, trouble)()
    numbers = random.Random(trouble)
    users = [f"u{number}" for number in range(4)]
    keys = [(user, f"k{number}") for user in users for number in range(8)]
    numbers.shuffle(keys)
    with ThreadPoolExecutor(4) as threads:
        for user in users:
            threads.submit(_write_and_delete, client, user, [key for owner, key in keys if owner == user])
    mine = {"tenant_id": tenant}
    told.wait_taken(3 * len(keys), **mine)  # nobody waits for the other one
    stubborn.get_well()
    _have_all_sent_again(webhooks, stubborn, tenant, len(keys))
    assert not stubborn.forged
    for user in users:
        kept = told.taken(**mine, user_id=user)
        order = [key for owner, key in keys if owner == user]
        assert [(one.data["key"], one.event) for one in kept] == [
            (key, event) for key in order for event in ("written", "changed", "forgotten")
        ]
    assert {one.data["key"] for one in stubborn.taken(**mine)} == {key for _, key in keys}


def _write_and_delete(client: Client, user: str, keys: list[str]) -> None:
    for key in keys:
        client.store.put(["n"], key, 1, user_id=user)
        client.store.put(["n"], key, 2, user_id=user)
        client.store.delete(["n"], key, user_id=user)


def _have_all_sent_again(
    webhooks: WebhooksClient[Client], receiver: WebhookReceiver, tenant: str, number: int
) -> None:
    def all_taken() -> bool:
        webhooks.retry("stubborn")
        return len({one.id for one in receiver.taken(tenant_id=tenant)}) == number

    wait_for(all_taken, f"{number} events of the stubborn receiver")


def test_what_was_never_taken_is_seen_and_sent_again_by_client_and_command(
    client: Client, webhooks: WebhooksClient[Client], tenant: str, stubborn: WebhookReceiver, service: RunningService,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stubborn.fail()
    for key in ("one", "two"):
        _write_and_delete(client, USER, [key])
    letters = wait_for(
        lambda: found if len(found := [*webhooks.dead_letters("stubborn")]) == 2 else None,
        "two dead letters",
    )
    assert [one.extra["key"] for one in letters] == ["one", "two"]
    assert {(one.event, one.attempts, one.user_id) for one in letters} == {("forgotten", 2, USER)}
    assert {one.last_error for one in letters} == {"NotDelivered: the receiver answered with HTTP 500"}
    pages = [*webhooks.dead_letters("stubborn", limit=1).pages()]
    assert [len(page.items) for page in pages] == [1, 1]
    status = {one.name: one for one in webhooks.status().items}
    assert (status["stubborn"].dead_letters, status["all"].dead_letters) == (2, 0)
    stubborn.get_well()
    assert webhooks.retry("stubborn", event_ids=[letters[1].event_id]).retried == 1
    assert stubborn.wait_taken(1, tenant_id=tenant)[0].id == str(letters[1].event_id)
    elf = CommandLine(_config_of(service, tmp_path), tenant, capsys)
    assert "one" in elf(WebhooksClient, "dead-letters", "stubborn").out
    assert elf(WebhooksClient, "retry", "stubborn").out.split()[-1] == "1"
    stubborn.wait_taken(2, tenant_id=tenant)
    with pytest.raises(NotFound):
        webhooks.retry("unknown")


def test_beyond_its_backlog_the_oldest_events_are_dropped_and_everybody_sees_it(
    service: RunningService, away: WebhookReceiver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Client(service.url, tenant_id="bounded", agent_id="a", user=USER) as client:
        for number in range(12):
            client.store.put(["n"], f"k{number}", number, user_id=USER)
        client.store.put(["n"], "quiet", 1, user_id="bob")
    with Client(service.admin_url, tenant_id="bounded") as operator:

        def dropped() -> Webhook | None:
            (found,) = [one for one in operator.webhooks.status().items if one.name == "bounded"]
            return found if found.dropped and found.waiting == 5 else None

        seen = wait_for(dropped, "events are dropped")
    assert (seen.dropped, seen.dead_letters) == (8, 0)
    assert seen.last_dropped_at is not None
    elf = CommandLine(_config_of(service, tmp_path), "bounded", capsys)
    (line,) = [line for line in elf(WebhooksClient, "status").out.splitlines() if line.startswith("bounded")]
    assert "8" in line.split()
    lines = service.events("webhook_events_dropped", webhook="bounded", bound="max_backlog")
    assert sum(line["events"] for line in lines) == 8
    page = Page(httpx.get(f"{service.admin_url}/metrics").text)
    assert page.value("elf_webhook_events_dropped_total", webhook="bounded", bound="max_backlog") == 8
    away.get_well()
    away.wait_taken(5)
    assert [one.data["key"] for one in away.taken(user_id=USER)] == [f"k{number}" for number in range(8, 12)]
    assert [one.data["key"] for one in away.taken(user_id="bob")] == ["quiet"]


def test_an_outage_makes_no_dead_letters_and_is_over_by_itself(
    service: RunningService, away: WebhookReceiver, webhooks: WebhooksClient[Client]
) -> None:
    away.leave()
    before = len(away.taken())
    users = [
        f"outage {number}" for number in range(5)
    ]  # as few as may wait; each is tried more often than `attempts`

    def is_unavailable() -> bool:
        page = Page(httpx.get(f"{service.admin_url}/metrics").text)
        return page.value("elf_webhook_receiver_unavailable", webhook="bounded") == 1

    with Client(service.url, tenant_id="bounded", agent_id="a", user=USER) as client:
        for user in users:
            client.store.put(["n"], "k", 1, user_id=user)
    wait_for(is_unavailable, "the receiver is found to be away")
    away.get_well()
    taken = away.wait_taken(before + len(users))
    assert {one.data["user_id"] for one in taken[before:]} == {*users}
    assert [one.dead_letters for one in webhooks.status().items if one.name == "bounded"] == [0]


def _config_of(service: RunningService, folder: Path) -> Path:
    def place(url: str) -> str:
        return f'"{url.removeprefix("http://")}"'

    return write_config(folder, http_bind=place(service.url), admin_bind=place(service.admin_url))


def test_the_log_names_no_item_and_no_secret(service: RunningService, told: WebhookReceiver) -> None:
    assert told.secret not in service.log
    for one in [*told.heard]:
        assert one.data["item_id"] not in service.log
