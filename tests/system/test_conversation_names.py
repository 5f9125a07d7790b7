"""Names of conversations by which something is said again once their conversations were deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from elf import Memory
from elf.client import Client, NotFound
from elf.client.families.memories import Remembered
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.service import RunningService, write_config

TEA = "I prefer green tea to coffee."
WEATHER = "The weather was bad."
ROLES = '\n[security.auth.roles.admin]\nusers = ["boss"]\n'


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    """One with an administrator."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(f"{config.read_text(encoding='utf-8')}{ROLES}", encoding="utf-8")
        with RunningService(config) as service:
            yield service


@pytest.fixture
def memory(service: RunningService) -> Iterator[Memory]:
    with Memory(service.url) as memory:
        yield memory


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


def conversation_of(memory: Memory, told: Remembered, user: str) -> str:
    """The id of the conversation that something was said in."""
    (kept,) = (one for one in told.families if one.family == "conversations")
    assert kept.state == "done", kept
    entry = memory.client.memories.item("conversations", "entry", str(kept.written[0].id), user_id=user)
    (id,) = (one.partition(":")[2] for one in entry.provenance if one.startswith("conversation:"))
    return id


def said(memory: Memory, user: str) -> set[str]:
    items = memory.recall("weather or tea?", user_id=user, families=["conversations"], top_k=100).items
    return {one.text for one in items}


@pytest.mark.parametrize("how", ["user", "run", "conversation"])
def test_a_name_is_used_again_once_its_conversation_was_deleted(
    memory: Memory, service: RunningService, ana: str, how: str
) -> None:
    first = conversation_of(memory, memory.remember(TEA, user_id=ana, conversation="r1"), ana)
    for _ in range(3):  # each deletion raises the generation
        with Client(service.url, tenant_id="default", token=ana) as client:
            if how == "conversation":
                client.conversations.delete(first)
            else:
                gone = memory.delete_all(user_id=ana, run_id="r1" if how == "run" else None)
                assert gone["left"] == {}
            with pytest.raises(NotFound):
                client.conversations.show(first)
        told = memory.remember(WEATHER, user_id=ana, conversation="r1")
        assert (told.done, told.skipped) == (True, [])
        second = conversation_of(memory, told, ana)
        assert second != first
        assert said(memory, ana) == {WEATHER}
        again = memory.remember("It rained, too, all night.", user_id=ana, conversation="r1")
        assert conversation_of(memory, again, ana) == second
        found = memory.search("weather?", user_id=ana, run_id="r1")["results"]
        assert WEATHER in {one["memory"] for one in found}
        with pytest.raises(NotFound):
            memory.client.memories.item("conversations", "conversation", first, user_id=ana)
        first = second


def test_a_name_stands_for_another_conversation_for_this_user_alone(memory: Memory, ana: str) -> None:
    bob = f"bob-{uuid4()}"
    for user in (ana, bob):
        memory.remember(TEA, user_id=user, conversation="r1")
    memory.delete_all(user_id=ana)
    assert said(memory, bob) == {TEA}
    told = memory.remember(WEATHER, user_id=bob, conversation="r1")
    assert said(memory, bob) == {TEA, WEATHER}
    assert conversation_of(memory, told, bob)


def test_a_dry_run_shows_what_will_be(memory: Memory, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1")
    memory.delete_all(user_id=ana)
    told = memory.remember(WEATHER, user_id=ana, conversation="r1", dry_run=True)
    assert [one.state for one in told.families if one.family == "conversations"] == ["shown"]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_deleted_conversation_that_is_named_by_its_id_is_skipped(
    memory: Memory, ana: str, dry_run: bool
) -> None:
    first = conversation_of(memory, memory.remember(TEA, user_id=ana, conversation="r1"), ana)
    memory.delete_all(user_id=ana)
    told = memory.remember(WEATHER, user_id=ana, conversation=first, dry_run=dry_run)
    assert [(one.family, one.reason) for one in told.skipped] == [("conversations", "CONVERSATION_DELETED")]
    assert said(memory, ana) == set()


def test_a_name_takes_what_is_said_while_its_conversations_are_deleted(memory: Memory, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1")
    over = threading.Event()

    def delete() -> None:
        while not over.is_set():
            memory.delete_all(user_id=ana, run_id="r1")

    thread = threading.Thread(target=delete)
    thread.start()
    try:
        for number in range(15):
            told = memory.remember(f"The weather was bad on day {number}.", user_id=ana, conversation="r1")
            assert {one.family: one.state for one in told.families}["conversations"] == "done"
    finally:
        over.set()
        thread.join()


def test_names_go_with_an_export(memory: Memory, service: RunningService, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1")
    memory.delete_all(user_id=ana)
    second = conversation_of(memory, memory.remember(WEATHER, user_id=ana, conversation="r1"), ana)
    with Client(service.admin_url, tenant_id="default") as admin:
        lines = planting.exported(admin, user_id=ana)
        admin.memories.erase(user_id=ana)
        assert said(memory, ana) == set()
        admin.memories.take_in(lines)
    told = memory.remember("It rained, too, all night.", user_id=ana, conversation="r1")
    assert conversation_of(memory, told, ana) == second


def test_an_erased_name_begins_anew(memory: Memory, service: RunningService, ana: str) -> None:
    first = conversation_of(memory, memory.remember(TEA, user_id=ana, conversation="r1"), ana)
    memory.delete_all(user_id=ana)
    with Client(service.admin_url, tenant_id="default") as admin:
        admin.memories.erase(user_id=ana)
    told = memory.remember(WEATHER, user_id=ana, conversation="r1")
    assert conversation_of(memory, told, ana) == first
    assert said(memory, ana) == {WEATHER}


def test_a_conversation_that_an_administrator_brings_back_has_its_name_again(
    memory: Memory, service: RunningService, ana: str
) -> None:
    first = conversation_of(memory, memory.remember(TEA, user_id=ana, conversation="r1"), ana)
    memory.delete_all(user_id=ana)
    with Client(service.url, tenant_id="default", token="boss") as boss:
        boss.conversations.admin_restore(first)
    told = memory.remember(WEATHER, user_id=ana, conversation="r1")
    assert conversation_of(memory, told, ana) == first


def test_a_session_goes_on_once_its_conversation_was_deleted(service: RunningService, ana: str) -> None:
    def entry(text: str) -> dict[str, object]:
        return {"content": [{"role": "USER", "text": text}], "contentType": "history"}

    with Client(service.url, tenant_id="default", token=ana, headers={"X-Client-ID": "desk"}) as client:
        conversations = client.conversations
        conversations.write_session("s1", [entry(TEA)])
        (conversation,) = conversations.list()
        conversations.delete(conversation.id)
        conversations.write_session("s1", [entry(WEATHER)])
        shown = conversations.session("s1")
        assert [one.content[0]["text"] for one in shown.entries] == [WEATHER]
