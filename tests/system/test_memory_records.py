"""What Memory returns of what it keeps: one format, by agents, and of messages that are not the user's."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from elf import Memory
from elf.client import Client
from tests.system.service import RunningService

BOATS = "I love boats with red sails."
FIELDS = {"id", "memory", "metadata", "created_at", "updated_at", "user_id", "agent_id", "run_id"}


@pytest.fixture
def memory(service: RunningService) -> Iterator[Memory]:
    with Memory(service.url) as memory:
        yield memory


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


def test_metadata_is_the_same_in_get_search_and_get_all(memory: Memory, ana: str) -> None:
    metadata = {"food": "sushi", "thread": "mine", "n": [1, {"a": None}]}
    (made,) = memory.add(
        "Bob eats sushi.", user_id=ana, agent_id="bot", run_id="r", infer=False, metadata=metadata
    )["results"]
    assert made["id"]
    read = memory.get(made["id"], user_id=ana)
    (listed,) = memory.get_all(user_id=ana)["results"]
    (found,) = memory.search("sushi", user_id=ana)["results"]
    assert read
    for record in (read, listed, found):
        assert record["metadata"] == metadata
        assert (record["user_id"], record["agent_id"], record["run_id"]) == (ana, "bot", "r")
        assert record["memory"] == "Bob eats sushi."
        assert record.keys() - {"score", "relevance", "also"} == FIELDS


def test_records_of_every_family_have_one_format(memory: Memory, service: RunningService, ana: str) -> None:
    memory.add(BOATS, user_id=ana, agent_id="bot", run_id="r")
    with Client(service.url, tenant_id="default", token=ana) as client:
        client.knowledge.store_fact("The user", "boat", "red sails", scope=f"user:{ana}")
    listed = memory.get_all(user_id=ana)["results"]
    found = memory.search("boats with red sails", user_id=ana)["results"]
    assert {one["id"].partition("/")[0] for one in listed} == {"notes", "assistant", "knowledge"}
    assert "knowledge" in {one["id"].partition("/")[0] for one in found}
    for record in [*listed, *found]:
        assert record.keys() - {"score", "relevance", "also"} == FIELDS
        read = memory.get(record["id"], user_id=ana)
        assert read
        assert read.keys() == FIELDS
        assert record["metadata"] == read["metadata"] == {}
        for name in ("memory", "user_id", "run_id"):
            assert record[name] == read[name], (name, record)
        if not record["id"].startswith("conversations/"):  # whose client is looked up where it is asked for
            assert record["agent_id"] == read["agent_id"]
        of_bot = not record["id"].startswith("knowledge/")
        assert read["agent_id"] == ("bot" if of_bot else None)


def test_the_same_text_of_two_agents_is_one_item_with_both_sources(
    memory: Memory, service: RunningService, ana: str
) -> None:
    made = []
    for agent in ("bot1", "bot2"):
        with Client(service.url, tenant_id="default", project_id=ana, agent_id=agent) as client:
            made.append(f"notes/note/{client.add_note(BOATS, scope='project_shared').note_id}")
    assert len({*made}) == 2  # each agent has its own
    (found,) = memory.search("boats", user_id=ana)["results"]
    assert {found["id"], *found["also"]} == {*made}
    (item,) = memory.recall("boats", user_id=ana).items
    assert {item.address, *(f"{one.family}/{one.kind}/{one.id}" for one in item.also)} == {*made}
    context = memory.context("boats", user_id=ana)
    (cited,) = context.citations
    assert {cited.id, *(one.id for one in cited.also)} == {one.rpartition("/")[2] for one in made}
    assert context.text.count(BOATS) == 1


def texts(results: list[dict[str, object]]) -> set[object]:
    return {one["memory"] for one in results}


@pytest.mark.parametrize("how", ["argument", "filters"])
def test_a_search_by_agent_finds_what_is_of_it_or_of_no_agent(memory: Memory, ana: str, how: str) -> None:
    def search(agent_id: str) -> set[object]:
        if how == "filters":
            return texts([*memory.search("boats", user_id=ana, filters={"agent_id": agent_id})["results"]])
        return texts([*memory.search("boats", user_id=ana, agent_id=agent_id)["results"]])

    def listed(agent_id: str) -> set[object]:
        return texts([*memory.get_all(user_id=ana, agent_id=agent_id)["results"]])

    memory.add(BOATS, user_id=ana, agent_id="bot2")
    assert search("bot1") == listed("bot1") == set()
    assert listed("bot2") == {f"Preference: {BOATS}", "User loves boats with red sails."}
    assert len(search("bot2")) == 1  # what says the same is folded
    memory.add("I bought a blue boat.", user_id=ana)
    shared = {"Fact: I bought a blue boat.", "User bought a blue boat."}
    assert listed("bot1") == shared
    (found,) = search("bot1")
    assert "blue boat" in str(found)
    memory.add(BOATS, user_id=ana, agent_id="bot1")
    assert [one for one in search("bot1") if "red sails" in str(one)]


def test_all_of_an_agent_goes_and_what_is_shared_stays(memory: Memory, ana: str) -> None:
    memory.add(BOATS, user_id=ana, agent_id="bot1")
    memory.add("I bought a blue boat.", user_id=ana)
    gone = memory.delete_all(user_id=ana, agent_id="bot1")
    assert gone["left"] == {}
    left = texts([*memory.get_all(user_id=ana)["results"]])
    assert left == {"Fact: I bought a blue boat.", "User bought a blue boat."}


@pytest.mark.parametrize("role", ["system", "developer", "tool", "function"])
def test_without_inference_what_is_not_the_users_is_not_kept(memory: Memory, ana: str, role: str) -> None:
    said = [{"role": role, "content": "You are a helpful bot."}, {"role": "user", "content": BOATS}]
    kept = memory.add(said, user_id=ana, infer=False)["results"]
    assert [(one["event"], one.get("reason")) for one in kept] == [
        ("REJECTED", "ROLE_NOT_KEPT"),
        ("ADD", None),
    ]
    assert texts([*memory.get_all(user_id=ana)["results"]]) == {BOATS}
    (none,) = memory.add(said[:1], user_id=ana, infer=False)["results"]
    assert none["event"] == "REJECTED"
    assert texts([*memory.get_all(user_id=ana)["results"]]) == {BOATS}
