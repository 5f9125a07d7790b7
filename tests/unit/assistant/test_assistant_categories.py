"""The matrix of agents and categories, and what an agent reads that names none."""

from __future__ import annotations

import tomllib
from typing import Final

import pytest
from pydantic import ValidationError

from elf.config.tables.assistant import AssistantTable
from elf.core.errors import ScopeDenied
from elf.families.assistant.rules.categories import Allowlists

TABLE: Final = AssistantTable()
AGENTS: Final = sorted(TABLE.allowlists)
CATEGORIES: Final = sorted({name for names in TABLE.allowlists.values() for name in names} | {"unknown"})


def _table(text: str) -> AssistantTable:
    return AssistantTable.model_validate(tomllib.loads(text))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("category", CATEGORIES)
def test_an_agent_reads_the_categories_of_its_list_and_no_other(agent: str, category: str) -> None:
    allowlists = Allowlists(TABLE)
    if category in TABLE.allowlists[agent]:
        assert allowlists.readable(agent, categories=[category]).categories == [category]
        return
    with pytest.raises(ScopeDenied) as caught:
        allowlists.readable(agent, categories=["goals", category, category], category=category)
    assert set(caught.value.fields) >= {"$.categories[1]", "$.categories[2]", "$.filters.category"}
    assert ("$.categories[0]" in caught.value.fields) is ("goals" not in TABLE.allowlists[agent])


def test_an_agent_without_a_list_reads_nothing() -> None:
    with pytest.raises(ScopeDenied) as caught:
        Allowlists(TABLE).readable("stranger", categories=None)
    assert caught.value.fields == ("$.agent",)


def test_an_agent_that_names_none_reads_all_of_its_own_but_how_things_are_done() -> None:
    readable = Allowlists(TABLE).readable("planner", categories=None)
    assert (readable.categories, readable.has_steps) == (["goals", "tasks", "projects"], False)


@pytest.mark.parametrize(
    "asked",
    [
        {"categories": ["procedural"]},
        {"categories": None, "types": ["procedural"]},
        {"categories": None, "category": "procedural"},
    ],
)
def test_how_things_are_done_is_read_where_it_is_asked_for(asked: dict[str, list[str]]) -> None:
    readable = Allowlists(TABLE).readable("planner", **asked)  # type: ignore[arg-type]
    assert readable.has_steps
    assert "procedural" in readable.ranked


def test_only_who_has_the_category_may_ask_for_the_type() -> None:
    with pytest.raises(ScopeDenied) as caught:
        Allowlists(TABLE).readable("stylist", categories=None, types=["semantic", "procedural"])
    assert caught.value.fields == ("$.types[1]",)


def test_a_category_comes_whole_or_is_ranked_as_the_config_says() -> None:
    readable = Allowlists(TABLE).readable("supervisor", categories=["profile", "event", "goals", "activity"])
    assert list(readable.whole) == ["profile"]
    assert dict(readable.ranked) == {"event": 30, "goals": 20, "activity": 50}


def test_a_filter_narrows_what_is_asked_for() -> None:
    allowlists = Allowlists(TABLE)
    assert allowlists.readable("planner", categories=None, category="tasks").categories == ["tasks"]
    assert allowlists.readable("planner", categories=["goals"], category="tasks").categories == []


def test_names_that_only_allowlists_have_are_categories_too() -> None:
    table = _table('[allowlists]\nbot = ["profile", "food", "procedural"]')
    assert table.undeclared == ["food"]
    assert dict(Allowlists(table).readable("bot", categories=["food"]).ranked) == {"food": 20}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("two categories are called profile", '[[categories.custom]]\nname = "profile"'),
        ("rag_length is of", '[[categories.custom]]\nname = "x"\ncontext = "all"\nrag_length = 3'),
        ("rag_length", '[[categories.custom]]\nname = "x"\nrag_length = 0'),
        ("context", '[[categories.custom]]\nname = "x"\ncontext = "some"'),
        ("name", '[[categories.custom]]\nname = "a b"'),
        ("allowlists", '[allowlists]\nbot = [""]'),
        ("words", "[ranking]\nwords = -1.0"),
    ],
)
def test_a_table_that_cannot_be_is_refused(key: str, text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _table(text)
    assert key in str(caught.value)
