"""Turns of a conversation, as an agent that tells of them meets it: over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio


async def say(
    house: AssistantHouse, text: str, turn: str = "1", thread: str = "t1", status: int = 200, **other: Any
) -> Any:
    """Take in a turn in which the user says something."""
    messages = [{"role": "user", "content": text}]
    return await house.post("turn", status, thread_id=thread, turn_id=turn, messages=messages, **other)


async def only(house: AssistantHouse, text: str, turn: str = "1", **other: Any) -> dict[str, Any]:
    """Return what became of the one thing that a turn tells, beside what is proposed."""
    results = (await say(house, text, turn, **other))["results"]
    (result,) = [one for one in results if one["result"] != "PROPOSED"]
    return dict(result)


async def texts(house: AssistantHouse, **filters: Any) -> list[str]:
    return sorted(item["text"] for item in (await house.get("memories", **filters))["items"])


async def test_what_a_user_says_is_kept_with_the_words_that_prove_it(house: AssistantHouse) -> None:
    taken = await say(house, "Hi there! I prefer green tea.", agent_id="planner", run_id="r1")
    (result,) = taken["results"]
    assert (result["result"], result["category"], result["text"]) == (
        "ADD", "preferences", "User prefers green tea.",
    )  # fmt: skip
    memory = await house.get(f"memories/{result['memory_id']}")
    assert memory["evidence"] == [{"quote": "I prefer green tea.", "role": "user", "turn_id": "1"}]
    assert (memory["source"], memory["thread_id"], memory["agent_id"], memory["run_id"], memory["role"]) == (
        "turn", "t1", "planner", "r1", "user",
    )  # fmt: skip


async def test_small_talk_and_what_assistants_say_is_left(house: AssistantHouse) -> None:
    messages = [
        {"role": "user", "content": "How are you today? Thanks a lot!"},
        {"role": "assistant", "content": "I prefer tea, and I live in Berlin."},
        {"role": "tool", "content": "I prefer coffee."},
    ]
    taken = await house.post("turn", thread_id="t1", turn_id="1", messages=messages)
    assert (taken["results"], await texts(house)) == ([], [])


async def test_a_turn_is_taken_in_once(house: AssistantHouse) -> None:
    first = await say(house, "I prefer green tea.")
    again = await say(house, "I prefer green tea.")
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert again["results"] == first["results"]
    refused = await say(house, "I prefer black tea.", status=409)
    assert (refused["error_code"], refused["fields"]) == ("CONFLICT", ["$.turn_id"])
    elsewhere = await say(house, "I prefer green tea.", thread="t2")
    assert [one["result"] for one in elsewhere["results"]] == ["NONE"]
    (thread,) = await house.rows("SELECT turns FROM assistant_threads WHERE thread_id = 't1'")
    assert thread["turns"] == 1


async def test_of_equal_turns_at_once_one_is_taken_in(house: AssistantHouse) -> None:
    answers: list[Any] = []

    async def take() -> None:
        answers.append(await say(house, "I prefer green tea."))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(take)
    assert sorted(answer["repeated"] for answer in answers) == [False] + [True] * 7
    assert len({answer["results"][0]["memory_id"] for answer in answers}) == 1
    assert await texts(house) == ["User prefers green tea."]


async def test_another_value_of_the_same_takes_its_place_and_both_are_in_the_history(
    house: AssistantHouse,
) -> None:
    house.model.known |= {"User lives in Paris.": unit(1.0), "User lives in Berlin.": at_cosine(0.9)}
    old = await only(house, "I live in Paris.")
    new = await only(house, "I live in Berlin.", "2")
    assert (new["result"], new["memory_id"], round(new["sim"], 4)) == ("UPDATE", old["memory_id"], 0.9)
    assert await texts(house) == ["User lives in Berlin."]
    update = (await house.get(f"memories/{old['memory_id']}/history"))["items"][0]
    assert (update["old_ref"]["text"], update["new_ref"]["text"]) == (
        "User lives in Paris.", "User lives in Berlin.",
    )  # fmt: skip


async def test_the_same_fact_in_other_words_is_made_one_memory_anew(house: AssistantHouse) -> None:
    house.model.known |= {
        "User is not fond of jazz.": unit(1.0), "User isn't fond of jazz.": at_cosine(0.95), "Other.": at_cosine(0.8),
    }  # fmt: skip
    other = await house.add("Other.")
    old = await house.add("User isn't fond of jazz.", pinned=True, importance=4, tags=["music"])
    house.clock.turn(hours=1)
    new = await only(house, "I am not fond of jazz.")
    assert new["result"] == "RECREATE"
    assert new["memory_id"] != old["id"]
    memory = await house.get(f"memories/{new['memory_id']}")
    assert (memory["text"], memory["pinned"], memory["importance"], memory["tags"], memory["created_at"]) == (
        "User is not fond of jazz.", True, 4, ["music"], old["created_at"],
    )  # fmt: skip
    assert (await house.get(f"memories/{old['id']}"))["state"] == "soft_deleted"
    for memory_id in (old["id"], new["memory_id"]):
        rows = (await house.get(f"memories/{memory_id}/history"))["items"]
        merge = next(row for row in rows if row["event"] == "MERGE")
        assert (merge["old_ref"]["id"], merge["new_ref"]["id"]) == (old["id"], new["memory_id"])
    ends = await house.rows("SELECT from_id::text, to_id::text FROM assistant_relations")
    assert {frozenset(row.values()) for row in ends} == {frozenset({new["memory_id"], other["id"]})}


async def test_a_merge_may_keep_the_id(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, '[assistant.merging]\nmode = "update"\n') as house:
        house.model.known |= {
            "User is not fond of jazz.": unit(1.0), "User isn't fond of jazz.": at_cosine(0.95),
        }  # fmt: skip
        old = await house.add("User isn't fond of jazz.")
        new = await only(house, "I am not fond of jazz.")
        assert (new["result"], new["memory_id"]) == ("UPDATE", old["id"])


async def test_opposite_preferences_both_stay_and_are_linked(house: AssistantHouse) -> None:
    house.model.known |= {"User loves jazz.": unit(1.0), "User hates jazz.": at_cosine(0.9)}
    old = await only(house, "I love jazz.")
    new = await only(house, "I hate jazz.", "2")
    assert (new["result"], new["contradicts"], new["similar_to"]) == ("ADD", [old["memory_id"]], None)
    assert await texts(house) == ["User hates jazz.", "User loves jazz."]
    rows = await house.rows("SELECT relation_type FROM assistant_relations ORDER BY relation_type")
    assert [row["relation_type"] for row in rows] == ["contradicts", "related_to"]


async def test_what_is_only_alike_is_added_and_names_its_neighbour(house: AssistantHouse) -> None:
    house.model.known |= {"User prefers green tea.": unit(1.0), "User prefers red wine.": at_cosine(0.9)}
    old = await only(house, "I prefer green tea.")
    new = await only(house, "I prefer red wine.", "2")
    assert (new["result"], new["similar_to"]) == ("ADD", old["memory_id"])


async def test_without_the_model_what_is_said_is_kept_unchecked(house: AssistantHouse) -> None:
    house.model.away = True
    taken = await say(house, "I prefer green tea.")
    (result,) = taken["results"]
    assert (result["result"], result["reason_code"], taken["degraded"]) == (
        "ADD", "SIMILARITY_UNCHECKED", ["embedding"],
    )  # fmt: skip


async def test_a_turn_writes_three_memories_at_most(house: AssistantHouse) -> None:
    said = "I prefer green tea. I live in Berlin. My name is Ana. I'm allergic to nuts. I really love jazz."
    results = [one["result"] for one in (await say(house, said))["results"]]
    results = [one for one in results if one != "PROPOSED"]
    assert results.count("ADD") == 3
    assert results.count("REJECTED") == len(results) - 3 > 0
    reasons = {one["reason_code"] for one in (await say(house, said))["results"]}
    assert reasons == {None, "CAP_REACHED"}


async def test_turns_of_a_day_write_so_much_and_no_more(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, "[assistant.extraction]\nmax_writes_per_day = 2\n") as house:
        foods = ("tea", "rice", "nuts")
        results = [await only(house, f"I prefer green {food}.", food) for food in foods]
        assert [one["result"] for one in results] == ["ADD", "ADD", "REJECTED"]
        assert results[2]["reason_code"] == "DAILY_CAP"
        house.clock.turn(days=1)
        assert (await only(house, "I prefer green nuts.", "next day"))["result"] == "ADD"


async def test_what_holds_for_a_time_only_is_rejected(house: AssistantHouse) -> None:
    result = await only(house, "I got married last week.")
    assert (result["result"], result["reason_code"], result["memory_id"]) == ("REJECTED", "TIME_BOUND", None)
    rows = await house.rows("SELECT op, status, reason FROM assistant_events")
    assert [tuple(row) for row in rows] == [("classify", "skipped", "local:TIME_BOUND")]


async def test_a_purged_memory_is_in_no_answer_to_its_turn(house: AssistantHouse) -> None:
    result = await only(house, "I prefer nettle tea.")
    await house.delete(f"memories/{result['memory_id']}", hard="true")
    again = await only(house, "I prefer nettle tea.")
    assert again == result | {"text": None}
    (row,) = await house.rows("SELECT results::text AS said FROM assistant_turns")
    assert "nettle" not in row["said"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("messages", []),
        ("thread_id", None),
        ("turn_id", None),
        ("messages", [{"role": "system", "content": "x"}]),
    ],
)
async def test_a_turn_that_is_out_of_bounds_is_refused_by_its_field(
    house: AssistantHouse, field: str, value: object
) -> None:
    body = {"thread_id": "t1", "turn_id": "1", "messages": [{"role": "user", "content": "x"}]} | {
        field: value
    }
    answer = await house.post("turn", 400, **body)
    assert answer["fields"][0].startswith(f"$.{field}")


async def test_turns_and_counts_of_days_go_when_nobody_asks_for_them_any_more(house: AssistantHouse) -> None:
    await say(house, "I prefer green tea.", "old")
    house.clock.turn(days=30)
    await say(house, "I prefer green rice.", "new")
    house.clock.turn(seconds=1)
    collect = {step.name: step.collect for step in house.opened.garbage}
    dropped = [
        await collect[name](house.clock.now(), 10)
        for name in ("old_assistant_turns", "old_assistant_budgets")
    ]
    assert dropped == [1, 1]
    assert [row["turn_id"] for row in await house.rows("SELECT turn_id FROM assistant_turns")] == ["new"]
    assert await texts(house) == ["User prefers green rice.", "User prefers green tea."]
