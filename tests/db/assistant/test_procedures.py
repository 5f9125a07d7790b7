"""How things are done, over HTTP: kept apart from what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from elf.api.caller import Caller
from elf.db.database import Database
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse, house_at
from tests.db.assistant.query_kit import QUERY, ask, near
from tests.notes_kit import unit

pytestmark = pytest.mark.anyio

STEPS: Final = ["1. Build the wheel.", "Upload  it."]
KEPT: Final = "1. Build the wheel.\n2. Upload it."


async def _add(house: AssistantHouse, status: int = 200, /, **other: Any) -> Any:
    return await house.post("procedures", status, **({"steps": STEPS, "text": "Release."} | other))


async def test_steps_are_kept_numbered_and_given_to_who_asks_for_them(house: AssistantHouse) -> None:
    added = await _add(house, tags=["release"], importance=3)
    memory = added["memory"]
    assert (added["result"], added["warnings"]) == ("ADD", [])
    assert (memory["type"], memory["category"], memory["text"], memory["steps_text"], memory["importance"]) == (
        "procedural", "procedural", "Release.", KEPT, 3,
    )  # fmt: skip
    assert (await ask(house, agent="executor"))["items"] == []
    answer = await ask(house, agent="executor", categories=["procedural"])
    assert answer["items"] == [
        {
            "id": memory["id"],
            "category": "procedural",
            "text": "[procedural] Release.\n  1. Build the wheel.\n  2. Upload it.",
        }
    ]


async def test_without_a_text_the_first_step_stands(house: AssistantHouse) -> None:
    assert (await _add(house, text=None))["memory"]["text"] == "Build the wheel."


async def test_the_same_steps_are_not_added_again(house: AssistantHouse) -> None:
    first = await _add(house)
    again = await _add(house, steps=["Build the wheel.", "2) Upload it."])
    assert (again["result"], again["memory"]) == ("NONE", first["memory"])


async def test_steps_that_only_tell_are_kept_with_a_warning(house: AssistantHouse) -> None:
    assert (await _add(house, steps=["Build it.", "The wheel is uploaded."]))["warnings"] == [
        "NOT_IMPERATIVE"
    ]


async def test_steps_are_never_related_to_what_is_known(house: AssistantHouse) -> None:
    house.model.known[f"Release.\n{KEPT}"] = unit(1.0)
    await near(house, 0.9, "Release goes out on Friday.")
    await _add(house)
    assert await house.rows("SELECT FROM assistant_relations") == []
    assert (await ask(house))["related"] == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"steps": []}, "$.steps"),
        ({"steps": ["Build."] * 21}, "$.steps"),
        ({"steps": ["Build.", "x" * 161]}, "$.steps[1]"),
        ({"steps": [" "]}, "$.steps[0]"),
        ({"steps": ["Build.", 2]}, "$.steps[1]"),
    ],
)
async def test_steps_that_cannot_be_are_refused_with_their_path(
    house: AssistantHouse, body: dict[str, Any], path: str
) -> None:
    answer = await _add(house, 400, **body)
    assert (answer["error_code"], answer["fields"]) == ("INVALID_REQUEST", [path])


async def test_a_step_of_the_full_length_with_its_number_is_kept(house: AssistantHouse) -> None:
    added = await _add(house, steps=[f"12. {'x' * 160}"] * 20)
    assert len(added["memory"]["steps_text"].splitlines()) == 20


async def test_nobody_elses_are_given(house: AssistantHouse) -> None:
    await _add(house)
    asked = {
        "agent": "executor",
        "query": QUERY,
        "categories": ["procedural"],
        "filters": {"user_id": f"not {USER}"},
    }
    assert (await house.post("memory/query", user_id=None, **asked))["items"] == []


@pytest.mark.parametrize(("agent", "status"), [("stylist", 403), ("stranger", 403), ("executor", 200)])
async def test_an_agent_by_its_key_keeps_only_what_it_may_read(
    database: Database, tmp_path: Path, agent: str, status: int
) -> None:
    async def identify(_: object) -> Caller:
        return Caller(client="bot", bound={"tenant_id": TENANT, "agent_id": agent})

    async with house_at(database, tmp_path, identify=identify) as house:
        answer = await _add(house, status)
        if status == 403:
            assert (answer["error_code"], answer["fields"]) == ("SCOPE_DENIED", ["$.agent_id"])
        await ask(house, status, agent=None, categories=["procedural"])
        refused = await ask(house, 403, agent="planner")
        assert refused["fields"] == ["$.agent"]


async def test_the_numbered_lines_of_messages_are_steps(house: AssistantHouse) -> None:
    messages = [
        {"role": "user", "content": "How do I ship?"},
        {"role": "assistant", "content": "Like this:\n1. Build the wheel.\n2. Upload it.\nGood luck!"},
        {"role": "user", "content": "Thanks."},
    ]
    memory = (await house.post("procedures", messages=messages))["memory"]
    assert (memory["text"], memory["steps_text"]) == (
        "Build the wheel.",
        "1. Build the wheel.\n2. Upload it.",
    )
    refused = await house.post("procedures", 400, messages=messages[:1])
    assert refused["fields"] == ["$.messages"]
    await house.post("procedures", 400, messages=messages, steps=["Build it."])
    await house.post("procedures", 400)
