"""After a random day of all operations the history, replayed, gives exactly what is stored."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.db.assistant.assistant_kit import USER, AssistantHouse
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio

STEPS: Final = 120
CATEGORIES: Final = ("goals", "preferences", "event")
SAID: Final = (
    "I prefer {} tea.", "I live in {}.", "Please call me {}.", "I want to visit {} this year.", "I own {} boats.",
)  # fmt: skip
WORDS: Final = ("Lisbon", "Porto", "Faro", "Braga", "Evora", "Tomar")
OTHER_WORDS: Final = ("User isn't fond of jazz.", "User is not fond of jazz.")
KEPT: Final = (
    "id", "type", "category", "text", "steps_text", "tags", "importance", "pinned", "state", "evidence", "created_at",
    "updated_at",
)  # fmt: skip


async def a_day(house: AssistantHouse, rng: random.Random) -> None:
    """Do what users, agents and the service do, each at a moment of its own; two memories become one."""
    house.model.known |= {OTHER_WORDS[0]: unit(1.0), OTHER_WORDS[1]: at_cosine(0.95)}
    await house.add(OTHER_WORDS[0])
    said = [{"role": "user", "content": "I am not fond of jazz."}]
    merged = await house.post("turn", thread_id="t", turn_id="merge", messages=said)
    assert [one["result"] for one in merged["results"]] == ["RECREATE"]
    for step in range(STEPS):
        house.clock.turn(minutes=12)
        known = [one["id"] for one in await stored(house)]
        what = rng.choice(
            ("add", "add", "turn", "turn", "update", "pin", "delete", "purge", "restore", "procedure")
        )
        word = f"{rng.choice(WORDS)}{rng.choice(WORDS).lower()}"
        if what == "add" or not known:
            text = f"User has seen {word} {step % 7} times."
            category, importance = rng.choice(CATEGORIES), rng.randint(1, 5)
            await house.add(text, category, importance=importance, tags=[word], thread_id="t")
        elif what == "turn":
            said = [{"role": "user", "content": rng.choice(SAID).format(rng.choice(WORDS))}]
            await house.post("turn", thread_id="t", turn_id=str(step), messages=said)
        elif what == "procedure":
            await house.post("procedures", steps=[f"Open {word}.", "Close it."])
        else:
            await change(house, rng, what, rng.choice(known), word)
    for proposal in (await house.get("proposals", state="pending"))["items"]:
        await house.post(f"proposals/{proposal['proposal_id']}/decision", decision="approve")
    await house.do_jobs()


async def change(house: AssistantHouse, rng: random.Random, what: str, memory_id: str, word: str) -> None:
    """Do something to a memory; one that is deleted is restored first where it has to be."""
    path = f"memories/{memory_id}"
    if what in ("update", "pin"):
        await house.post(f"{path}/restore")
    if what == "update":
        await house.patch(path, text=f"User has seen {word}.", category=rng.choice(CATEGORIES))
    elif what == "pin":
        await house.post(f"{path}/pin", pinned=rng.random() < 0.5)
    elif what == "restore":
        await house.post(f"{path}/restore")
    else:
        await house.delete(path, hard=str(what == "purge").lower())


async def stored(house: AssistantHouse) -> list[Mapping[str, Any]]:
    found = []
    for state in ("active", "soft_deleted"):
        found += (await house.get("memories", state=state, limit=200))["items"]
    return found


async def history(house: AssistantHouse) -> list[Mapping[str, Any]]:
    """All of it, oldest first, by small pages."""
    rows: list[Mapping[str, Any]] = []
    cursor = None
    while True:
        page = await house.get("history", limit=17, cursor=cursor)
        rows += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return rows[::-1]


def replayed(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """What there is after all changes: each row puts what was there before out, and what is there then in."""
    there: dict[str, Any] = {}
    for row in rows:
        before, after = row["old_ref"], row["new_ref"]
        if row["event"] == "MERGE":
            # One of a pair is told of the new memory, the other of the one that went out of sight.
            if row["memory_id"] == after["id"]:
                there[after["id"]] = after
            else:
                there[row["memory_id"]] = there[row["memory_id"]] | {"state": "soft_deleted"}
        elif after is not None:
            assert row["event"] == "ADD" or before["id"] == after["id"]
            there[after["id"]] = after
        elif row["meta"].get("purged"):
            there.pop(row["memory_id"])
    return there


@pytest.mark.parametrize("seed", [1, 2])
async def test_history_replayed_gives_exactly_the_stored_state(house: AssistantHouse, seed: int) -> None:
    await a_day(house, random.Random(seed))
    rows = await history(house)
    assert len({row["id"] for row in rows}) == len(rows) > STEPS / 2
    assert {row["event"] for row in rows} >= {"ADD", "UPDATE", "DELETE", "RESTORE", "MERGE"}
    there = replayed(rows)
    now = {one["id"]: one for one in await stored(house)}
    assert there.keys() == now.keys()
    for memory_id, one in now.items():
        told = {name: there[memory_id][name] for name in KEPT}
        said = {name: one[name] for name in KEPT}
        if (
            one["state"] == "soft_deleted"
        ):  # when it went is what the merge says, not the memory that took its place
            told.pop("updated_at"), said.pop("updated_at")
        assert told == said, memory_id
    await _purged_has_no_words(house, rows, now)
    for memory_id in [*now][:5]:
        own = (await house.get(f"memories/{memory_id}/history", limit=200))["items"]
        assert own[::-1] == [row for row in rows if row["memory_id"] == memory_id]


async def _purged_has_no_words(
    house: AssistantHouse, rows: list[Mapping[str, Any]], now: Mapping[str, Any]
) -> None:
    gone = {row["memory_id"] for row in rows if row["meta"].get("purged")} - now.keys()
    assert gone
    for row in rows:
        for ref in (row["old_ref"], row["new_ref"]):
            assert ref is None or ref["id"] not in gone or (ref["text"], ref["tags"]) == ("", [])
    assert {one["user_id"] for one in now.values()} == {USER}
