"""Memory and AsyncMemory of a running service: their documented examples, and what users of mem0 count on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

import elf
from elf import AsyncMemory, Memory
from elf.client import Client, Conflict, InvalidRequest, NotFound, Unauthorized
from elf.client.memory.verb import Verb
from elf.client.memory.verbs import Verbs
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.service import RunningService, write_config

pytestmark = pytest.mark.anyio

VERBS = {name: one for name, one in vars(Verbs).items() if isinstance(one, Verb)}
TEA = "I prefer green tea to coffee."
FREE, HELPER, AGENT = (f"elf_{letter * 43}" for letter in "abc")


@pytest.fixture
def memory(service: RunningService) -> Iterator[Memory]:
    """That of the tenant whose conversations are kept where nobody proves who calls."""
    with Memory(service.url) as memory:
        yield memory


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


@pytest.fixture
def bob() -> str:
    return f"bob-{uuid4()}"


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_async_code_awaits_the_same(service: RunningService, ana: str, bob: str) -> None:
    async with AsyncMemory(service.url, user_id=ana) as memory:
        told = await memory.remember(TEA)
        assert told.done
        assert "green tea" in (await memory.recall("Which hot drink?")).items[0].text
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(partial(memory.within(user_id=bob).search, "Which hot drink?"))
        found = await memory.within(user_id=bob).get_all()
        assert found["results"] == []
    with pytest.raises(RuntimeError, match="closed"):
        await memory.recall("Which hot drink?")


async def test_an_async_memory_opens_by_its_first_call(service: RunningService, ana: str) -> None:
    memory = AsyncMemory(service.url)
    with pytest.raises(RuntimeError, match="not open yet"):
        assert memory.client
    assert (await memory.search("tea?", user_id=ana))["results"] == []
    assert (await memory.client.ready()).ready
    await memory.aclose()


def test_both_memories_have_one_signature_and_say_what_they_return(memory: Memory) -> None:
    sync, awaited = inspect.signature(Memory.get_all), inspect.signature(AsyncMemory.get_all)
    assert list(sync.parameters) == list(awaited.parameters)
    assert (sync.return_annotation, awaited.return_annotation) == ("r.Listed", "Awaitable[r.Listed]")
    assert (memory.search.__name__, memory.search.__doc__) == ("search", VERBS["search"].does.__doc__)
    assert {"Memory", "AsyncMemory"} <= set(dir(elf))
    with pytest.raises(AttributeError, match="no attribute 'Memo'"):
        assert elf.Memo


def test_what_is_added_has_addresses_by_which_it_is_read_changed_and_told(
    memory: Memory, ana: str, bob: str
) -> None:
    made = memory.add([{"role": "user", "content": TEA}], user_id=ana, run_id="breakfast")
    assert (made["pending"], made["refused"]) == ([], {})
    by_family = {one["id"].partition("/")[0]: one for one in made["results"] if one["id"]}
    assert {name: one["event"] for name, one in by_family.items()} == {"notes": "ADD", "assistant": "ADD"}
    for family, one in by_family.items():
        assert one["id"]
        read = memory.get(one["id"], user_id=ana)
        assert read is not None
        assert (read["id"], read["memory"], read["user_id"]) == (one["id"], one["memory"], ana)
        assert memory.get(one["id"], user_id=bob) is None
        new = "User prefers black tea." if family == "assistant" else "Preference: I prefer black tea."
        memory.update(one["id"], data=new, user_id=ana)
        changes = memory.history(one["id"], user_id=ana)
        assert [(change["event"], change["old_memory"], change["new_memory"]) for change in changes] == [
            ("ADD", None, one["memory"]),
            ("UPDATE", one["memory"], new),
        ]
        assert {change["memory_id"] for change in changes} == {one["id"]}
    again = memory.add(TEA, user_id=ana, run_id="supper", wait=False)
    assert memory.remembered(again["remembered"], user_id=ana).conversation == "supper"


def test_a_search_and_a_list_are_of_the_user_the_agent_and_the_run(
    memory: Memory, ana: str, bob: str
) -> None:
    memory.add(TEA, user_id=ana, agent_id="waiter", run_id="breakfast")
    memory.add("I moved to Porto in May.", user_id=ana, run_id="trip")
    memory.add("I moved to Oslo in June.", user_id=bob, run_id="trip")

    def texts(**whose: str) -> list[str]:
        return sorted({one["memory"] for one in memory.get_all(**whose)["results"]})

    tea, porto = (
        ["Preference: I prefer green tea to coffee.", "User prefers green tea to coffee."],
        "moved to Porto in May.",
    )
    assert texts(user_id=ana) == sorted([*tea, f"Fact: I {porto}", f"User {porto}"])
    assert texts(user_id=ana, agent_id="waiter") == texts(user_id=ana)
    assert texts(user_id=ana, agent_id="cook") == sorted([f"Fact: I {porto}", f"User {porto}"])
    assert texts(user_id=ana, run_id="breakfast") == tea
    assert len(memory.get_all(user_id=ana, limit=3)["results"]) == 3
    found = memory.search("Who moved in spring?", filters={"user_id": ana}, run_id="trip")["results"]
    assert {one["memory"] for one in found} == {f"Fact: I {porto}", f"User {porto}"}
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert memory.search("Who moved in spring?", user_id=ana, threshold=1.0)["results"] == []
    assert len(memory.search("Who moved in spring?", user_id=ana, top_k=1)["results"]) == 1


def test_without_inference_texts_are_kept_as_they_are_and_what_is_not_kept_says_so(
    memory: Memory, ana: str
) -> None:
    kept = memory.add(
        ["Ana's desk is by the window.", "x" * 5000],
        user_id=ana,
        run_id="r",
        infer=False,
        metadata={"by": "form"},
    )
    first, second = kept["results"]
    assert (first["event"], second["event"], second["id"]) == ("ADD", "REJECTED", None)
    assert second["reason"]
    (record,) = memory.get_all(user_id=ana, run_id="r")["results"]
    assert (record["metadata"], record["run_id"]) == ({"by": "form"}, "r")


def test_a_fact_of_the_user_is_listed_too(
    memory: Memory, service: RunningService, ana: str, bob: str
) -> None:
    for user, seat in (ana, "by the window"), (bob, "at the back"):
        with Client(service.url, tenant_id="default", token=user) as client:
            client.knowledge.store_fact("The user", "seat", seat, scope=f"user:{user}")
    (record,) = memory.get_all(user_id=ana)["results"]
    assert record["memory"] == "The user seat: by the window"
    with pytest.raises(InvalidRequest, match="is not changed: a fact is replaced by the next one"):
        memory.update(record["id"], "The user seat: at the back", user_id=ana)
    with pytest.raises(InvalidRequest, match=r"has no history here: client\.knowledge\.history tells it"):
        memory.history(record["id"], user_id=ana)


def test_what_a_verb_does_not_do_it_refuses_by_the_name_of_the_argument(memory: Memory, ana: str) -> None:
    refused = {
        "metadata": lambda: memory.add(TEA, user_id=ana, metadata={"a": 1}),
        "filters.category": lambda: memory.search("tea?", filters={"category": "x"}),
        "user_id": lambda: memory.get_all(),
        "text": lambda: memory.update(f"notes/note/{'0' * 8}-0000-4000-8000-{'0' * 12}", user_id=ana),
        "memory_id": lambda: memory.get("not-an-address"),
        "messages": lambda: memory.remember([], user_id=ana),
        "query": lambda: memory.recall(" ", user_id=ana),
    }
    for name, call in refused.items():
        with pytest.raises(InvalidRequest) as no:
            call()
        assert no.value.fields == (name,)
    for family in ("notes/note", "assistant/memory"):
        with pytest.raises(NotFound):
            memory.update(f"{family}/{'0' * 8}-0000-4000-8000-{'0' * 12}", "new", user_id=ana)


def test_a_note_that_may_not_say_so_is_not_changed(memory: Memory, ana: str) -> None:
    (note,) = memory.add("Ana likes tea.", user_id=ana, infer=False)["results"]
    assert note["id"]
    with pytest.raises(InvalidRequest, match="text: "):
        memory.update(note["id"], "x" * 5000, user_id=ana)
    assert memory.get_all(user_id=ana)["results"][0]["memory"] == "Ana likes tea."


def test_what_is_forgotten_is_found_no_more_by_whatever_names_it(memory: Memory, ana: str, bob: str) -> None:
    made = memory.add(TEA, user_id=ana)["results"]
    recalled = memory.recall("Which hot drink?", user_id=ana, families=["notes"]).items
    forgotten = memory.forget([*recalled, *made], user_id=ana).items
    assert [(one.family, one.outcome) for one in forgotten] == [
        ("notes", "forgotten"),
        ("assistant", "forgotten"),
    ]
    assert [memory.get(one["id"] or "", user_id=ana) for one in made] == [None, None]
    for one in made:
        with pytest.raises(NotFound, match="there is no item"):
            memory.delete(one["id"] or "", user_id=ana)
    (entry,) = memory.recall("Which hot drink?", user_id=ana).items
    with pytest.raises(Conflict, match="forget its conversation"):
        memory.delete(entry.address, user_id=ana)
    with pytest.raises(NotFound):
        memory.delete(entry.address, user_id=bob)
    with pytest.raises(InvalidRequest, match=r"items\[1\]: should be the address of an item"):
        memory.forget([entry, "tea"], user_id=ana)
    assert memory.recall("Which hot drink?", user_id=ana).items[0].address == entry.address


def test_all_of_a_run_or_a_user_goes_with_what_was_said_and_nothing_of_another_does(
    memory: Memory, service: RunningService, ana: str, bob: str
) -> None:
    for user, run in ((ana, "breakfast"), (ana, "supper"), (bob, "breakfast")):
        memory.add(TEA if run == "breakfast" else "I moved to Porto in May.", user_id=user, run_id=run)
    with Client(service.url, tenant_id="default", token=ana) as client:
        client.knowledge.store_fact("The user", "seat", "by the window", scope=f"user:{ana}")

    def known(user: str) -> set[str]:
        return {one.text for one in memory.recall("Which drink, and which city?", user_id=user).items}

    before, of_bob = known(ana), known(bob)
    assert any("Porto" in text for text in before)
    gone = memory.delete_all(user_id=ana, run_id="breakfast")
    assert (gone["left"], gone["message"]) == ({}, f"Memories deleted: {gone['forgotten']}")
    assert known(ana) == {text for text in before if "tea" not in text}
    assert memory.delete_all(user_id=ana, run_id="no-such-run")["forgotten"] == 0
    assert memory.delete_all(user_id=ana)["left"] == {}
    assert (known(ana), known(bob)) == (set(), of_bob)
    with pytest.raises(InvalidRequest, match="user_id: say whose"):
        memory.delete_all()


def test_what_an_agent_made_goes_without_what_was_said(memory: Memory, ana: str) -> None:
    memory.add(TEA, user_id=ana, agent_id="waiter", run_id="breakfast")
    assert memory.delete_all(user_id=ana, agent_id="waiter")["left"] == {}
    assert [one.family for one in memory.recall("Which hot drink?", user_id=ana).items] == ["conversations"]


@pytest.fixture(scope="module")
def strict(model_folder: Path) -> Iterator[RunningService]:
    """A service that asks for keys: one for any user of its tenant, one for its own user."""
    keys = [
        {"key": FREE, "name": "free", "tenant_id": "acme", "acts_for_users": True},
        {"key": HELPER, "name": "helper", "tenant_id": "acme", "user": "ana", "agent_id": "helper"},
    ]
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(with_keys(config.read_text(encoding="utf-8"), *keys), encoding="utf-8")
        with RunningService(config) as service:
            yield service


def test_a_key_says_who_calls_and_what_it_binds_is_left_out(strict: RunningService) -> None:
    with Memory(strict.url, key=HELPER) as memory:
        memory.remember(TEA)
        assert "green tea" in memory.recall("Which hot drink?").items[0].text
        listed = memory.get_all(user_id="ana")["results"]
        assert {one["id"].partition("/")[0] for one in listed} == {"notes"}
    with Memory(strict.url, key=FREE, for_user="bob") as memory:
        assert memory.recall("Which hot drink?").items == []
    with Memory(strict.url, key=HELPER, user_id="ana") as memory:
        assert memory.delete_all()["left"] == {
            "assistant": "SCOPE_DENIED"
        }  # of which this agent reads nothing
        assert memory.recall("Which hot drink?").items == []
    with Memory(strict.url, key=FREE, agent_id="supervisor", user_id="carol") as memory:
        memory.remember(TEA)
        gone = memory.delete_all()
        assert gone["forgotten"] == 2
        assert gone["left"] == {"knowledge": "SCOPE_DENIED"}
    with Memory(strict.url) as memory, pytest.raises(Unauthorized):
        memory.recall("Which hot drink?", user_id="ana")
