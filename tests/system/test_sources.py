"""A statement that is made in several conversations is kept once, and for as long as one of them is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from elf import Memory
from elf.client import Client, NotFound
from tests.system.service import RunningService

TEA = "I prefer green tea to coffee."
NAME = "My name is Ana."
BOTH = {f"Preference: {TEA}", "User prefers green tea to coffee."}


@pytest.fixture
def memory(service: RunningService) -> Iterator[Memory]:
    with Memory(service.url) as memory:
        yield memory


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


def listed(memory: Memory, user: str, run: str | None = None) -> dict[str, dict[str, object]]:
    return {one["memory"]: {**one} for one in memory.get_all(user_id=user, run_id=run)["results"]}


def test_what_is_said_in_two_runs_is_of_both(memory: Memory, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1")
    before = listed(memory, ana)
    told = memory.remember(TEA, user_id=ana, conversation="r2")
    ops = {one.family: [item.op for item in one.written] for one in told.families}
    assert ops == {"conversations": ["ADD"], "notes": ["NONE"], "assistant": ["NONE"]}
    assert listed(memory, ana) == before  # its text, and when it was changed
    for run in ("r1", "r2"):
        assert listed(memory, ana, run).keys() == BOTH
        assert {one["run_id"] for one in listed(memory, ana, run).values()} == {run}
        assert memory.search("Which hot drink?", user_id=ana, run_id=run)["results"]
    assert listed(memory, ana, "r3") == {}
    for record in before.values():
        family, kind, id = str(record["id"]).split("/")
        item = memory.client.memories.item(family, kind, id, user_id=ana)
        assert {"thread:r1", "thread:r2"} <= {*item.provenance}


@pytest.mark.parametrize(("first", "second"), [("r1", "r2"), ("r2", "r1")])
def test_it_is_kept_as_long_as_one_run_is_there(memory: Memory, ana: str, first: str, second: str) -> None:
    for run in ("r1", "r2"):
        memory.remember([TEA, NAME], user_id=ana, conversation=run)
    kept = listed(memory, ana).keys()
    assert kept > BOTH
    assert memory.delete_all(user_id=ana, run_id=first)["left"] == {}
    assert listed(memory, ana).keys() == listed(memory, ana, second).keys() == kept
    assert listed(memory, ana, first) == {}
    assert {one["run_id"] for one in listed(memory, ana).values()} == {second}
    assert "green tea" in str(memory.search("Which hot drink?", user_id=ana)["results"])
    assert memory.delete_all(user_id=ana, run_id=second)["left"] == {}
    assert listed(memory, ana) == {}


def test_what_is_known_by_key_gains_a_source_too(memory: Memory, ana: str) -> None:
    memory.remember(NAME, user_id=ana, conversation="r1")
    before = listed(memory, ana)
    told = memory.remember(NAME, user_id=ana, conversation="r2")
    assert {item.op for one in told.families if one.family == "notes" for item in one.written} == {"NONE"}
    assert listed(memory, ana) == before


def test_what_was_said_before_a_value_changed_is_of_the_new_value_alone(memory: Memory, ana: str) -> None:
    for run, place in (("r1", "Oslo"), ("r2", "Oslo"), ("r3", "Bergen")):
        memory.remember(f"I live in {place}.", user_id=ana, conversation=run)
    assert "Profile: I live in Bergen." in listed(memory, ana, "r3")
    assert not [
        text for run in ("r1", "r2") for text in listed(memory, ana, run) if text.startswith("Profile")
    ]


def test_add_event_is_a_source_without_a_run(memory: Memory, service: RunningService, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1", agent_id="bot")
    with Client(service.url, tenant_id="default", project_id=ana, agent_id="bot") as client:
        event = client.add_event([{"role": "user", "content": TEA}], scope="project_shared")
    assert [one.op for one in event.results] == ["NONE"]
    memory.delete_all(user_id=ana, run_id="r1")
    assert listed(memory, ana).keys() == {f"Preference: {TEA}"}


def test_a_note_that_is_added_is_no_source(memory: Memory, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1")
    memory.add(f"Preference: {TEA}", user_id=ana, run_id="r2", infer=False)
    assert f"Preference: {TEA}" in listed(memory, ana, "r1")


def test_one_item_goes_wherever_it_was_said(memory: Memory, ana: str) -> None:
    for run in ("r1", "r2"):
        memory.remember(TEA, user_id=ana, conversation=run)
    for record in listed(memory, ana).values():
        memory.delete(str(record["id"]), user_id=ana)
    assert listed(memory, ana) == {}


def test_an_item_is_not_forgotten_in_a_conversation_that_it_is_not_of(memory: Memory, ana: str) -> None:
    memory.remember(TEA, user_id=ana, conversation="r1")
    addresses = [str(one["id"]) for one in listed(memory, ana).values()]
    gone = memory.client.memories.forget(addresses, user_id=ana, conversation="r2")
    assert {one.outcome for one in gone.items} == {"not_found"}
    assert listed(memory, ana).keys() == BOTH
    gone = memory.client.memories.forget(addresses, user_id=ana, conversation="r1")
    assert {one.outcome for one in gone.items} == {"forgotten"}
    for address in addresses:
        with pytest.raises(NotFound):
            memory.delete(address, user_id=ana)


def test_sources_are_taken_along(memory: Memory, service: RunningService, ana: str) -> None:
    """What two runs said is kept after an import, as long as one of them is there."""
    for run in ("r1", "r2", "r3"):
        memory.remember([TEA, NAME], user_id=ana, conversation=run)
    before = {run: listed(memory, ana, run).keys() for run in ("r1", "r2", "r3")}
    assert before["r1"] == before["r2"] == before["r3"] > BOTH
    told = service.admin.get("/v1/admin/export", params={"tenant_id": "default", "user_id": ana}).text
    lines = [
        json.loads(line.removeprefix("data: ")) for line in told.splitlines() if line.startswith("data: ")
    ]
    erased = service.admin.post("/v1/admin/erase", json={"tenant_id": "default", "user_id": ana})
    assert erased.status_code == 200, erased.text
    assert listed(memory, ana) == {}
    for new in (len(lines), 0):
        body = {"tenant_id": "default", "items": lines}
        answer = service.admin.post("/v1/admin/import", json=body)
        assert answer.json() == {"new": new, "known": len(lines) - new}
    assert {run: listed(memory, ana, run).keys() for run in before} == before
    memory.delete_all(user_id=ana, run_id="r1")
    memory.delete_all(user_id=ana, run_id="r2")
    assert listed(memory, ana).keys() == listed(memory, ana, "r3").keys() == before["r3"]
    memory.delete_all(user_id=ana, run_id="r3")
    assert listed(memory, ana) == {}
