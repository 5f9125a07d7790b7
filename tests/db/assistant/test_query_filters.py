"""Filters against their plain definition, answers against their budget, and agents against all categories."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.config.tables.assistant import AssistantTable
from elf.db.database import Database
from tests.db.assistant.assistant_kit import USER, AssistantHouse, house_at
from tests.db.assistant.query_kit import ask
from tests.notes_kit import NOW, WordTokens

pytestmark = pytest.mark.anyio

CATEGORIES: Final = ("tasks", "goals", "projects")
TYPES: Final = ("semantic", "semantic", "insight", "episodic")
WIDE: Final = "\n".join(
    f'[[assistant.categories.custom]]\nname = "{name}"\nrag_length = 100' for name in CATEGORIES
)
MEMORIES: Final = 48
PATH: Final = "/v1/assistant/memory/query"
EACH: Final = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _moment(hours: int) -> datetime:
    return NOW + timedelta(hours=hours)


def _told(number: int) -> dict[str, Any]:
    """Return a memory of which each field repeats at a rhythm of its own."""
    return {
        "text": f"Note {number} is about the plan.",
        "category": CATEGORIES[number % 3],
        "type": TYPES[number % 4],
        "agent_id": (None, "a", "b")[number // 2 % 3],
        "run_id": (None, "r")[number // 3 % 2],
        "actor_id": (None, "c", "d")[number // 5 % 3],
        "role": (None, "user", "assistant", "tool")[number // 7 % 4],
        "pinned": number % 5 == 0,
        "importance": number // 4 % 5 + 1,
    }


@pytest.fixture
async def full_house(database: Database, tmp_path: Path) -> AsyncIterator[AssistantHouse]:
    """A house with a memory for each hour."""
    async with house_at(database, tmp_path, WIDE) as house:
        for number in range(MEMORIES):
            await house.add(**{name: value for name, value in _told(number).items() if value is not None})
            house.clock.turn(hours=1)
        yield house


def _optional(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([None, None, *values])


FILTERS: Final = st.fixed_dictionaries(
    {
        "category": _optional(*CATEGORIES),
        "agent_id": _optional("a", "b", "z"),
        "run_id": _optional("r"),
        "actor_id": _optional("c", "d"),
        "role": _optional("user", "assistant", "tool"),
        "pinned": _optional(True, False),
        "importance_min": _optional(1, 2, 3, 5),
        "importance_max": _optional(1, 3, 4, 5),
        "updated_after": _optional(-1, 0, 7, 24, 47),
        "updated_before": _optional(0, 12, 30, 48),
    }
)


def _passes(memory: Mapping[str, Any], number: int, wanted: Mapping[str, Any]) -> bool:
    """Tell in plain words whether a memory, which is so many hours young, passes filters."""
    equal = ("category", "agent_id", "run_id", "actor_id", "role", "pinned")
    return (
        all(wanted[name] is None or memory[name] == wanted[name] for name in equal)
        and memory["importance"] >= (wanted["importance_min"] or 1)
        and memory["importance"] <= (wanted["importance_max"] or 5)
        and (wanted["updated_after"] is None or number > wanted["updated_after"])
        and (wanted["updated_before"] is None or number < wanted["updated_before"])
    )


@EACH
@given(
    wanted=FILTERS,
    categories=st.none() | st.lists(st.sampled_from(CATEGORIES), min_size=1, unique=True),
    types=st.lists(st.sampled_from(["semantic", "insight", "episodic"]), min_size=1, unique=True),
    away=st.booleans(),
)
async def test_any_filters_let_through_what_they_do_one_by_one(
    full_house: AssistantHouse,
    wanted: Mapping[str, Any],
    categories: list[str] | None,
    types: list[str],
    away: bool,
) -> None:
    moments = {
        name: None if wanted[name] is None else _moment(wanted[name]).isoformat()
        for name in ("updated_after", "updated_before")
    }
    full_house.model.away = away
    answer = await ask(
        full_house, query="plan", filters={**wanted, **moments}, categories=categories, types=[*types, "episodic"],
        top_k=50, budget_tokens=8192,
    )  # fmt: skip
    asked = {*types, "episodic"}
    expected = {
        f"[{memory['category']}] {memory['text']}"
        for number, memory in enumerate(map(_told, range(MEMORIES)))
        if _passes(memory, number, wanted)
        and memory["type"] in asked
        and (categories is None or memory["category"] in categories)
    }
    assert {item["text"] for item in answer["items"]} == expected


@EACH
@given(
    budget=st.integers(16, 700),
    top_k=st.integers(1, 50),
    agent=st.sampled_from(["planner", "supervisor"]),
    form=st.sampled_from(["bullets", "full"]),
)
async def test_no_answer_is_over_its_budget(
    full_house: AssistantHouse, budget: int, top_k: int, agent: str, form: str
) -> None:
    answer = await ask(
        full_house, query="plan", agent=agent, budget_tokens=budget, top_k=top_k, **{"return": form}
    )
    told = [*answer["context"], *answer["items"]]
    lines = [one["text"] if form == "bullets" else f"[{one['category']}] {one['text']}" for one in told]
    lines += [one["text"] for one in answer["related"]]
    tokens = len(WordTokens().spans("\n".join(lines).replace("\n", " ")))
    assert tokens == answer["tokens"]["used"] <= budget
    assert len(answer["items"]) <= top_k


async def test_agents_reach_their_categories_and_no_other(house: AssistantHouse) -> None:
    table = AssistantTable()
    categories = sorted({name for names in table.allowlists.values() for name in names})
    for category in categories:
        await house.add(f"Something about {category}.", category)
    for agent, category in product(table.allowlists, categories):
        allowed = category in table.allowlists[agent]
        answer = await ask(house, 200 if allowed else 403, agent=agent, categories=[category])
        if allowed:
            assert [one["category"] for one in (*answer["items"], *answer["context"])] == [category]
        else:
            assert (answer["error_code"], answer["fields"]) == ("SCOPE_DENIED", ["$.categories[0]"])
    for agent, names in table.allowlists.items():
        answer = await ask(house, agent=agent, top_k=50, budget_tokens=8192)
        seen = {one["category"] for part in ("items", "context", "related") for one in answer[part]}
        assert seen == set(names) - {"procedural"}


async def test_a_users_own_memory_is_what_a_caller_without_a_filter_asks(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path, proves_users=True) as house:
        await house.add("Release goes out on Friday.", "tasks")
        headers = {"x-user": USER}
        own = await house.client.post(PATH, json={"agent": "planner", "query": "release"}, headers=headers)
        assert len(own.json()["items"]) == 1
        other = {"agent": "planner", "query": "release", "filters": {"user_id": "ben"}}
        denied = await house.client.post(PATH, json=other, headers=headers)
        assert (denied.status_code, denied.json()["fields"]) == (403, ["$.filters.user_id"])
