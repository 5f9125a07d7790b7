"""What is counted for who runs the service: memories, undecided proposals, and what was done within an hour."""

from __future__ import annotations

from typing import Any

import pytest

from tests.db.assistant.assistant_kit import AssistantHouse

pytestmark = pytest.mark.anyio


async def counted(house: AssistantHouse, name: str) -> Any:
    (gauge,) = [one for one in house.opened.stored_gauges if one.name == name]
    return await gauge.read()


async def test_memories_proposals_and_events_are_counted_and_nobody_named(house: AssistantHouse) -> None:
    await house.add("User wants to sail.", "goals")
    house.clock.turn(hours=2)
    gone = await house.add("User wants to ski.", "goals", user_id="bob")
    await house.delete(f"memories/{gone['id']}", user_id="bob")
    await house.post(
        "turn", thread_id="t", turn_id="1", messages=[{"role": "user", "content": "I live in Lisbon."}]
    )
    asked = {"agent": "supervisor", "query": "boats", "thread_id": "t"}
    await house.post("memory/query", user_id=None, filters={"user_id": "ana"}, **asked)
    await house.post("memory/query", user_id=None, filters={"user_id": "ana"}, **asked, reason="recall")
    memories = await counted(house, "elf_assistant_memories")
    assert {labels: count for labels, count in memories.items() if count} == {
        ("semantic", "active"): 2,
        ("semantic", "soft_deleted"): 1,
    }
    assert ("insight", "soft_deleted") in memories
    assert await counted(house, "elf_assistant_proposals_pending") == {(): 1}
    assert await counted(house, "elf_assistant_recalls") == {(): 1}
    events = await counted(house, "elf_assistant_events")
    done = {labels: count for labels, count in events.items() if count and labels[1] != "classify"}
    assert done == {
        ("hotpath", "create", "ok"): 2,
        ("hotpath", "delete", "ok"): 1,
        ("hotpath", "search", "ok"): 1,
        ("context", "search", "ok"): 2,
    }


async def test_a_proposal_whose_time_is_over_waits_for_nobody(house: AssistantHouse) -> None:
    await house.post(
        "turn", thread_id="t", turn_id="1", messages=[{"role": "user", "content": "I live in Lisbon."}]
    )
    house.clock.turn(days=8)
    assert await counted(house, "elf_assistant_proposals_pending") == {(): 0}
