"""In which scopes memories are found."""

from __future__ import annotations

from typing import Any

import pytest

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.db.knowledge.finding_kit import Finder

pytestmark = pytest.mark.anyio

BEN = Caller(user="ben")


@pytest.fixture
def finder(knowledge: KnowledgeHouse) -> Finder:
    return Finder(knowledge)


async def _in_scopes(finder: Finder) -> dict[Any, str]:
    stored = {}
    for place, scope in enumerate(("global", "relationship", "travel")):
        stored[await finder.fact(f"seat {scope}", 0.9 - place / 10, scope=scope)] = f"fact {scope}"
        stored[await finder.rule(f"seat rule {scope}", 0.9 - place / 10, scope=scope)] = f"rule {scope}"
        stored[await finder.episode(f"seat of {scope}", 0.9 - place / 10, butler=scope)] = f"episode {scope}"
    return stored


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_scope_filter_on_facts_and_rules(finder: Finder, mode: str) -> None:
    stored = await _in_scopes(finder)
    found = await finder.ids("seat", mode=mode, scope="relationship", types=["fact", "rule"])
    assert sorted(stored[id] for id in found) == [
        "fact global", "fact relationship", "rule global", "rule relationship",
    ]  # fmt: skip
    recalled = await finder.recall("seat", scope="relationship")
    assert {item["id"] for item in recalled} == {*found}


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_scope_filter_on_episodes(finder: Finder, mode: str) -> None:
    stored = await _in_scopes(finder)
    found = await finder.ids("seat", mode=mode, scope="relationship", types=["episode"])
    assert [stored[id] for id in found] == ["episode relationship"]


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_no_scope_filter_returns_all(finder: Finder, mode: str) -> None:
    stored = await _in_scopes(finder)
    assert {*await finder.ids("seat", mode=mode, scope=None)} == stored.keys()
    assert len(await finder.recall("seat")) == 6


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_a_filter_is_before_the_limit(finder: Finder, mode: str) -> None:
    """What is better, but filtered out, takes no place from what is asked for."""
    for number in range(6):
        await finder.fact(f"seat seat seat {number}", 0.9, scope="other")
        await finder.house.fact(tenant_id="another", subject=f"seat {number}")
    wanted = await finder.fact("a plain seat", 0.1, scope="travel")
    assert await finder.ids("seat", mode=mode, scope="travel", limit=1, types=["fact"]) == [wanted]


async def test_a_users_scope_is_found_by_that_user_alone(finder: Finder) -> None:
    mine = await finder.fact("seat", 0.9, scope="user:ana")
    rule = await finder.rule("seat first", 0.9, scope="user:ana")
    told = await finder.episode("a seat", 0.9, butler="user:ana")
    assert {*await finder.ids("seat")} == {mine, rule, told}
    for stranger in (BEN, Caller()):
        assert await finder.ids("seat", stranger) == []
        assert await finder.recall("seat", stranger) == []
        assert (await finder.context("seat", caller=stranger)).facts == []
        with pytest.raises(ScopeDenied) as caught:
            await finder.ids("seat", stranger, scope="user:ana")
        assert caught.value.fields == ("$.scope",)
    assert await finder.ids("seat", tenant_id="another") == []
