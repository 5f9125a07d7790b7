"""The sweep of what nobody confirms."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import anyio
import pytest

from elf.families.knowledge.api.working import SweepAnswer
from elf.families.knowledge.model import MemoryType
from elf.families.knowledge.rules.decay import FADING_BELOW, decay_state, effective_confidence
from elf.outbox.chores import Due
from tests.db.conftest import until
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.db.knowledge.lifecycle_kit import Life
from tests.notes_kit import NOW

pytestmark = pytest.mark.anyio

NOTHING = dict.fromkeys(SweepAnswer.model_fields, 0)


@pytest.fixture
def life(knowledge: KnowledgeHouse) -> Life:
    return Life(knowledge, page=3)


async def test_decay_sweep_threshold_transitions(life: Life) -> None:
    facts = {
        permanence: await life.fact(permanence, permanence=permanence)
        for permanence in ("permanent", "stable", "standard", "volatile", "ephemeral")
    }
    rule = await life.house.rule()
    life.clock.turn(days=54)  # volatile: .198, ephemeral: .0045, rules: .29
    answer = await life.swept()
    assert answer.model_dump() == NOTHING | {
        "facts_checked": 4, "facts_fading": 1, "facts_expired": 1, "rules_checked": 1,
    }  # fmt: skip
    life.clock.turn(days=38)  # rules: .1993
    answer = await life.swept()
    assert answer.model_dump() == NOTHING | {
        "facts_checked": 3, "rules_checked": 1, "rules_fading": 1,
    }  # fmt: skip
    life.clock.turn(days=139)  # rules: .0496, standard: .158
    answer = await life.swept()
    assert answer.model_dump() == NOTHING | {
        "facts_checked": 3, "facts_fading": 1, "facts_expired": 1, "rules_checked": 1, "rules_expired": 1,
    }  # fmt: skip
    states = {name: await life.house.row("fact", id) for name, id in facts.items()}
    assert {name: (row["validity"], row["metadata"]) for name, row in states.items()} == {
        "permanent": ("active", {}), "stable": ("active", {}), "standard": ("active", {"status": "fading"}),
        "volatile": ("expired", {}), "ephemeral": ("expired", {}),
    }  # fmt: skip
    assert (await life.house.row("rule", rule))["metadata"] == {"forgotten": True}


async def test_fact_transitions_to_expired_via_decay_sweep(life: Life) -> None:
    fact = await life.fact(permanence="ephemeral", metadata={"ticket": "SUP-1204"})
    life.clock.turn(days=29.95)  # .05003
    await life.swept()
    assert (await life.house.row("fact", fact))["validity"] == "active"
    life.clock.turn(days=0.01)  # .04998
    await life.swept()
    row = await life.house.row("fact", fact)
    assert (row["validity"], row["metadata"]) == ("expired", {"ticket": "SUP-1204"})


async def test_fact_transitions_to_fading_via_decay_sweep(life: Life) -> None:
    fact = await life.fact(metadata={"ticket": "SUP-1204"})
    life.clock.turn(days=202)
    await life.swept()
    row = await life.house.row("fact", fact)
    assert row["metadata"] == {"ticket": "SUP-1204", "status": "fading"}
    assert row["validity"] == "active"


async def test_lifecycle_transition_event(life: Life) -> None:
    fact, rule = await life.fact(), await life.house.rule()
    for days in (205, 170):
        life.clock.turn(days=days)
        await life.swept()
    assert await life.house.events(fact) == ["fact_created", "fact_fading", "fact_expired"]
    assert await life.house.events(rule) == ["rule_created", "rule_fading", "rule_expired"]
    event = await life.last_event(fact)
    assert event["payload"] == {
        "effective_confidence": pytest.approx(effective_confidence(1.0, 0.008, NOW, life.clock.now())),
        "was_fading": True,
    }
    assert (event["tenant_id"], event["memory_type"], event["actor"]) == ("acme", "fact", "ana")
    assert event["created_at"] == life.clock.now()


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_what_two_sweeps_find_at_once_is_told_once(life: Life, kind: str) -> None:
    memory = await life.fact() if kind == "fact" else await life.house.rule()
    life.clock.turn(days=205)

    async def two_wait() -> bool:
        waiting = await life.house.rows("SELECT count(*) AS n FROM pg_locks WHERE NOT granted")
        return bool(waiting[0]["n"] >= 2)

    async with anyio.create_task_group() as group, life.house.kit.database.transaction() as connection:
        await connection.fetch(f"SELECT 1 FROM knowledge_{kind}s FOR UPDATE")
        for _ in range(2):
            group.start_soon(life.swept)
        await until(two_wait)
    assert await life.house.events(memory) == [f"{kind}_created", f"{kind}_fading"]


async def test_what_recovers_is_told_of(life: Life) -> None:
    fact, rule = await life.fact(), await life.house.rule()
    life.clock.turn(days=205)
    await life.swept()
    for table in ("facts", "rules"):  # as somebody does who confirms without ending the fading
        await life.house.rows(f"UPDATE knowledge_{table} SET last_confirmed_at = $1", life.clock.now())
    answer = await life.swept()
    assert (answer.facts_recovered, answer.rules_recovered) == (1, 1)
    assert (await life.house.row("fact", fact))["metadata"] == {}
    assert (await life.house.row("rule", rule))["metadata"] == {}
    assert (await life.last_event(fact))["event_type"] == "fact_recovered"
    assert (await life.last_event(rule))["event_type"] == "rule_recovered"


async def test_a_memory_that_was_never_confirmed_has_no_confidence(life: Life) -> None:
    fact, permanent = await life.fact("a"), await life.fact("b", permanence="permanent")
    await life.house.rows("UPDATE knowledge_facts SET last_confirmed_at = NULL")
    await life.swept()
    assert (await life.house.row("fact", fact))["validity"] == "expired"
    assert (await life.house.row("fact", permanent))["validity"] == "active"


async def test_a_second_sweep_changes_nothing_more(life: Life) -> None:
    for number in range(10):
        await life.fact(f"{number}", permanence="volatile" if number % 2 else "ephemeral")
        await life.house.rule(f"{number}")
    life.clock.turn(days=92)
    first = await life.swept()
    before = await life.snapshot()
    second = await life.swept()
    assert (first.facts_expired, first.facts_fading, first.rules_fading) == (5, 5, 10)
    assert second.model_dump() == NOTHING | {"facts_checked": 5, "rules_checked": 10}
    assert await life.snapshot() == before


async def test_what_is_over_is_not_looked_at(life: Life) -> None:
    old = await life.fact("old", subject="Ana")
    new, forgotten, anti = (
        await life.fact("new", subject="Ana"),
        await life.house.rule("a"),
        await life.house.rule("b"),
    )
    await life.forget("fact", new)
    await life.forget("rule", forgotten)
    await life.house.rows("UPDATE knowledge_rules SET maturity = 'anti_pattern' WHERE id = $1", anti)
    life.clock.turn(days=10_000)
    before = await life.snapshot()
    assert (await life.swept()).model_dump() == NOTHING
    assert await life.snapshot() == before
    assert (await life.house.row("fact", old))["validity"] == "superseded"


async def test_a_sweep_of_one_tenant_leaves_others_alone_and_all_are_swept_at_once(life: Life) -> None:
    for tenant_id in ("acme", "other"):
        for number in range(4):
            await life.fact(f"{number}", tenant_id=tenant_id)
    await life.house.rule(tenant_id="third")
    assert sorted(await life.sweep.tenants()) == ["acme", "other", "third"]
    life.clock.turn(days=205)
    assert (await life.swept("acme")).facts_fading == 4
    answer = await life.swept(None)
    assert (answer.facts_checked, answer.facts_fading, answer.rules_fading) == (8, 4, 1)


async def test_a_sweep_that_is_due_is_told_as_the_workers(life: Life) -> None:
    fact = await life.fact()
    life.clock.turn(days=205)
    await life.sweep.run(Due("acme", life.clock.now(), 1))
    assert (await life.last_event(fact))["actor"] == "worker"


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_what_is_confirmed_while_it_is_swept_does_not_expire(life: Life, kind: MemoryType) -> None:
    store = life.fact if kind == "fact" else life.house.rule
    first, confirmed, last = [await store(f"{number}") for number in range(3)]
    life.clock.turn(days=1000)
    async with anyio.create_task_group() as group, life.house.database.transaction() as connection:
        await connection.execute(
            life.house.kit.queries[f"confirm_{kind}"], "acme", confirmed, life.clock.now()
        )
        group.start_soon(life.swept)
        await until(lambda: somebody_waits(life))
    assert [f"{kind}_expired" in await life.house.events(id) for id in (first, confirmed, last)] == [
        True,
        False,
        True,
    ]
    row = await life.house.row(kind, confirmed)
    assert (row["metadata"], row.get("validity", "active")) == ({}, "active")


async def somebody_waits(life: Life) -> bool:
    found = await life.house.rows(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return bool(found)


async def test_effective_confidence_is_that_of_the_rules(life: Life) -> None:
    days = [0.0, 0.5, 1, 7, 53.647, 53.648, 201.1, 201.2, 374.4, 374.5, 1000, 40_000, -3]
    rates = [1e-6, 0.002, 0.008, 0.03, 0.1, 5.0, 1000.0]
    confidences = [1.0, 0.5, 0.2, 0.05, 0.0499, 0.0]
    cases = [(c, r, timedelta(days=d)) for c in confidences for r in rates for d in days]
    ids = [UUID(int=number) for number in range(1, len(cases) + 1)]
    now = life.clock.now()
    await life.house.rows(
        "INSERT INTO knowledge_facts (id, tenant_id, subject, predicate, content, confidence, decay_rate,"
        " created_at, last_confirmed_at)"
        " SELECT id, 'acme', id::text, 'p', 'c', confidence, rate, $5, confirmed"
        " FROM unnest($1::uuid[], $2::float8[], $3::float8[], $4::timestamptz[])"
        " AS t (id, confidence, rate, confirmed)",
        ids, [c for c, _, _ in cases], [r for _, r, _ in cases], [now - ago for _, _, ago in cases], now,
    )  # fmt: skip
    await life.swept()
    expected = {
        id: effective_confidence(c, r, now - ago, now) for id, (c, r, ago) in zip(ids, cases, strict=True)
    }
    found = await life.house.rows("SELECT id, validity, metadata FROM knowledge_facts")
    states = {
        row["id"]: "expired" if row["validity"] == "expired" else row["metadata"].get("status", "fresh")
        for row in found
    }
    assert states == {id: decay_state(value) for id, value in expected.items()}
    told = await life.house.rows("SELECT memory_id, payload FROM knowledge_events")
    assert {row["memory_id"]: row["payload"]["effective_confidence"] for row in told} == pytest.approx(
        {id: value for id, value in expected.items() if value < FADING_BELOW}, abs=1e-12
    )
