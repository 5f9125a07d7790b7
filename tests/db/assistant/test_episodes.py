"""What was done in a thread is summed up from time to time, and its last words are kept for a few days."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.model_kit import ScriptedModel, shown
from tests.db.assistant.test_assistant_turn import say
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio

DONE = "The launch was discussed and Friday was chosen."


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(summing_up(DONE))


@pytest.fixture
async def house(database: Database, tmp_path: Path, model: ScriptedModel) -> AsyncIterator[AssistantHouse]:
    async with house_at(database, tmp_path, chat=model.chat, background=True) as house:
        yield house


def summing_up(summary: object) -> Any:
    """Return a script that sums up like this, and finds no insights."""
    return lambda question: "{}" if '"episodes"' in question else json.dumps({"summary": summary})


def asked(model: ScriptedModel) -> list[Any]:
    """Return what the model was to sum up: messages."""
    return [shown(question) for question in model.questions if '"episodes"' not in question]


async def turns(house: AssistantHouse, first: int, last: int, thread: str = "t1") -> None:
    """Take in turns by their numbers, and do what they leave."""
    for number in range(first, last + 1):
        await say(house, f"Message {number}.", str(number), thread)
        await house.do_jobs()


async def episodes(house: AssistantHouse) -> list[Any]:
    items: list[Any] = (await house.get("memories", type="episodic"))["items"]
    return items


async def events(house: AssistantHouse) -> list[tuple[str, str]]:
    rows = await house.rows("SELECT op, status FROM assistant_events WHERE node = 'episodic' ORDER BY op")
    return [(row["op"], row["status"]) for row in rows]


async def test_every_third_turn_is_summed_up(house: AssistantHouse, model: ScriptedModel) -> None:
    await turns(house, 1, 2)
    assert asked(model) == []
    await turns(house, 3, 3)
    (episode,) = await episodes(house)
    assert (episode["text"], episode["category"], episode["thread_id"], episode["importance"]) == (
        DONE, "activity", "t1", 2,
    )  # fmt: skip
    assert [message["content"] for message in asked(model)[0]] == ["Message 1.", "Message 2.", "Message 3."]
    assert await events(house) == [("classify", "ok"), ("create", "ok")]


async def test_there_are_thirty_minutes_between_episodes_and_five_in_a_day(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    await turns(house, 1, 3)
    house.clock.turn(minutes=29, seconds=59)
    await turns(house, 4, 6)
    assert len(asked(model)) == 1
    house.clock.turn(seconds=1)
    await turns(house, 7, 7)
    assert len(asked(model)) == 2
    for number in range(3, 9):
        house.clock.turn(minutes=30)
        await turns(house, 10 * number, 10 * number + 2)
    assert len(asked(model)) == 5
    house.clock.turn(days=1)
    await turns(house, 100, 100)
    assert len(asked(model)) == 6


async def test_a_model_is_shown_the_last_ten_messages_each_cut(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    messages = [{"role": "assistant", "content": f"{'x' * 2000} {number}"} for number in range(12)]
    await house.post("turn", thread_id="t1", turn_id="1", messages=messages)
    await turns(house, 2, 3)
    (given,) = asked(model)
    ends = [message["content"].split(" ")[-1] for message in given[:-2]]
    assert ends == [str(number) for number in range(4, 12)]
    assert {len(message["content"]) for message in given[:-2]} == {1000}
    (row,) = await house.rows("SELECT count(*) AS kept, max(length(content)) AS most FROM assistant_recent")
    assert (row["kept"], row["most"]) == (10, 1000)
    body = model.asked[-1]
    assert (body["temperature"], body["max_tokens"]) == (0.0, 160)


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ("The launch was discussed.", True),
        ("The launch is on Friday.", False),
        ("Talked. Decided. Agreed to meet. Then left.", True),
        ("x" * 300, False),
        ("", False),
        (None, False),
        (7, False),
        (["The launch was discussed."], False),
    ],
)
async def test_an_episode_is_kept_only_where_it_is_sound(
    house: AssistantHouse, model: ScriptedModel, said: object, *, is_kept: bool
) -> None:
    model.script = summing_up(said)
    await turns(house, 1, 3)
    assert len(await episodes(house)) == is_kept


async def test_the_same_of_one_day_becomes_one_episode(house: AssistantHouse, model: ScriptedModel) -> None:
    again = "The launch was discussed, and Friday was chosen."
    house.model.known |= {DONE: unit(1.0), again: at_cosine(0.90001)}
    await turns(house, 1, 3)
    (first,) = await episodes(house)
    house.clock.turn(hours=1)
    model.script = summing_up(again)
    await turns(house, 4, 6)
    (second,) = await episodes(house)
    assert (second["text"], second["created_at"]) == (again, first["created_at"])
    assert (await house.get(f"memories/{first['id']}"))["state"] == "soft_deleted"
    assert ("merge", "ok") in await events(house)


@pytest.mark.parametrize(
    ("text", "cosine", "hours"),
    [
        ("The launch was discussed, and Friday was chosen.", 0.899, 1),
        ("The launch was discussed, and Friday was chosen.", 0.95, 25),
        ("The launch was discussed, and Monday was chosen.", 0.95, 1),
    ],
)
async def test_what_is_another_episode_stays_one(
    house: AssistantHouse, model: ScriptedModel, text: str, cosine: float, hours: int
) -> None:
    house.model.known |= {DONE: unit(1.0), text: at_cosine(cosine)}
    await turns(house, 1, 3)
    house.clock.turn(hours=hours)
    model.script = summing_up(text)
    await turns(house, 4, 6)
    assert {one["text"] for one in await episodes(house)} == {DONE, text}


async def test_two_workers_sum_up_once(house: AssistantHouse, model: ScriptedModel) -> None:
    for number in range(4):
        await say(house, f"Message {number}.", str(number))
    jobs = await house.jobs_after_turns()
    (queue,) = house.opened.queues
    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(queue.handle, [job])
    assert len(asked(model)) == 1


async def test_without_a_model_decisions_and_deeds_are_summed_up(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, background=True) as house:
        await say(house, "We decided to use Postgres. The weather is fine.", "1")
        await say(house, "I finally finished the report! Did I finish yours?", "2")
        await say(house, "We booked it for you.", "3")
        await house.do_jobs()
        (episode,) = await episodes(house)
        assert episode["text"] == "User decided to use Postgres. User finished the report."
        house.clock.turn(hours=1)
        await turns(house, 4, 16)
        assert len(await episodes(house)) == 1


@pytest.mark.parametrize("place", [1, 2, 3])
async def test_without_a_model_what_a_turn_has_kept_is_no_episode_too(
    database: Database, tmp_path: Path, place: int
) -> None:
    said = ["It was raining all day.", "The shop opens at nine.", "I slept early."]
    said[place - 1] = "I decided to buy the red bicycle."
    async with house_at(database, tmp_path, background=True) as house:
        for number, one in enumerate(said, 1):
            await say(house, one, str(number))
        await house.do_jobs()
        items = (await house.get("memories"))["items"]
        assert [(one["category"], one["text"]) for one in items] == [
            ("tasks", "User decided to buy the red bicycle.")
        ]


async def test_with_a_model_what_a_turn_keeps_is_no_episode_too(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    """The work that turns leave is done in any order in which it can be had, and each kind by itself."""
    text, quote = "User decided to buy the red bicycle.", "I decided to buy the red bicycle."
    fact = {"category": "tasks", "text": text, "quote": quote, "importance": 4, "confidence": 0.9}
    model.facts, model.script = [fact], summing_up(text)
    for number, said in enumerate(["It was raining.", quote, "I slept."], 1):
        await say(house, said, str(number))
    (queue,) = house.opened.queues
    while jobs := await house.jobs():
        for job in reversed(jobs):
            await queue.handle([job])
    items = (await house.get("memories"))["items"]
    assert [one["text"] for one in items] == [text]


async def test_last_words_go_with_the_memory_that_was_drawn_from_them(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path, background=True) as house:
        taken = await say(house, "I prefer nettle tea.", "1")
        await say(house, "Hello.", "2")
        await house.delete(f"memories/{taken['results'][0]['memory_id']}", hard="true")
        rows = await house.rows("SELECT content FROM assistant_recent")
        assert [row["content"] for row in rows] == ["Hello."]


async def test_last_words_are_kept_for_seven_days(house: AssistantHouse) -> None:
    await say(house, "Old.", "1")
    house.clock.turn(days=7)
    await say(house, "New.", "2")
    house.clock.turn(seconds=1)
    (step,) = (step for step in house.opened.garbage if step.name == "old_assistant_words")
    assert await step.collect(house.clock.now(), 10) == 1
    assert [row["content"] for row in await house.rows("SELECT content FROM assistant_recent")] == ["New."]


async def test_a_repeated_turn_is_heard_once(house: AssistantHouse) -> None:
    await say(house, "Hello.", "1")
    await say(house, "Hello.", "1")
    assert len(await house.rows("SELECT FROM assistant_recent")) == 1


async def test_where_nothing_is_made_of_them_no_words_are_kept(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        for number in range(3):
            await say(house, "We decided to use Postgres. I'm anxious.", str(number))
        assert await house.rows("SELECT FROM assistant_recent") == []
        assert await house.jobs() == []
