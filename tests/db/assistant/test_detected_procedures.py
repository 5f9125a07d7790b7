"""How something is done is kept where a model is nearly sure or somebody adds it; and given where asked for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.model_kit import ScriptedModel
from tests.db.assistant.query_kit import ask
from tests.db.assistant.test_assistant_turn import say

pytestmark = pytest.mark.anyio

LIST = "Here is how we release:\n1. Build the wheel.\n2) Upload it.\nStep 3: Announce it."
STEPS = ["Build the wheel.", "Upload it.", "Announce it."]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(workflow())


@pytest.fixture
async def house(database: Database, tmp_path: Path, model: ScriptedModel) -> AsyncIterator[AssistantHouse]:
    async with house_at(database, tmp_path, chat=model.chat, background=True) as house:
        yield house


def workflow(**said: Any) -> Any:
    """Return a script that tells of a workflow, and of nothing else."""
    answer = {"confidence": 0.9, "title": "Release of a version.", "steps": STEPS} | said
    return lambda question: json.dumps(answer) if "workflow" in question else "{}"


async def procedures(house: AssistantHouse) -> list[Any]:
    items: list[Any] = (await house.get("memories", type="procedural"))["items"]
    return items


def asked(model: ScriptedModel) -> list[Any]:
    return [body for body in model.asked if "workflow" in body["messages"][1]["content"]]


async def test_a_workflow_that_the_model_is_sure_of_is_kept(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    await say(house, LIST, "1")
    await house.do_jobs()
    (kept,) = await procedures(house)
    assert (kept["category"], kept["text"], kept["source"]) == (
        "procedural",
        "Release of a version.",
        "detected",
    )
    assert kept["steps_text"] == "1. Build the wheel.\n2. Upload it.\n3. Announce it."
    await say(house, LIST, "2")
    await house.do_jobs()
    assert len(await procedures(house)) == 1
    assert {(body["temperature"], body["max_tokens"]) for body in asked(model)} == {(0.0, 900)}


@pytest.mark.parametrize(
    "said",
    [
        {"confidence": 0.8999},
        {"confidence": 1.1},
        {"confidence": "high"},
        {"steps": []},
        {"steps": ["Build."] * 21},
        {"steps": ["x" * 161]},
        {"steps": ["The wheel was built."]},
        {"title": "x" * 281},
    ],
)
async def test_what_is_no_sure_and_sound_workflow_is_not_kept(
    house: AssistantHouse, model: ScriptedModel, said: dict[str, Any]
) -> None:
    model.script = workflow(**said)
    await say(house, LIST)
    await house.do_jobs()
    assert (len(asked(model)), await procedures(house)) == (1, [])


async def test_only_a_turn_with_numbered_lines_is_looked_at(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    await say(house, "First build the wheel, then upload it.\n1. Announce it.\n2. Rest.")
    await house.do_jobs()
    assert (asked(model), await procedures(house)) == ([], [])


async def test_a_model_is_asked_five_times_in_a_day(house: AssistantHouse, model: ScriptedModel) -> None:
    for number in range(7):
        await say(house, LIST, str(number))
        await house.do_jobs()
    assert len(asked(model)) == 5
    house.clock.turn(days=1)
    await say(house, LIST, "next")
    await house.do_jobs()
    assert len(asked(model)) == 6


async def test_without_a_model_steps_come_from_whoever_adds_them(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, background=True) as house:
        await say(house, LIST)
        await house.do_jobs()
        assert await procedures(house) == []
        await house.post("procedures", steps=STEPS)
        assert len(await procedures(house)) == 1


async def test_what_was_detected_is_given_only_where_its_category_is_named(
    house: AssistantHouse, model: ScriptedModel
) -> None:
    await say(house, LIST)
    await house.do_jobs()
    (kept,) = await procedures(house)
    query = f"{kept['text']}\n{kept['steps_text']}"
    assert (await ask(house, query=query))["items"] == []
    named = await ask(house, query=query, categories=["procedural"])
    assert [item["id"] for item in named["items"]] == [kept["id"]]
    refused = await ask(house, 403, query=query, agent="supervisor", categories=["procedural"])
    assert refused["fields"] == ["$.categories[0]"]
