"""Memories that nobody needs age, and go: as the garbage collection of a process has it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from elf.db.garbage import GarbageCollector
from elf.outbox.chores import NO_SUBJECT, Due
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse
from tests.db.assistant.query_kit import ask
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio


async def _collect(house: AssistantHouse, *, batch: int = 10) -> dict[str, int]:
    collector = GarbageCollector(house.database, house.opened.garbage, clock=house.clock, batch_size=batch)
    collected = await collector.collect()
    assert (collected.ran, collected.failed) == (True, {})
    return {name: count for name, count in collected.counts.items() if count and name != "assistant_events"}


async def _history(house: AssistantHouse, memory_id: str) -> list[Any]:
    return await house.rows(
        "SELECT event, actor, old_ref, new_ref, meta FROM assistant_history WHERE memory_id = $1 ORDER BY seq",
        memory_id,
    )


async def _state(house: AssistantHouse, memory: Any) -> str:
    state: str = (await house.get(f"memories/{memory['id']}"))["state"]
    return state


async def test_what_nobody_was_given_for_sixty_days_is_out_of_sight(house: AssistantHouse) -> None:
    aged = await house.add("Desk is by the window.", "tasks", importance=2)
    kept = [
        await house.add("Passport runs out in June.", "tasks", importance=3),
        await house.add("Locker is number nine.", "tasks", importance=1, pinned=True),
    ]
    house.clock.turn(days=60)
    assert await _collect(house) == {}
    house.clock.turn(seconds=1)
    assert await _collect(house) == {"aged_assistant_memories": 1}
    gone = await house.get(f"memories/{aged['id']}")
    assert gone["state"] == "soft_deleted"
    assert datetime.fromisoformat(gone["purge_at"]) == house.clock.now() + timedelta(days=30)
    assert [await _state(house, memory) for memory in kept] == ["active", "active"]
    assert [row["event"] for row in await _history(house, aged["id"])] == ["ADD", "TTL"]
    assert (await _history(house, aged["id"]))[-1]["actor"] == "worker"
    assert len((await ask(house, top_k=10))["items"]) == 2


async def test_what_was_given_ages_anew(house: AssistantHouse) -> None:
    memory = await house.add("Desk is by the window.", "tasks")
    house.clock.turn(days=59)
    await ask(house)
    await house.settle_hits()
    house.clock.turn(days=59)
    assert await _collect(house) == {}
    house.clock.turn(days=2)
    assert await _collect(house) == {"aged_assistant_memories": 1}
    assert await _state(house, memory) == "soft_deleted"


async def test_a_thread_is_told_once_of_what_has_aged(house: AssistantHouse) -> None:
    await house.add("Desk is by the window.", "tasks", thread_id="t1")
    house.clock.turn(days=55)
    await ask(house, thread_id="t2", query="nothing", categories=["goals"])
    house.clock.turn(days=6)
    await _collect(house)
    told = (await ask(house, thread_id="t2"))["delta"]
    assert told["text"].splitlines()[1:] == ["- ~soft_deleted: [tasks] Desk is by the window."]
    assert (await ask(house, thread_id="t2"))["delta"]["total"] == 0


async def test_what_is_restored_stays_and_what_is_not_goes_with_all_its_words(house: AssistantHouse) -> None:
    restored = await house.add("Desk is by the window.", "tasks", thread_id="t1")
    gone = await house.add(
        "Chair is by the door.", "tasks", thread_id="t1", evidence=[{"quote": "the chair"}]
    )
    house.clock.turn(days=61)
    assert await _collect(house) == {"aged_assistant_memories": 2}
    await house.post(f"memories/{restored['id']}/restore")
    house.clock.turn(days=29, hours=23)
    assert await _collect(house) == {}
    house.clock.turn(hours=1)
    assert await _collect(house) == {"deleted_assistant_memories": 1}
    assert await _state(house, restored) == "active"
    await house.get(f"memories/{gone['id']}", 404)
    rows = await _history(house, gone["id"])
    assert [row["event"] for row in rows] == ["ADD", "TTL", "DELETE"]
    assert rows[-1]["meta"] == {"purged": True}
    left = [
        *await house.rows("SELECT old_ref, new_ref FROM assistant_history"),
        *await house.rows("SELECT meta FROM assistant_changes"),
    ]
    assert "hair" not in str([dict(row) for row in left])


async def test_many_of_many_users_age_batch_by_batch(house: AssistantHouse) -> None:
    for number in range(25):
        await house.add(f"Note {number}.", f"c{number % 3}", user_id=f"user {number % 4}")
    house.clock.turn(days=61)
    assert await _collect(house, batch=7) == {"aged_assistant_memories": 25}
    assert await house.rows("SELECT FROM assistant_memories WHERE state = 'active'") == []


async def test_events_are_kept_for_ninety_days(house: AssistantHouse) -> None:
    await house.add("Desk is by the window.", "tasks", pinned=True)
    house.clock.turn(days=90)
    await _collect(house)
    assert len(await house.rows("SELECT FROM assistant_events")) == 1
    house.clock.turn(seconds=1)
    await _collect(house)
    assert await house.rows("SELECT FROM assistant_events") == []


async def test_it_is_done_each_hour_batch_by_batch(house: AssistantHouse) -> None:
    for number in range(5):
        await house.add(f"Note {number}.", "tasks")
    house.clock.turn(days=61)
    (chore,) = (one for one in house.opened.chores if one.name == "memory_lifecycle")
    now = house.clock.now()
    assert now - chore.when(now) < timedelta(hours=1)
    assert chore.when(now + timedelta(hours=1)) == chore.when(now) + timedelta(hours=1)
    await chore.run(Due(NO_SUBJECT, now, 1))
    assert await house.rows("SELECT FROM assistant_memories WHERE state = 'active'") == []
    house.clock.turn(days=30)
    await chore.run(Due(NO_SUBJECT, house.clock.now(), 1))
    assert await house.rows("SELECT FROM assistant_memories") == []


async def test_what_was_edited_repeated_or_imported_ages_anew(house: AssistantHouse) -> None:
    edited = await house.add("Desk is by the window.", "tasks")
    said = [{"role": "user", "content": "I prefer green tea."}]
    await house.post("turn", thread_id="t", turn_id="1", messages=said)
    house.clock.turn(days=59)
    await house.patch(f"memories/{edited['id']}", text="Desk is by the door.")
    await house.post("turn", thread_id="t", turn_id="2", messages=said)
    line = {
        "id": "00000000-0000-4000-8000-000000000009", "type": "semantic", "category": "goals", "importance": 2,
        "text": "User wants to sail.", "pinned": False, "state": "active", "source": "turn",
        "created_at": "2020-01-02T03:04:05Z", "updated_at": "2020-01-02T03:04:05Z",
    }  # fmt: skip
    answer = await house.client.post(
        "/v1/admin/assistant/import", json={"tenant_id": TENANT, "items": [{"user_id": USER, "memory": line}]}
    )
    assert answer.json()["new"] == 1
    for days, aged in ((2, 0), (57, 0), (2, 3)):
        house.clock.turn(days=days)
        assert (await _collect(house)).get("aged_assistant_memories", 0) == aged
    memory = await house.get(f"memories/{line['id']}")
    assert memory["created_at"] == "2020-01-02T03:04:05Z"


async def test_a_hard_delete_leaves_no_words_of_what_was_merged_or_proposed(house: AssistantHouse) -> None:
    house.model.known |= {
        "User is not fond of Zanzibar.": unit(1.0), "User isn't fond of Zanzibar.": at_cosine(0.95),
    }  # fmt: skip
    await house.add("User isn't fond of Zanzibar.", evidence=[{"quote": "Zanzibar, no."}])
    said = [{"role": "user", "content": "I am not fond of Zanzibar."}]
    (result,) = (await house.post("turn", thread_id="t", turn_id="1", messages=said))["results"]
    assert result["result"] == "RECREATE"
    said = [{"role": "user", "content": "I live in Zanzibar City."}]
    results = (await house.post("turn", thread_id="t", turn_id="7", messages=said))["results"]
    assert [one["result"] for one in results] == ["ADD", "PROPOSED"]
    for memory_id in (result["memory_id"], results[0]["memory_id"]):
        await house.delete(f"memories/{memory_id}", hard=True)
    tables = (
        "memories", "history", "changes", "proposals", "signals", "recent", "turns", "outbox", "relations", "events",
    )  # fmt: skip
    for table in tables:
        rows = await house.rows(f"SELECT x::text AS row FROM assistant_{table} AS x")
        assert not [row["row"] for row in rows if "anzibar" in row["row"]], table
