"""When two memories contradict each other, for how long, and by what a memory may be superseded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.db.graph.house import House, fact, link

pytestmark = pytest.mark.anyio
BLUE, GREEN = "My favourite colour is blue.", "My favourite colour is green."


def likes(memory_id: str, content: str) -> dict[str, Any]:
    return fact(memory_id, type="Preference", content=content)


async def contradictions(house: House) -> list[set[str]]:
    """Return the ends of what contradicts each other."""
    items = (await house.get("contradictions"))["items"]
    return [{one["edge"]["fromMemoryId"], one["edge"]["toMemoryId"]} for one in items]


async def flagged(house: House) -> set[str]:
    nodes = (await house.post("recall", query="favourite colour"))["nodes"]
    return {node["memory"]["memoryId"] for node in nodes if node["unresolvedContradiction"]}


async def test_memories_that_come_to_say_the_same_contradict_each_other_no_longer(house: House) -> None:
    await house.post("memories", memories=[likes("a", BLUE), likes("b", GREEN)])
    assert await contradictions(house) == [{"a", "b"}]
    await house.post("memories/b/update", content=BLUE)
    assert (await contradictions(house), await flagged(house)) == ([], set())
    again = await house.post("memories/b/update", content=GREEN)
    assert len(again["edges"]) == 1
    assert await contradictions(house) == [{"a", "b"}]


async def test_a_memory_that_comes_to_be_of_another_matter_contradicts_no_longer(house: House) -> None:
    await house.post("memories", memories=[likes("a", BLUE), likes("b", GREEN)])
    await house.post("memories/b/update", content="The office has nine rooms.")
    assert await contradictions(house) == []


async def test_a_contradiction_that_somebody_stated_ends_when_both_say_the_same(house: House) -> None:
    memories = [fact("a"), fact("b", content="The office is in Porto.")]
    await house.post("memories", memories=memories, edges=[link("a", "b", "Contradicts")])
    await house.post("memories/b/update", importance=60)
    assert await contradictions(house) == [{"a", "b"}]
    await house.post("memories/b/update", content=memories[0]["content"])
    assert await contradictions(house) == []


async def test_a_loser_that_is_restored_is_in_a_contradiction_again(house: House) -> None:
    written = await house.post("memories", memories=[likes("a", BLUE), likes("b", GREEN)])
    (edge,) = written["contradictions"]
    await house.post(f"contradictions/{edge['edgeId']}/resolve", keep="FROM", reason="so")
    assert await contradictions(house) == []
    loser = edge["toMemoryId"]
    restored = await house.post(f"memories/{loser}/restore")
    assert len(restored["edges"]) == 1
    assert await contradictions(house) == [{"a", "b"}]
    assert await flagged(house) == {"a", "b"}
    (edge,) = (await house.get("contradictions"))["items"]
    await house.post(f"contradictions/{edge['edge']['edgeId']}/resolve", retract="BOTH", reason="so")
    assert await contradictions(house) == []


async def test_what_somebody_states_again_of_a_restored_loser_is_a_contradiction_again(house: House) -> None:
    memories = [fact("a"), fact("b", content="The office is in Porto.")]
    stated = link("a", "b", "Contradicts", edgeId="e1")
    await house.post("memories", memories=memories, edges=[stated])
    await house.post("contradictions/e1/resolve", keep="FROM", reason="so")
    await house.post("memories/b/restore")
    assert await contradictions(house) == []
    assert (await house.post("edges", edges=[stated]))["edges"] == [{"edgeId": "e1", "outcome": "UPDATE"}]
    assert await contradictions(house) == [{"a", "b"}]


async def test_what_is_both_true_stays_so_until_one_says_something_else(house: House) -> None:
    written = await house.post("memories", memories=[likes("a", BLUE), likes("b", GREEN)])
    (edge,) = written["contradictions"]
    await house.post(f"contradictions/{edge['edgeId']}/resolve", both_true=True, reason="two rooms")
    house.clock.turn(minutes=1)
    await house.post("memories/b/update", importance=70)
    assert await contradictions(house) == []
    await house.post("memories/b/update", content="My favourite colour is red.")
    assert await contradictions(house) == [{"a", "b"}]


@pytest.mark.parametrize("how", ["retract", "supersede"])
async def test_only_an_active_memory_supersedes_another_one(house: House, how: str) -> None:
    await house.post("memories", memories=[fact("a"), fact("b"), fact("c")])
    body = {} if how == "retract" else {"by_memory_id": "c"}
    await house.post(f"memories/b/{how}", **body)
    refused = await house.post("memories/a/supersede", 409, by_memory_id="b")
    assert (refused["error_code"], refused["fields"]) == ("CONFLICT", ["$.by_memory_id"])
    assert f"b is {how}" in refused["message"]
    new = await house.post("memories/a/supersede", 409, memory={**fact("d"), "status": "retracted"})
    assert new["fields"] == ["$.memory.status"]
    await house.get("memories/d", 404)
    assert (await house.get("memories/a"))["memory"]["status"] == "active"


async def test_memories_do_not_supersede_each_other_in_a_circle(house: House) -> None:
    await house.post("memories", memories=[fact("a"), fact("b"), fact("c")])
    await house.post("memories/a/supersede", by_memory_id="b")
    await house.post("memories/b/supersede", by_memory_id="c")
    refused = await house.post("memories/c/supersede", 409, by_memory_id="a")
    assert refused["message"] == ("$.by_memory_id: a is superseded by c itself, and neither would be active")
    assert [node["memory"]["memoryId"] for node in (await house.post("recall", query="office"))["nodes"]] == [
        "c"
    ]
