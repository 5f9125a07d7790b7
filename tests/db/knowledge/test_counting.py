"""How many memories there are, by state and scope."""

from __future__ import annotations

import pytest

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.db.knowledge.finding_kit import Finder
from tests.db.knowledge.lifecycle_kit import Life

pytestmark = pytest.mark.anyio


@pytest.fixture
def finder(knowledge: KnowledgeHouse) -> Finder:
    return Finder(knowledge)


async def test_of_nothing_there_is_none(finder: Finder) -> None:
    counted = await finder.counted()
    assert counted.episodes.backlog_age_hours is None
    told = counted.model_dump()
    told["episodes"].pop("backlog_age_hours")
    assert {count for kind in told.values() for count in kind.values()} == {0}


async def test_episode_stats(finder: Finder) -> None:
    done = await finder.episode("one")
    finder.clock.turn(hours=2.5)
    for content in ("two", "three", "four"):
        last = await finder.episode(content)
    await finder.set("episode", done, consolidated=True, consolidation_status="consolidated")
    await finder.set("episode", last, consolidation_status="dead_letter", retry_count=5)
    finder.clock.turn(hours=1.5)
    counted = (await finder.counted()).episodes
    assert (counted.total, counted.unconsolidated, counted.backlog_age_hours) == (4, 2, 1.5)
    assert (counted.retrying, counted.dead_letter) == (0, 1)
    await finder.set("episode", done, consolidated=False, consolidation_status="pending", retry_count=1)
    counted = (await finder.counted()).episodes
    assert (counted.unconsolidated, counted.backlog_age_hours, counted.retrying) == (3, 4.0, 1)


async def test_fact_stats(finder: Finder) -> None:
    life = Life(finder.house)
    await finder.fact("fades", permanence="ephemeral")
    await finder.fact("sure", permanence="permanent")
    finder.clock.turn(days=20)
    for _ in range(3):
        await finder.fact("last", subject="Ana")
    for content in ("wrong", "false"):
        await life.forget("fact", await finder.fact(content))
    await finder.set("fact", await finder.fact("old"), validity="expired")
    await life.swept()
    assert (await finder.counted()).facts.model_dump() == {
        "active": 2, "fading": 1, "superseded": 2, "expired": 1, "retracted": 2,
    }  # fmt: skip


async def test_rule_stats(finder: Finder) -> None:
    counts = {"candidate": 4, "established": 3, "proven": 2, "anti_pattern": 1}
    for maturity, count in counts.items():
        for number in range(count):
            await finder.set("rule", await finder.rule(f"{maturity} {number}"), maturity=maturity)
    for maturity in counts:
        rule = await finder.rule(f"forgotten {maturity}")
        await finder.set("rule", rule, maturity=maturity)
        await Life(finder.house).forget("rule", rule)
    assert (await finder.counted()).rules.model_dump() == {**counts, "forgotten": 4}


async def test_scope_filtering_on_stats(finder: Finder) -> None:
    for scope, count in {"global": 1, "travel": 2, "health": 4}.items():
        for number in range(count):
            await finder.fact(f"{scope} {number}", scope=scope)
            await finder.rule(f"{scope} {number}", scope=scope)
            await finder.episode(f"{scope} {number}", butler=scope)
    for scope, count in {None: 7, "global": 1, "travel": 3, "health": 5, "unknown": 1}.items():
        counted = await finder.counted(scope)
        assert (counted.facts.active, counted.rules.candidate, counted.episodes.total) == (count, count, 7)


async def test_another_users_memories_are_not_counted(finder: Finder) -> None:
    await finder.fact("mine", scope="user:ana")
    await finder.rule("mine", scope="user:ana")
    await finder.episode("mine", butler="user:ana")
    own = await finder.counted("user:ana")
    assert (own.facts.active, own.rules.candidate, own.episodes.total) == (1, 1, 1)
    ben = Caller(user="ben")
    others = await finder.counted(caller=ben)
    assert (others.facts.active, others.rules.candidate, others.episodes.total) == (0, 0, 0)
    with pytest.raises(ScopeDenied):
        await finder.counted("user:ana", ben)
