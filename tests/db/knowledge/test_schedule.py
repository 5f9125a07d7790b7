"""The chores of knowledge, when they are due and what they do through a year."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from actors.signals.outbox_wake import OutboxListener
from actors.workers.chores import ChoreRunner
from actors.workers.leased_work import Caution
from elf.config.tables.knowledge import KnowledgeTable, Schedule
from elf.families.knowledge.api.working import NoArguments
from elf.families.knowledge.keeping.opening import keeping_chores
from elf.families.knowledge.keeping.schedule import Schedules
from elf.outbox.chores import ChoreRuns
from tests.db.conftest import until
from tests.db.knowledge.conftest import ANA, KnowledgeHouse
from tests.db.knowledge.lifecycle_kit import Life

pytestmark = pytest.mark.anyio

BERLIN = Schedule(timezone="Europe/Berlin", decay_sweep="30 2 * * *", episode_cleanup="")


def with_config(knowledge: KnowledgeHouse, **config: Any) -> Life:
    return Life(KnowledgeHouse(knowledge.database, config=KnowledgeTable(**config), clock=knowledge.clock))


@asynccontextmanager
async def process(life: Life, dsn: str) -> AsyncIterator[None]:
    """What a process that has just started runs of the chores."""
    runs = ChoreRuns(life.house.database, keeping_chores(life.house.kit, life.sweep, life.cleanup))
    listener = OutboxListener(lambda: dsn)
    listener.tell(runs.outbox.presence)
    async with anyio.create_task_group() as group:
        await group.start(listener.run)
        await group.start(ChoreRunner(runs, clock=life.clock, caution=Caution()).run)
        yield
        group.cancel_scope.cancel()


async def done(life: Life) -> list[tuple[str, str, datetime]]:
    found = await life.house.rows(
        "SELECT chore, subject, due_at FROM chore_runs WHERE status = 'DONE' ORDER BY due_at, chore, subject"
    )
    return [(row["chore"], row["subject"], row["due_at"]) for row in found]


async def start_and_do(life: Life, dsn: str, runs: int) -> None:
    """Start a process, and wait until it has done so many runs more."""
    before = len(await done(life))

    async def are_done() -> bool:
        return len(await done(life)) >= before + runs

    async with process(life, dsn):
        await until(are_done)
    assert len(await done(life)) == before + runs


async def test_daily_decay_sweep_and_episode_cleanup_on_schedule_through_a_year(
    knowledge: KnowledgeHouse, knowledge_dsn: str
) -> None:
    life = with_config(knowledge, max_entries=3)
    life.clock.moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    facts = {
        name: await life.fact(name, permanence=name)
        for name in ("permanent", "stable", "standard", "volatile")
    }
    kept = await life.fact("kept", permanence="volatile")
    rule, used = await life.house.rule("a"), await life.house.rule("b")
    for number in range(5):
        await life.house.episode(f"{number}")

    life.clock.turn(days=6)  # the first five episodes are consolidated, and do not expire
    await life.house.rows(
        "UPDATE knowledge_episodes SET consolidated = true, consolidation_status = 'consolidated', expires_at = NULL"
    )
    young = await life.house.episode("young")
    await start_and_do(life, knowledge_dsn, 2)
    assert await count(life, "episodes") == 3, "more than that is too much"
    assert young in [row["id"] for row in await life.house.rows("SELECT id FROM knowledge_episodes")]

    life.clock.turn(days=8)
    await start_and_do(life, knowledge_dsn, 2)
    assert await count(life, "episodes") == 2, "the young one's seven days are over"

    life.clock.turn(days=44)  # day 58
    await start_and_do(life, knowledge_dsn, 2)
    assert await states(life, facts) == {
        "permanent": "active", "stable": "active", "standard": "active", "volatile": "fading",
    }  # fmt: skip
    await life.confirm("fact", kept)

    life.clock.turn(days=42)  # day 100
    await start_and_do(life, knowledge_dsn, 2)
    assert await states(life, {**facts, "kept": kept}) == {
        "permanent": "active", "stable": "active", "standard": "active", "volatile": "expired", "kept": "active",
    }  # fmt: skip
    assert await life.house.events(rule) == ["rule_created", "rule_fading"]
    await life.confirm("rule", used)

    life.clock.turn(days=150)  # day 250, of which many were missed
    await start_and_do(life, knowledge_dsn, 2)
    assert await states(life, {**facts, "kept": kept}) == {
        "permanent": "active", "stable": "active", "standard": "fading", "volatile": "expired", "kept": "expired",
    }  # fmt: skip
    assert await life.house.events(rule) == ["rule_created", "rule_fading", "rule_expired"]
    await life.confirm("rule", used)
    assert (await life.house.row("rule", used))["metadata"] == {}

    life.clock.turn(days=115)  # a year
    await start_and_do(life, knowledge_dsn, 2)
    assert await states(life, facts) == {
        "permanent": "active", "stable": "active", "standard": "fading", "volatile": "expired",
    }  # fmt: skip
    assert (await life.house.events(used))[1:] == ["rule_fading", "rule_confirmed"] * 2 + ["rule_fading"]
    assert await life.house.events(facts["standard"]) == ["fact_created", "fact_fading"]

    life.clock.turn(days=10)
    await start_and_do(life, knowledge_dsn, 2)
    assert await states(life, {"standard": facts["standard"]}) == {"standard": "expired"}
    assert {due.hour for chore, _, due in await done(life) if chore == "decay_sweep"} == {3}


async def test_missed_firings_run_once_and_a_firing_runs_once_over_processes(
    knowledge: KnowledgeHouse, knowledge_dsn: str
) -> None:
    life = with_config(knowledge, schedule=BERLIN)
    for tenant_id in ("acme", "other"):
        await life.fact(tenant_id=tenant_id)
    life.clock.moment = datetime(2026, 10, 20, 12, tzinfo=UTC)
    await start_and_do(life, knowledge_dsn, 2)
    life.clock.turn(days=30)
    async with process(life, knowledge_dsn):
        await start_and_do(life, knowledge_dsn, 2)
    assert await done(life) == [
        ("decay_sweep", tenant_id, due)
        for due in (datetime(2026, 10, 20, 0, 30, tzinfo=UTC), datetime(2026, 11, 19, 1, 30, tzinfo=UTC))
        for tenant_id in ("acme", "other")
    ]


async def test_a_chore_with_an_empty_line_is_never_due(knowledge: KnowledgeHouse) -> None:
    life = with_config(knowledge, schedule=BERLIN)
    chores = keeping_chores(life.house.kit, life.sweep, life.cleanup)
    assert [chore.name for chore in chores] == ["decay_sweep"]


async def test_schedules_tell_what_was_done_and_what_is_due(
    knowledge: KnowledgeHouse, knowledge_dsn: str
) -> None:
    life = with_config(knowledge, schedule=BERLIN)
    schedules = Schedules(life.house.kit)
    life.clock.moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
    told = {item.chore: item for item in (await schedules.tell(NoArguments(), ANA)).items}
    assert list(told) == ["consolidation", "decay_sweep", "episode_cleanup"]
    sweep, cleanup = told["decay_sweep"], told["episode_cleanup"]
    assert (sweep.cron, sweep.timezone, sweep.last_done) == ("30 2 * * *", "Europe/Berlin", None)
    assert sweep.next_due == datetime(2026, 7, 2, 0, 30, tzinfo=UTC)
    assert (cleanup.cron, cleanup.next_due) == ("", None)
    await life.fact()
    (row,) = await life.house.rows("SELECT clock_timestamp() AS now")
    await start_and_do(life, knowledge_dsn, 1)
    told = {item.chore: item for item in (await schedules.tell(NoArguments(), ANA)).items}
    last = told["decay_sweep"].last_done
    assert last is not None
    assert row["now"] <= last < row["now"] + timedelta(minutes=5)


async def states(life: Life, facts: dict[str, Any]) -> dict[str, str]:
    rows = {name: await life.house.row("fact", id) for name, id in facts.items()}
    return {name: row["metadata"].get("status", row["validity"]) for name, row in rows.items()}


async def count(life: Life, table: str) -> int:
    (row,) = await life.house.rows(f"SELECT count(*) AS rows FROM knowledge_{table}")
    return int(row["rows"])
