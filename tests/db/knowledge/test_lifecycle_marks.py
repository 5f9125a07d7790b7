"""Marks of rules: their effectiveness, their maturity, and what is kept of each mark."""

from __future__ import annotations

import json
from uuid import uuid4

import anyio
import pytest

from elf.core.errors import InvalidRequest, NotFound
from elf.db.database import Database
from tests.db.knowledge.conftest import AGENT, KnowledgeHouse
from tests.db.knowledge.lifecycle_kit import BOB, Life

pytestmark = pytest.mark.anyio


@pytest.fixture
def life(knowledge: KnowledgeHouse) -> Life:
    return Life(knowledge)


async def test_mark_helpful_increments_counts_and_recalculates_effectiveness(life: Life) -> None:
    rule = await life.house.rule()
    await life.harmful(rule)
    life.clock.turn(hours=1)
    marked = await life.helpful(rule)
    assert (marked.applied_count, marked.success_count, marked.harmful_count) == (2, 1, 1)
    assert marked.effectiveness_score == 0.5
    assert marked.last_applied_at == marked.last_evaluated_at == life.clock.now()
    told = await life.house.read("rule", rule)
    assert told.model_copy(update={"reference_count": 0, "last_referenced_at": None}) == marked


async def test_mark_harmful_increments_counts_with_4x_penalty_formula(life: Life) -> None:
    rule = await life.house.rule()
    await life.helpful(rule, times=3)
    marked = await life.harmful(rule, reason="it was sold out")
    assert (marked.applied_count, marked.success_count, marked.harmful_count) == (4, 3, 1)
    assert marked.effectiveness_score == pytest.approx(3 / 7.01)
    assert marked.last_applied_at == life.clock.now()
    assert marked.metadata == {"harmful_reasons": ["it was sold out"]}
    marked = await life.harmful(rule, reason="it was too late")
    assert marked.metadata["harmful_reasons"] == ["it was sold out", "it was too late"]


async def test_rule_application_recorded(life: Life) -> None:
    rule = await life.house.rule(caller=AGENT)
    await life.helpful(rule, context="a flight to Oslo")
    life.clock.turn(hours=1)
    await life.harmful(rule, BOB, context="a train", reason="no seats")
    await life.harmful(rule)
    found = await life.house.rows("SELECT * FROM knowledge_rule_applications ORDER BY created_at, actor DESC")
    assert [(row["outcome"], row["context"], row["reason"], row["actor"]) for row in found] == [
        ("helpful", "a flight to Oslo", None, "ana"), ("harmful", "a train", "no seats", "bob"),
        ("harmful", None, None, "ana"),
    ]  # fmt: skip
    assert {(row["tenant_id"], row["rule_id"]) for row in found} == {("acme", rule)}
    assert found[2]["created_at"] == life.clock.now()


async def test_rule_promotion_from_candidate_to_established(life: Life) -> None:
    rule = await life.house.rule()
    assert (await life.helpful(rule, times=4)).maturity == "candidate"
    assert (await life.helpful(rule)).maturity == "established"
    event = await life.last_event(rule)
    assert (event["event_type"], event["payload"]) == (
        "rule_promoted", {"from": "candidate", "to": "established"},
    )  # fmt: skip


async def test_rule_promotion_from_established_to_proven(life: Life) -> None:
    rule = await life.house.rule()
    life.clock.turn(days=30, seconds=-1)
    assert (await life.helpful(rule, times=15)).maturity == "established", "it is not 30 days old"
    life.clock.turn(seconds=1)
    assert (await life.helpful(rule)).maturity == "proven"


async def test_a_mark_is_at_most_one_step(life: Life) -> None:
    rule = await life.house.rule()
    life.clock.turn(days=31)
    await life.house.rows(
        "UPDATE knowledge_rules SET applied_count = 20, success_count = 20, effectiveness_score = 1"
    )
    assert (await life.helpful(rule)).maturity == "established"
    assert (await life.helpful(rule)).maturity == "proven"
    await life.house.rows("UPDATE knowledge_rules SET success_count = 1, harmful_count = 1")
    assert (await life.harmful(rule)).maturity == "established"
    assert (await life.harmful(rule)).maturity == "candidate"


async def test_rule_demotion_from_established_to_candidate(life: Life) -> None:
    rule = await life.house.rule()
    await life.helpful(rule, times=7)
    assert (await life.harmful(rule)).maturity == "established", "7 / 11.01 is enough"
    marked = await life.harmful(rule)
    assert marked.maturity == "candidate"
    event = await life.last_event(rule)
    assert (event["event_type"], event["payload"]) == (
        "rule_demoted", {"from": "established", "to": "candidate"},
    )  # fmt: skip


async def test_rule_demotion_from_proven_to_established(life: Life) -> None:
    rule = await life.house.rule()
    life.clock.turn(days=31)
    assert (await life.helpful(rule, times=15)).maturity == "proven"
    marked = await life.harmful(rule)
    assert marked.effectiveness_score < 0.8
    assert marked.maturity == "established"


