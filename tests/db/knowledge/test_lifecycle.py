"""Confirming and forgetting memories."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from elf.core.errors import InvalidRequest, NotFound
from elf.families.knowledge.model import MemoryType
from tests.db.knowledge.conftest import ANA, KnowledgeHouse
from tests.db.knowledge.lifecycle_kit import BOB, Life

pytestmark = pytest.mark.anyio


@pytest.fixture
def life(knowledge: KnowledgeHouse) -> Life:
    return Life(knowledge)


async def test_confirm_memory_resets_decay_timer(life: Life) -> None:
    fact, rule = await life.fact(), await life.house.rule()
    life.clock.turn(days=100)
    for kind, id in (("fact", fact), ("rule", rule)):
        assert (await life.confirm(kind, id)).confirmed  # type: ignore[arg-type]
        row = await life.house.row(kind, id)
        assert row["last_confirmed_at"] == life.clock.now()
        assert (await life.house.read(kind, id)).effective_confidence == row["confidence"]
        event = await life.last_event(id)
        assert (event["event_type"], event["payload"]) == (f"{kind}_confirmed", {"was_fading": False})
        assert (event["actor"], event["created_at"]) == ("ana", life.clock.now())


async def test_confirming_an_episode_is_refused(life: Life) -> None:
    episode = await life.house.episode()
    before = await life.snapshot()
    with pytest.raises(InvalidRequest) as refused:
        await life.confirm("episode", episode)
    assert refused.value.fields == ("$.memory_type",)
    assert await life.snapshot() == before


async def test_what_is_not_active_is_not_confirmed_and_nothing_changes(life: Life) -> None:
    old = await life.fact("old", subject="Ana")
    await life.fact("new", subject="Ana")
    expired, retracted, rule = (
        await life.fact("a", permanence="ephemeral"),
        await life.fact("b"),
        await life.house.rule(),
    )
    await life.forget("fact", retracted)
    await life.forget("rule", rule)
    life.clock.turn(days=40)
    await life.swept()
    before = await life.snapshot()
    refusals: list[tuple[MemoryType, object, str]] = [
        ("fact", old, "superseded"), ("fact", expired, "expired"), ("fact", retracted, "retracted"),
        ("rule", rule, "forgotten"),
    ]  # fmt: skip
    for kind, id, state in refusals:
        with pytest.raises(InvalidRequest, match=state) as refused:
            await life.confirm(kind, id)  # type: ignore[arg-type]
        assert refused.value.fields == ("$.memory_id",)
    assert await life.snapshot() == before


async def test_confirming_what_fades_ends_its_fading(life: Life) -> None:
    fact, rule = await life.fact(), await life.house.rule()
    life.clock.turn(days=205)
    await life.swept()
    for kind, id in (("fact", fact), ("rule", rule)):
        assert (await life.house.row(kind, id))["metadata"] == {"status": "fading"}
        await life.confirm(kind, id)  # type: ignore[arg-type]
        assert (await life.house.row(kind, id))["metadata"] == {}
        assert (await life.last_event(id))["payload"] == {"was_fading": True}
    answer = await life.swept()
    assert (answer.facts_recovered, answer.rules_recovered) == (0, 0), "that was done"


async def test_fact_transitions_to_retracted_via_forget(life: Life) -> None:
    old = await life.fact("old", subject="Ana")
    new = await life.fact("new", subject="Ana")
    for id, state in ((new, "active"), (old, "superseded")):
        assert (await life.forget("fact", id)).forgotten
        assert (await life.house.row("fact", id))["validity"] == "retracted"
        event = await life.last_event(id)
        assert (event["event_type"], event["payload"]) == (
            "fact_retracted",
            {"from": state, "to": "retracted"},
        )


async def test_forget_rule_sets_metadata_flag(life: Life) -> None:
    rule = await life.house.rule(metadata={"ticket": "SUP-1204"})
    await life.forget("rule", rule)
    assert (await life.house.row("rule", rule))["metadata"] == {"ticket": "SUP-1204", "forgotten": True}
    assert (await life.last_event(rule))["event_type"] == "rule_forgotten"


async def test_forget_episode_sets_immediate_expiry(life: Life) -> None:
    episode = await life.house.episode()
    life.clock.turn(hours=1)
    await life.forget("episode", episode)
    assert (await life.house.row("episode", episode))["expires_at"] == life.clock.now()
    assert (await life.last_event(episode))["event_type"] == "episode_forgotten"


@pytest.mark.parametrize(
    ("kind", "event", "payload"),
    [
        ("fact", "fact_retracted", {"from": "active", "to": "retracted"}),
        ("rule", "rule_forgotten", {"maturity": "candidate"}),
        ("episode", "episode_forgotten", {"consolidation_status": "pending"}),
    ],
)
async def test_memory_forgotten_event(
    life: Life, kind: MemoryType, event: str, payload: dict[str, str]
) -> None:
    ids = {"fact": await life.fact(), "rule": await life.house.rule(), "episode": await life.house.episode()}
    for _ in range(2):
        await life.forget(kind, ids[kind])
    assert await life.house.events(ids[kind]) == [f"{kind}_created", event]
    told = await life.last_event(ids[kind])
    assert (told["tenant_id"], told["actor"], told["memory_type"]) == ("acme", "ana", kind)
    assert payload.items() <= told["payload"].items()
    assert told["created_at"] == life.clock.now()


async def test_forgetting_again_changes_nothing(life: Life) -> None:
    memories: list[tuple[MemoryType, object]] = [
        ("fact", await life.fact()), ("rule", await life.house.rule()), ("episode", await life.house.episode()),
    ]  # fmt: skip
    for kind, id in memories:
        await life.forget(kind, id)  # type: ignore[arg-type]
    before = await life.snapshot()
    life.clock.turn(hours=1)
    for kind, id in memories:
        assert (await life.forget(kind, id)).forgotten  # type: ignore[arg-type]
    assert await life.snapshot() == before


async def test_a_forgotten_fact_makes_room_for_another_and_does_not_come_back(life: Life) -> None:
    old = await life.fact("old", subject="Ana")
    await life.forget("fact", old)
    new = await life.fact("new", subject="Ana")
    await life.forget("fact", new)
    assert (await life.house.row("fact", new))["supersedes_id"] is None
    assert (await life.house.row("fact", old))["validity"] == "retracted"


@pytest.mark.parametrize("kind", ["episode", "fact", "rule"])
async def test_what_is_not_there_or_anothers_is_unknown(life: Life, kind: MemoryType) -> None:
    mine = {
        "episode": lambda: life.house.episode(butler="user:ana"),
        "fact": lambda: life.fact(scope="user:ana"),
        "rule": lambda: life.house.rule(scope="user:ana"),
    }
    id = await mine[kind]()
    before = await life.snapshot()
    for unknown, caller, tenant in ((uuid4(), ANA, "acme"), (id, BOB, "acme"), (id, ANA, "other")):
        for do in (life.forget, *([life.confirm] if kind != "episode" else [])):
            with pytest.raises(NotFound):
                await do(kind, unknown, caller, tenant)  # type: ignore[operator]
    assert await life.snapshot() == before
    await life.forget(kind, id)


async def test_a_confirmation_is_not_undone_by_an_older_one(life: Life) -> None:
    fact = await life.fact()
    life.clock.turn(days=2)
    await life.confirm("fact", fact)
    later = life.clock.now()
    life.clock.moment -= timedelta(days=1)
    await life.confirm("fact", fact)
    assert (await life.house.row("fact", fact))["last_confirmed_at"] == later
