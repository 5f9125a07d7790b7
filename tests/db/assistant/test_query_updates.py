"""What a thread is told of changes when one of its agents asks."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.db.assistant.assistant_kit import AssistantHouse
from tests.db.assistant.query_kit import ask
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio


async def _updates(house: AssistantHouse, thread_id: str = "t1", **body: Any) -> Any:
    return (await ask(house, thread_id=thread_id, **body))["delta"]


async def test_a_thread_is_told_of_its_changes_once(house: AssistantHouse) -> None:
    await house.add("Ship version one.", "goals", thread_id="t1", importance=4)
    assert await _updates(house) == {
        "since_rev": 0, "rev": 1, "total": 1,
        "text": "Memory updates since rev 0:\n- +created: [goals] Ship version one. (imp=4)",
    }  # fmt: skip
    assert await _updates(house) == {"since_rev": 1, "rev": 1, "total": 0, "text": ""}


async def test_it_is_told_again_of_changes_since_a_revision_that_is_named(house: AssistantHouse) -> None:
    for number in range(5):
        await house.add(f"Task {number}.", "tasks", thread_id="t1")
    await _updates(house)
    told = await _updates(house, since_rev=1)
    assert (told["since_rev"], told["rev"], told["total"]) == (1, 5, 4)
    assert told["text"].splitlines() == [
        "Memory updates since rev 1:",
        *(f"- +created: [tasks] Task {number}. (imp=2)" for number in (4, 3, 2)),
    ]
    assert (await _updates(house))["total"] == 0


async def test_a_thread_that_was_seen_is_told_of_what_is_done_in_another(house: AssistantHouse) -> None:
    assert (await _updates(house, "t2"))["rev"] == 0
    await house.add("Ship version one.", "goals", thread_id="t1")
    assert (await _updates(house, "t2"))["total"] == 1
    assert (await _updates(house, "t3"))["total"] == 0


async def test_each_agent_is_told_once_of_what_it_may_read(house: AssistantHouse) -> None:
    await house.add("Ship version one.", "goals", thread_id="t1")
    await house.add("Name is Ana.", "profile", thread_id="t1")
    await house.add("Write the notes.", "tasks", thread_id="t1")
    told = await _updates(house)
    assert (told["total"], "Ana" in told["text"]) == (2, False)
    told = await _updates(house, agent="supervisor")
    assert told["text"].splitlines()[1:] == [
        "- +created: [tasks] Write the notes. (imp=2)", "- +created: [profile] Name is Ana. (imp=2)",
        "- +created: [goals] Ship version one. (imp=2)",
    ]  # fmt: skip
    for agent in ("planner", "supervisor"):
        assert await _updates(house, agent=agent) == {"since_rev": 3, "rev": 3, "total": 0, "text": ""}


async def test_what_an_agent_may_not_read_does_not_hold_up_the_others(house: AssistantHouse) -> None:
    await house.add("Name is Ana.", "profile", thread_id="t1")
    for number in range(3):
        await house.add(f"Task {number}.", "tasks", thread_id="t1")
        assert (await _updates(house))["text"].splitlines() == [
            f"Memory updates since rev {0 if number == 0 else number + 1}:",
            f"- +created: [tasks] Task {number}. (imp=2)",
        ]
        assert (await _updates(house))["text"] == ""
    assert (await _updates(house, agent="supervisor"))["total"] == 4


async def test_a_merge_is_told_to_whom_may_read_it(house: AssistantHouse) -> None:
    house.model.known |= {
        "User is not fond of jazz.": unit(1.0), "User isn't fond of jazz.": at_cosine(0.95),
    }  # fmt: skip
    await house.add("User isn't fond of jazz.", thread_id="t1")
    await _updates(house, agent="supervisor")
    said = [{"role": "user", "content": "I am not fond of jazz."}]
    (result,) = (await house.post("turn", thread_id="t1", turn_id="1", messages=said))["results"]
    assert result["result"] == "RECREATE"
    assert (await _updates(house, agent="planner"))["text"] == ""
    assert await _updates(house, agent="supervisor") == {
        "since_rev": 1, "rev": 3, "total": 1,
        "text": "Memory updates since rev 1:\n- ↔merged: Combined 2 notes: User is not fond of jazz.",
    }  # fmt: skip


async def test_a_memory_that_moves_is_told_to_whom_may_read_it_where_it_is(house: AssistantHouse) -> None:
    memory = await house.add("Ship version one.", "profile", thread_id="t1")
    await house.patch(f"memories/{memory['id']}", category="tasks")
    assert (await _updates(house))["text"].splitlines()[1:] == [
        "- +created: [tasks] Ship version one. (imp=2)"
    ]
    await house.patch(f"memories/{memory['id']}", category="profile")
    assert (await _updates(house))["text"] == ""
    assert (await _updates(house, agent="supervisor"))["text"].splitlines()[1:] == [
        "- +created: [profile] Ship version one. (imp=2)"
    ]


async def test_updates_lead_within_the_budget_and_wait_when_no_line_fits(house: AssistantHouse) -> None:
    for text in ("Ship " + "very " * 10 + "soon.", "Write."):
        await house.add(text, "tasks", thread_id="t1")
    answer = await ask(house, thread_id="t1", budget_tokens=16)
    assert answer["delta"]["text"].splitlines()[1:] == ["- +created: [tasks] Write. (imp=2)"]
    assert answer["tokens"]["used"] == 11  # nine between blanks, and an item of two
    await house.add("Ship " + "ever so " * 10 + "soon.", "tasks", thread_id="t1")
    told = await _updates(house, budget_tokens=16)
    assert (told["total"], told["text"]) == (1, "")
    assert "ever so" in (await _updates(house))["text"]


async def test_two_that_ask_at_once_are_told_once(house: AssistantHouse) -> None:
    await house.add("Ship version one.", "goals", thread_id="t1")
    totals: list[int] = []

    async def one() -> None:
        totals.append((await _updates(house))["total"])

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(one)
    assert sorted(totals) == [0, 0, 0, 0, 0, 1]


async def test_without_a_thread_nothing_is_told(house: AssistantHouse) -> None:
    await house.add("Ship version one.", "goals", thread_id="t1")
    assert (await ask(house))["delta"] is None


@pytest.mark.parametrize(("changes", "bullets"), [(0, 0), (1, 1), (3, 3), (40, 3)])
async def test_so_many_changes_are_a_header_of_three_lines_at_most_and_are_told_once(
    house: AssistantHouse, changes: int, bullets: int
) -> None:
    for number in range(changes):
        await house.add(f"Task {number}.", "tasks", thread_id="t1", importance=1 + number % 5)
    told = await _updates(house)
    newest = [changes - 1 - place for place in range(bullets)]
    lines = [f"- +created: [tasks] Task {number}. (imp={1 + number % 5})" for number in newest]
    text = "\n".join(["Memory updates since rev 0:", *lines]) if lines else ""
    assert told == {"since_rev": 0, "rev": changes, "total": changes, "text": text}
    assert await _updates(house) == {"since_rev": changes, "rev": changes, "total": 0, "text": ""}


async def test_what_many_write_in_a_thread_at_once_is_told_whole_and_once(house: AssistantHouse) -> None:
    async def write(number: int) -> None:
        memory = await house.add(f"Task {number}.", f"tasks{number % 3}", thread_id="t1")
        await house.patch(f"memories/{memory['id']}", category="tasks")

    async with anyio.create_task_group() as group:
        for number in range(32):
            group.start_soon(write, number)
    told = await _updates(house)
    assert (told["rev"], told["total"], len(told["text"].splitlines())) == (64, 32, 4)
    assert (await _updates(house))["total"] == 0
    rows = await house.rows("SELECT memory_id, event, rev FROM assistant_changes ORDER BY rev")
    assert [row["rev"] for row in rows] == list(range(1, 65))
    assert len({(row["memory_id"], row["event"]) for row in rows}) == 64


async def test_the_header_tells_of_steps_only_where_the_query_names_them(house: AssistantHouse) -> None:
    await house.post("procedures", steps=["Build the wheel."], thread_id="t1")
    assert (await _updates(house, agent="executor"))["text"] == ""
    await house.post("procedures", steps=["Upload the wheel."], thread_id="t1")
    told = await _updates(house, agent="executor", categories=["procedural"])
    assert told["text"].splitlines()[1:] == ["- +created: [procedural] Upload the wheel. (imp=2)"]
