"""Insights: what is looked for behind the back of turns, in a turn's thread, over HTTP and read at the model's wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.db.database import Database
from elf.families.assistant.background.insight_prompt import MAX_TOKENS
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.model_kit import ScriptedModel, shown
from tests.db.assistant.test_assistant_turn import say

pytestmark = pytest.mark.anyio

GOOD = {"summary": "User shows increased trust when admitting mistakes.", "tags": ["trust"], "importance": 3}


def answer(*insights: object) -> str:
    return json.dumps({"insights": insights})


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(lambda question: answer(GOOD) if '"episodes"' in question else '{"summary":null}')


@pytest.fixture
async def house(database: Database, tmp_path: Path, model: ScriptedModel) -> AsyncIterator[AssistantHouse]:
    async with house_at(database, tmp_path, chat=model.chat, background=True) as house:
        yield house


def asked_for_insights(model: ScriptedModel) -> list[Any]:
    return [body for body in model.asked if '"episodes"' in body["messages"][1]["content"]]


async def insights(house: AssistantHouse) -> list[Any]:
    items: list[Any] = (await house.get("memories", type="insight"))["items"]
    return items


async def events(house: AssistantHouse) -> list[tuple[str, str]]:
    rows = await house.rows(
        "SELECT status, reason FROM assistant_events WHERE node = 'worker' AND op = 'classify' ORDER BY ts, reason"
    )
    return [(row["status"], row["reason"].partition(":")[2]) for row in rows]


async def test_an_insight_is_kept_and_says_what_it_was_drawn_from(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    episode = await house.add("The team chose Postgres.", "activity", type="episodic")
    fact = await house.add("User prefers tea.")
    await say(house, "I was wrong about the deadline, sorry!")
    await house.do_jobs()
    (insight,) = await insights(house)
    assert (insight["text"], insight["type"], insight["category"], insight["importance"], insight["pinned"]) == (
        GOOD["summary"], "insight", "relationship_dynamic", 3, False,
    )  # fmt: skip
    (row,) = (await house.get(f"memories/{insight['id']}/history"))["items"]
    assert set(row["meta"]["drawn_from"]) == {episode["id"], fact["id"]}
    (body,) = asked_for_insights(model)
    assert (body["temperature"], body["max_tokens"]) == (0.0, MAX_TOKENS) == (0.0, 220)


async def test_importance_is_two_where_the_model_gives_none(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    model.script = lambda _: answer({"summary": "User trusts written plans."})
    await say(house, "Hello.")
    await house.do_jobs()
    (insight,) = await insights(house)
    assert (insight["importance"], insight["tags"]) == (2, [])


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (answer({"summary": ""}), "EMPTY"),
        (answer({"summary": "User " + "trusts plans and " * 20 + "notes."}), "TOO_LONG"),
        (answer({"summary": "I think User is happy."}), "PRONOUN"),
        (answer({"summary": "User trusts the assistant."}), "NAMES_ASSISTANT"),
        (answer({"summary": "User felt sad yesterday."}), "TIME_BOUND"),
        (answer({"summary": "User trusts plans.", "importance": 9}), "MALFORMED"),
        (answer({"summary": "User trusts plans.", "tags": "trust"}), "MALFORMED"),
        (answer("User trusts plans."), "MALFORMED"),
        (answer(), None),
        ('{"insights": "none"}', None),
        ("Nothing shows.", None),
        ("{", None),
    ],
)
async def test_what_is_no_sound_insight_is_not_kept(
    house: AssistantHouse, model: ScriptedModel, said: str, reason: str | None
) -> None:
    model.script = lambda question: said if '"episodes"' in question else "{}"
    await say(house, "Hello.")
    await house.do_jobs()
    assert await insights(house) == []
    assert await events(house) == ([] if reason is None else [("skipped", reason)])
    assert len(asked_for_insights(model)) == 1


async def test_of_several_insights_three_sound_ones_are_kept(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    texts = [f"User trusts colleague number {number}." for number in range(5)]
    model.script = lambda _: answer(*({"summary": text} for text in texts))
    await say(house, "Hello.")
    await house.do_jobs()
    assert sorted(one["text"] for one in await insights(house)) == texts[:3]


async def test_a_user_has_one_run_in_a_day_whatever_came_of_it(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    model.status = 400
    await say(house, "Hello.", "1")
    await say(house, "Hello again.", "2")
    await house.do_jobs()
    model.status = 200
    house.clock.turn(hours=23, minutes=59)
    await say(house, "Hello.", "3")
    await house.do_jobs()
    assert await insights(house) == []
    assert await events(house) == [("error", "UNAVAILABLE")]
    asked = len(asked_for_insights(model))
    house.clock.turn(minutes=1)
    await say(house, "Hello.", "4")
    await house.do_jobs()
    assert len(await insights(house)) == 1
    assert len(asked_for_insights(model)) == asked + 1
    assert asked == 1


async def test_two_workers_ask_once(house: AssistantHouse, model: ScriptedModel) -> None:
    await say(house, "Hello.", "1")
    await say(house, "Hello.", "2")
    (queue,) = house.opened.queues
    async with anyio.create_task_group() as group:
        for job in await house.jobs_after_turns():
            group.start_soon(queue.handle, [job])
    assert len(asked_for_insights(model)) == 1
    rows = await house.rows("SELECT status FROM assistant_outbox WHERE kind = 'insights'")
    assert [row["status"] for row in rows] == ["DONE", "DONE"]


async def test_a_turn_does_not_wait_for_a_model_that_hangs(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    model.before_answer = anyio.sleep_forever
    await say(house, "Hello.", "1")
    async with anyio.create_task_group() as group:
        group.start_soon(house.do_jobs)
        await model.is_asked.wait()
        taken = await say(house, "I prefer green tea.", "2")
        assert [one["result"] for one in taken["results"]] == ["DEFERRED"]
        group.cancel_scope.cancel()
    assert await insights(house) == []


async def test_what_a_model_says_too_late_is_not_kept(database: Database, tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: answer(GOOD), timeout_ms=100)
    model.before_answer = anyio.sleep_forever
    async with house_at(database, tmp_path, chat=model.chat, background=True) as house:
        await say(house, "Hello.")
        await house.do_jobs()
        assert await insights(house) == []
        assert await events(house) == [("error", "UNAVAILABLE")]


async def test_a_question_is_bounded_however_much_there_is(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    for number in range(8):
        await house.add(f"Episode {number} was done. " + "x" * 1000, "activity", type="episodic")
        await house.add(f"Fact {number}. " + "y" * 1000)
        house.clock.turn(minutes=1)
    for number in range(3):
        await say(house, f"Message {number} " + "z" * 3000, str(number))
    await house.do_jobs()
    (body,) = asked_for_insights(model)
    given = shown(body["messages"][1]["content"])
    assert [text.split(" was")[0] for text in given["episodes"]] == [f"Episode {n}" for n in (7, 6, 5, 4, 3)]
    assert [text.split(".")[0] for text in given["facts"]] == ["Fact 7", "Fact 6", "Fact 5"]
    assert max(map(len, (*given["episodes"], *given["facts"]))) == 280
    assert len(given["conversation"]) == 1000


async def test_an_insight_weighs_half_in_answers(house: AssistantHouse) -> None:
    await say(house, "Hello.")
    await house.do_jobs()
    asked = {"agent": "supervisor", "query": GOOD["summary"], "filters": {"user_id": "ana"}, "explain": True}
    answered = await house.post("memory/query", user_id=None, **asked)
    (explained,) = answered["explanations"]
    terms = dict(explained["terms"])
    halved = terms.pop("insight")
    assert halved == pytest.approx(-0.5 * sum(terms.values()))


async def test_without_a_model_only_what_was_said_twice_counts(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, background=True) as house:
        await say(house, "I'm really anxious about the launch. I am anxious!", "1")
        await house.do_jobs()
        assert await insights(house) == []
        await say(house, "I still feel anxious. I trust my manager.", "2")
        await house.do_jobs()
        (insight,) = await insights(house)
        assert (insight["text"], insight["tags"]) == ("User repeatedly stated feeling anxious.", ["feeling"])
        assert [one["turn_id"] for one in insight["evidence"]] == ["1", "2"]
        assert await events(house) == [("ok", "STATED")]
        await say(house, "I trust my manager a lot.", "3")
        await house.do_jobs()
        assert len(await insights(house)) == 1
        house.clock.turn(days=1)
        await say(house, "Good morning.", "4")
        await house.do_jobs()
        assert sorted(one["text"] for one in await insights(house)) == [
            "User repeatedly stated feeling anxious.", "User repeatedly stated trust in User's manager.",
        ]  # fmt: skip


@pytest.mark.parametrize(("confidence", "tone"), [(0.8, "concise"), (0.79, None), (None, None)])
async def test_an_insight_that_is_sure_has_the_user_known_by_what_needs_no_agreement(
    house: AssistantHouse, model: ScriptedModel, confidence: float | None, tone: str | None
) -> None:
    summaries = ("User prefers concise answers.", "User lives in Oslo.")
    more = {} if confidence is None else {"confidence": confidence}
    model.script = lambda _: answer(*({"summary": summary} | more for summary in summaries))
    await say(house, "Shorter, please!")
    await house.do_jobs()
    assert len(await insights(house)) == 2
    context = await house.get("user_context")
    assert (context["tone"], context["city"]) == (tone, None)
    (body,) = asked_for_insights(model)
    assert "confidence" in body["messages"][1]["content"]


async def test_a_question_has_the_end_of_a_long_message(house: AssistantHouse, model: ScriptedModel) -> None:
    await say(house, "begins " + "word " * 400 + "ends")
    await house.do_jobs()
    (body,) = asked_for_insights(model)
    shown = body["messages"][1]["content"].splitlines()[-1]
    assert ("ends" in shown, "begins" in shown) == (True, False)


async def test_without_a_model_what_is_said_in_two_threads_counts(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, background=True) as house:
        for thread in ("t1", "t2"):
            said = [{"role": "user", "content": "I feel overwhelmed."}]
            await house.post("turn", thread_id=thread, turn_id="1", messages=said)
            await house.do_jobs()
        (insight,) = await insights(house)
        assert insight["text"] == "User repeatedly stated feeling overwhelmed."
