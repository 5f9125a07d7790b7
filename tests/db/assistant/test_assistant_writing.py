"""What is written with each change of a memory: all of it, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import anyio
import numpy as np
import pytest

from tests.db.assistant.assistant_kit import AssistantHouse
from tests.notes_kit import Vector, at_cosine, unit

pytestmark = pytest.mark.anyio


def beside(cosine: float, axis: int) -> Vector:
    """A unit vector with this cosine to `unit(1.0)`, at right angles to those of other axes otherwise."""
    vector = np.zeros(384, np.float32)
    vector[0], vector[axis] = cosine, np.sqrt(1 - cosine * cosine)
    return vector


async def strengths(house: AssistantHouse) -> dict[tuple[str, str], float]:
    rows = await house.rows(
        "SELECT a.text AS one, b.text AS other, r.strength FROM assistant_relations AS r "
        "JOIN assistant_memories AS a ON a.memory_id = r.from_id JOIN assistant_memories AS b ON b.memory_id = r.to_id"
    )
    return {(row["one"], row["other"]): round(row["strength"], 4) for row in rows}


async def test_a_memory_is_linked_to_its_nearest_neighbours_and_to_nothing_that_is_far(
    house: AssistantHouse,
) -> None:
    cosines = {"A.": 0.9, "B.": 0.55001, "C.": 0.5499, "D.": 0.7, "E.": 0.8, "F.": 0.6, "G.": 0.58}
    for axis, (text, cosine) in enumerate(cosines.items(), start=1):
        house.model.known[text] = beside(cosine, axis)
        await house.add(text, user_id="ben")
        await house.rows("DELETE FROM assistant_relations")
        await house.add(text)
    await house.rows("DELETE FROM assistant_relations")
    house.model.known["New."] = unit(1.0)
    await house.add("New.")
    assert await strengths(house) == {
        ("New.", "A."): 0.9, ("New.", "E."): 0.8, ("New.", "D."): 0.7, ("New.", "F."): 0.6, ("New.", "G."): 0.58,
    }  # fmt: skip


async def test_a_pair_has_one_link_of_a_type_and_the_greater_strength_stays(house: AssistantHouse) -> None:
    house.model.known |= {
        "Old.": unit(1.0),
        "New.": at_cosine(0.7),
        "Newer.": at_cosine(0.9),
        "Off.": at_cosine(0.6),
    }
    await house.add("Old.")
    memory = await house.add("New.")
    for text in ("Newer.", "Off."):
        await house.patch(f"memories/{memory['id']}", text=text)
        assert list((await strengths(house)).values()) == [0.9]
    links = await house.rows("SELECT meta FROM assistant_history WHERE event = 'LINK'")
    assert len(links) == 1


async def test_what_is_done_step_by_step_is_linked_to_its_like_only(house: AssistantHouse) -> None:
    for text in ("A.", "B.", "C."):
        house.model.known[text] = unit(1.0)
    house.model.known["B.\n1. Boil"] = house.model.known["C.\n1. Boil"] = unit(1.0)
    await house.add("A.")
    await house.add("B.", type="procedural", steps_text="1. Boil")
    await house.add("C.", type="procedural", steps_text="1. Boil")
    assert list(await strengths(house)) == [("C.", "B.")]


async def test_without_the_model_a_memory_is_kept_and_gets_its_vector_later(house: AssistantHouse) -> None:
    house.model.known |= {"Old.": unit(1.0), "New.": at_cosine(0.8)}
    await house.add("Old.")
    house.model.away = True
    added = await house.post("memories", text="New.", category="preferences")
    assert (added["result"], added["reason_code"], added["degraded"]) == (
        "ADD", "SIMILARITY_UNCHECKED", ["embedding"],
    )  # fmt: skip
    assert len(await house.rows("SELECT FROM assistant_vectors")) == 1
    house.model.away = False
    await house.do_jobs()
    assert len(await house.rows("SELECT FROM assistant_vectors")) == 2
    assert await strengths(house) == {("New.", "Old."): 0.8}
    assert await house.rows("SELECT FROM assistant_outbox WHERE status <> 'DONE'") == []


async def test_a_memory_that_says_something_else_meanwhile_keeps_no_vector_of_what_it_said(
    house: AssistantHouse,
) -> None:
    house.model.away = True
    await house.add("Old.")
    house.model.away = False

    async def change() -> None:
        await house.rows("UPDATE assistant_memories SET text = 'New.'")

    house.model.before_answer = change
    await house.do_jobs()
    assert await house.rows("SELECT FROM assistant_vectors") == []
    assert await house.rows("SELECT FROM assistant_outbox WHERE status <> 'DONE'") == []


async def test_writers_at_once_raise_the_revision_by_exactly_their_changes(house: AssistantHouse) -> None:
    writers = 32
    ids: list[str] = []

    async def write(number: int) -> None:
        category = f"c{number % 4}"
        memory = await house.add(f"Fact {number}.", category, thread_id="t1")
        ids.append(memory["id"])
        await house.patch(f"memories/{memory['id']}", importance=5)
        if number % 2:
            await house.delete(f"memories/{memory['id']}")

    async with anyio.create_task_group() as group:
        for number in range(writers):
            group.start_soon(write, number)
    (thread,) = await house.rows("SELECT rev FROM assistant_threads")
    changes = 2 * writers + writers // 2
    assert thread["rev"] == changes
    rows = await house.rows("SELECT rev FROM assistant_changes ORDER BY rev")
    assert [row["rev"] for row in rows] == list(range(1, changes + 1))


async def test_writers_of_one_text_at_once_add_it_once(house: AssistantHouse) -> None:
    results = []

    async def write() -> None:
        results.append((await house.post("memories", text="User prefers tea.", category="c"))["result"])

    async with anyio.create_task_group() as group:
        for _ in range(16):
            group.start_soon(write)
    assert sorted(results) == ["ADD"] + ["NONE"] * 15


async def test_other_threads_that_were_seen_lately_are_told_too(house: AssistantHouse) -> None:
    await house.rows(
        "INSERT INTO assistant_threads (tenant_id, user_id, thread_id, seen_at) "
        "SELECT 'acme', 'ana', 't' || n, $1::timestamptz - n * interval '7 hours' FROM generate_series(1, 30) AS n",
        house.clock.now(),
    )
    await house.rows(
        "INSERT INTO assistant_threads (tenant_id, user_id, thread_id, seen_at) VALUES ('acme', 'ben', 't1', $1)",
        house.clock.now(),
    )
    await house.add(thread_id="own")
    await house.add("Without a thread.")
    rows = await house.rows("SELECT user_id, thread_id, rev FROM assistant_threads WHERE rev > 0")
    told = {row["thread_id"]: row["rev"] for row in rows if row["user_id"] == "ana"}
    assert told == {f"t{n}": 2 for n in range(1, 21)} | {"own": 1}
    assert len(rows) == len(told)


async def test_a_thread_keeps_its_newest_changes(house: AssistantHouse) -> None:
    memory = await house.add(thread_id="t1")
    for number in range(204):
        await house.patch(f"memories/{memory['id']}", importance=1 + number % 2)
    (row,) = await house.rows("SELECT min(rev) AS least, max(rev) AS most FROM assistant_changes")
    assert tuple(row) == (6, 205)


async def test_each_operation_is_an_event_to_be_counted(house: AssistantHouse) -> None:
    memory = await house.add(thread_id="t1")
    where = f"memories/{memory['id']}"
    await house.patch(where, importance=4)
    await house.delete(where)
    await house.post(f"{where}/restore")
    await house.delete(where, hard="true")
    rows = await house.rows("SELECT node, op, status, thread_id, category, reason FROM assistant_events")
    assert [tuple(row) for row in rows] == [
        ("hotpath", op, "ok", "t1", "preferences", reason)
        for op, reason in (
            ("create", None), ("update", None), ("delete", None), ("update", "restored"), ("delete", "purged"),
        )
    ]  # fmt: skip


async def test_a_change_that_fails_leaves_nothing(house: AssistantHouse) -> None:
    await house.rows(
        "ALTER TABLE assistant_events ADD CONSTRAINT no_more CHECK (category <> 'doomed') NOT VALID"
    )
    try:
        await house.post("memories", 500, text="User prefers tea.", category="doomed", thread_id="t1")
        for table in ("memories", "vectors", "threads", "changes", "history", "events"):
            assert await house.rows(f"SELECT FROM assistant_{table}") == [], table
    finally:
        await house.rows("ALTER TABLE assistant_events DROP CONSTRAINT no_more")


async def test_twenty_equal_writes_leave_one_edge(house: AssistantHouse) -> None:
    house.model.known |= {"Old.": unit(1.0), "New.": at_cosine(0.9), "Newer.": at_cosine(0.9)}
    await house.add("Old.")

    async def write() -> None:
        await house.post("memories", text="New.", category="preferences")

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(write)
    assert await strengths(house) == {("New.", "Old."): 0.9}
    (memory,) = [one for one in (await house.get("memories"))["items"] if one["text"] == "New."]
    for number in range(20):
        await house.patch(f"memories/{memory['id']}", text="Newer." if number % 2 == 0 else "New.")
    assert await strengths(house) == {("New.", "Old."): 0.9}
    assert len(await house.rows("SELECT FROM assistant_history WHERE event = 'LINK'")) == 1


@pytest.mark.parametrize("status", ["GIVEN_UP", "DISCARDED"])
@pytest.mark.parametrize("is_away", [True, False])
async def test_a_vector_that_was_given_up_is_made_only_when_the_memory_says_something_else(
    house: AssistantHouse, status: str, is_away: bool
) -> None:
    house.model.away = True
    memory = await house.add("Old.")
    await house.rows("UPDATE assistant_outbox SET status = $1", status)
    house.model.away = False
    await house.patch(f"memories/{memory['id']}", importance=5)
    await house.do_jobs()
    assert [row["status"] for row in await house.rows("SELECT status FROM assistant_outbox")] == [status]
    house.model.away = is_away
    await house.patch(f"memories/{memory['id']}", text="New.")
    jobs = [row["status"] for row in await house.rows("SELECT status FROM assistant_outbox")]
    assert jobs == (["PENDING"] if is_away else [])
    house.model.away = False
    await house.do_jobs()
    assert len(await house.rows("SELECT FROM assistant_vectors")) == 1


async def test_a_job_that_was_given_up_stays_for_as_long_as_its_memory_and_a_discarded_turn_for_a_day(
    house: AssistantHouse,
) -> None:
    house.model.away = True
    kept, gone = await house.add("Kept."), await house.add("Gone.")
    await house.rows(
        "INSERT INTO assistant_outbox (tenant_id, user_id, kind, subject_id)"
        " SELECT tenant_id, user_id, 'turn', gen_random_uuid() FROM assistant_memories"
    )
    await house.rows("UPDATE assistant_outbox SET status = 'GIVEN_UP'")
    await house.rows(
        "UPDATE assistant_outbox SET status = 'DISCARDED' WHERE outbox_id ="
        " (SELECT outbox_id FROM assistant_outbox WHERE kind = 'turn' LIMIT 1)"
    )
    await house.rows("DELETE FROM assistant_memories WHERE memory_id = $1", UUID(gone["id"]))
    (step,) = (step for step in house.opened.garbage if step.name == "done_assistant_jobs")
    in_two_days = datetime.now(UTC) + timedelta(days=2)  # jobs are given up by the clock of the database
    assert await step.collect(in_two_days, 9) == 2
    left = await house.rows("SELECT kind, status, subject_id FROM assistant_outbox ORDER BY kind")
    assert [(row["kind"], row["status"]) for row in left] == [("turn", "GIVEN_UP"), ("vector", "GIVEN_UP")]
    assert left[1]["subject_id"] == UUID(kept["id"])