async def test_anti_pattern_inversion_trigger(life: Life) -> None:
    rule = await life.house.rule()
    await life.harmful(rule, times=2)
    assert await life.open_jobs() == []
    rings = life.house.rings
    marked = await life.harmful(rule)
    assert marked.metadata["needs_inversion"] is True
    assert marked.maturity == "candidate", "the worker inverts it"
    assert await life.open_jobs() == [("inversion", "rule", rule)]
    assert life.house.rings == rings + 1
    await life.harmful(rule)
    assert len(await life.open_jobs()) == 1, "once is enough"


async def test_a_rule_that_helps_enough_is_not_inverted(life: Life) -> None:
    rule = await life.house.rule()
    await life.helpful(rule, times=6)
    marked = await life.harmful(rule, times=3)
    assert marked.effectiveness_score > 0.3
    assert "needs_inversion" not in marked.metadata
    assert await life.open_jobs() == []


async def test_marks_of_one_rule_at_once_all_count_over_processes(life: Life, knowledge_dsn: str) -> None:
    rule = await life.house.rule()
    database = Database(max_conns=10)
    await database.open(knowledge_dsn)
    other = Life(KnowledgeHouse(database))

    async def mark(number: int) -> None:
        one = life if number % 2 else other
        await (one.harmful(rule) if number % 4 < 2 else one.helpful(rule))

    async with anyio.create_task_group() as group:
        for number in range(32):
            group.start_soon(mark, number)
    await database.close()
    row = await life.house.row("rule", rule)
    assert (row["applied_count"], row["success_count"], row["harmful_count"]) == (32, 16, 16)
    assert len(await life.house.rows("SELECT FROM knowledge_rule_applications")) == 32
    events = await life.house.events(rule)
    assert (events.count("rule_helpful"), events.count("rule_harmful")) == (16, 16)
    assert len(await life.open_jobs()) == 1


async def test_a_mark_of_a_forgotten_rule_is_refused_and_changes_nothing(life: Life) -> None:
    rule = await life.house.rule()
    await life.forget("rule", rule)
    before = await life.snapshot()
    for mark in (life.helpful, life.harmful):
        with pytest.raises(InvalidRequest) as refused:
            await mark(rule)
        assert refused.value.fields == ("$.rule_id",)
    assert await life.snapshot() == before


async def test_a_rule_that_is_not_there_or_anothers_is_unknown(life: Life) -> None:
    rule = await life.house.rule(scope="user:ana")
    for mark in (life.helpful, life.harmful):
        with pytest.raises(NotFound):
            await mark(uuid4())
        with pytest.raises(NotFound):
            await mark(rule, BOB)
        with pytest.raises(NotFound):
            await mark(rule, tenant_id="other")
        assert (await mark(rule)).applied_count > 0


async def test_a_blank_reason_is_none_and_credentials_are_blanked(life: Life) -> None:
    rule = await life.house.rule()
    marked = await life.harmful(rule, reason=" \x00 ", context="with \x00 in it")
    assert "harmful_reasons" not in marked.metadata
    key = "AKIA" + "IOSFODNN7" + "ABCDEFG"
    marked = await life.harmful(rule, reason=f"it showed {key}", context=f"{key} was there")
    (reason,) = marked.metadata["harmful_reasons"]
    contexts = [
        row["context"] for row in await life.house.rows("SELECT context FROM knowledge_rule_applications")
    ]
    assert key not in reason
    assert not any(key in context for context in contexts)
    assert "with  in it" in contexts


async def test_all_reasons_stay_with_the_rule_while_there_is_room(life: Life) -> None:
    rule = await life.house.rule()
    said = [f"reason {number}" for number in range(80)]
    for reason in said:
        marked = await life.harmful(rule, reason=reason)
    assert marked.metadata["harmful_reasons"] == said
    assert "harmful_reasons_dropped" not in marked.metadata


async def test_beyond_64_kib_the_oldest_reasons_go_and_are_counted_and_all_stay_with_the_applications(
    life: Life,
) -> None:
    rule = await life.house.rule()
    said = [f"{number} {'ä' * 1000}" for number in range(40)]  # 2 KB each
    for reason in said:
        marked = await life.harmful(rule, reason=reason)
    reasons = marked.metadata["harmful_reasons"]
    dropped = marked.metadata["harmful_reasons_dropped"]
    assert reasons == said[dropped:]
    assert len(json.dumps(reasons, ensure_ascii=False).encode()) <= 65_536
    assert len(json.dumps(said[dropped - 1 :], ensure_ascii=False).encode()) > 65_000
    found = await life.house.rows("SELECT reason FROM knowledge_rule_applications")
    assert {row["reason"] for row in found} == set(said)
