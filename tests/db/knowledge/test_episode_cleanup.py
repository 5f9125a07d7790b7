"""The cleanup of episodes."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import anyio
import pytest

from elf.config.tables.knowledge import KnowledgeTable
from elf.families.knowledge.api.working import CleanupAll, CleanupAnswer
from elf.outbox.chores import Due
from tests.db.knowledge.conftest import ANA, KnowledgeHouse
from tests.db.knowledge.lifecycle_kit import BOB, Life

pytestmark = pytest.mark.anyio


@pytest.fixture
def life(knowledge: KnowledgeHouse) -> Life:
    return Life(knowledge, page=3)


def came_to(answer: CleanupAnswer) -> tuple[int, int, int]:
    return answer.expired_deleted, answer.capacity_deleted, answer.remaining


async def episodes(life: Life, number: int, *, status: str = "pending", minutes: int = 1) -> list[UUID]:
    """Store episodes, some minutes apart, that are in a state of consolidation."""
    ids = []
    for place in range(number):
        ids.append(await life.house.episode(f"{status} {place}"))
        life.clock.turn(minutes=minutes)
    await life.house.rows(
        "UPDATE knowledge_episodes SET consolidation_status = $2::text, consolidated = $2::text = 'consolidated'"
        " WHERE id = ANY ($1)",
        ids, status,
    )  # fmt: skip
    return ids


async def left(life: Life) -> list[UUID]:
    return [
        row["id"] for row in await life.house.rows("SELECT id FROM knowledge_episodes ORDER BY created_at")
    ]


async def test_expired_episodes_deleted(life: Life) -> None:
    for status in ("pending", "consolidated", "dead_letter"):
        await episodes(life, 4, status=status)
    life.clock.turn(days=6)
    young = await episodes(life, 2)
    assert came_to(await life.cleaned_up()) == (0, 0, 14)
    life.clock.turn(days=1)
    assert came_to(await life.cleaned_up()) == (12, 0, 2)
    assert await left(life) == young


async def test_cleanup_returns_statistics(life: Life) -> None:
    await episodes(life, 2)
    life.clock.turn(days=6)
    await episodes(life, 3, status="consolidated")
    await episodes(life, 1)
    life.clock.turn(days=2)
    assert (await life.cleaned_up(2)).model_dump() == {
        "expired_deleted": 2, "capacity_deleted": 2, "remaining": 2,
    }  # fmt: skip
    assert len(await left(life)) == 2


async def test_an_episode_goes_when_its_time_is_over_and_not_at_that_moment(life: Life) -> None:
    await life.house.episode()
    life.clock.turn(days=7)
    assert came_to(await life.cleaned_up()) == (0, 0, 1)
    life.clock.turn(microseconds=1)
    assert came_to(await life.cleaned_up()) == (1, 0, 0)


async def test_a_forgotten_episode_goes(life: Life) -> None:
    await life.forget("episode", await life.house.episode())
    life.clock.turn(seconds=1)
    assert came_to(await life.cleaned_up()) == (1, 0, 0)


async def test_an_episode_that_never_expires_stays(life: Life) -> None:
    await life.house.episode()
    await life.house.rows("UPDATE knowledge_episodes SET expires_at = NULL")
    life.clock.turn(days=10_000)
    assert came_to(await life.cleaned_up()) == (0, 0, 1)


async def test_an_episode_that_is_being_consolidated_stays_until_its_lease_is_over(life: Life) -> None:
    leased, other = await episodes(life, 2)
    life.clock.turn(days=8)
    await life.house.rows(
        "UPDATE knowledge_episodes SET leased_until = $2 WHERE id = $1",
        leased, life.clock.now() + timedelta(minutes=5),
    )  # fmt: skip
    assert came_to(await life.cleaned_up()) == (1, 0, 1)
    assert await left(life) == [leased]
    assert "episode_deleted" in await life.house.events(other)
    life.clock.turn(minutes=5)
    assert came_to(await life.cleaned_up()) == (1, 0, 0)


async def test_capacity_enforcement_targets_consolidated_episodes(life: Life) -> None:
    pending = await episodes(life, 3)
    consolidated = await episodes(life, 8, status="consolidated")
    dead = await episodes(life, 2, status="dead_letter")
    assert came_to(await life.cleaned_up(max_entries=9)) == (0, 4, 9)
    assert await left(life) == [*pending, *consolidated[4:], *dead]
    assert came_to(await life.cleaned_up(max_entries=9)) == (0, 0, 9)


async def test_unconsolidated_episodes_are_not_deleted_by_capacity_enforcement(life: Life) -> None:
    pending = await episodes(life, 5)
    await episodes(life, 2, status="consolidated")
    assert came_to(await life.cleaned_up(max_entries=1)) == (0, 2, 5)
    assert came_to(await life.cleaned_up(max_entries=0)) == (0, 0, 5)
    assert await left(life) == pending


async def test_what_is_expired_goes_before_anything_is_too_much(life: Life) -> None:
    await episodes(life, 3)
    life.clock.turn(days=6)
    young = await episodes(life, 4, status="consolidated")
    life.clock.turn(days=1)
    assert came_to(await life.cleaned_up(max_entries=4)) == (3, 0, 4)
    assert await left(life) == young


async def test_without_a_capacity_the_configured_one_counts(knowledge: KnowledgeHouse) -> None:
    life = Life(KnowledgeHouse(knowledge.database, config=KnowledgeTable(max_entries=2)))
    await episodes(life, 5, status="consolidated")
    assert came_to(await life.cleaned_up()) == (0, 3, 2)


async def test_each_deleted_episode_is_told_of(life: Life) -> None:
    (expired,) = await episodes(life, 1)
    life.clock.turn(days=7)
    (surplus,) = await episodes(life, 1, status="consolidated")
    await life.cleaned_up(max_entries=0)
    for id, why, status in ((expired, "expired", "pending"), (surplus, "capacity", "consolidated")):
        assert await life.house.events(id) == ["episode_created", "episode_deleted"]
        event = await life.last_event(id)
        assert event["payload"] == {"why": why, "consolidation_status": status}
        assert (event["actor"], event["memory_type"], event["created_at"]) == (
            "ana",
            "episode",
            life.clock.now(),
        )


async def test_facts_and_links_outlive_their_episode(life: Life) -> None:
    episode = await life.house.episode()
    fact = await life.fact(source_episode_id=episode)
    rule = await life.house.rule(source_episode_id=episode)
    await life.house.link(("fact", fact), ("episode", episode), "derived_from")
    life.clock.turn(days=8)
    await life.cleaned_up()
    for kind, id in (("fact", fact), ("rule", rule)):
        assert (await life.house.row(kind, id))["source_episode_id"] is None
    (link,) = await life.house.rows("SELECT * FROM knowledge_links")
    assert (link["source_id"], link["target_id"]) == (fact, episode)


async def test_a_cleanup_of_one_tenant_leaves_others_alone_and_all_are_cleaned_up_at_once(life: Life) -> None:
    for tenant_id in ("acme", "other", "third"):
        await life.house.episode(tenant_id=tenant_id)
    assert sorted(await life.cleanup.tenants()) == ["acme", "other", "third"]
    life.clock.turn(days=8)
    await life.house.episode(tenant_id="other")
    assert came_to(await life.cleaned_up()) == (1, 0, 0)
    assert came_to(await life.cleanup.for_all(CleanupAll(), ANA)) == (2, 0, 1)


async def test_on_request_episodes_of_other_users_are_neither_deleted_nor_counted(life: Life) -> None:
    mine, theirs = (
        await life.house.episode(butler="user:ana"), await life.house.episode(butler="user:bob", caller=BOB),
    )  # fmt: skip
    life.clock.turn(days=8)
    young = await life.house.episode(butler="user:bob", caller=BOB)
    await life.house.rows("UPDATE knowledge_episodes SET consolidated = true WHERE id = $1", young)
    assert came_to(await life.cleaned_up(max_entries=0)) == (1, 0, 0)
    assert await left(life) == [theirs, young]
    assert mine not in await left(life)
    assert came_to(await life.cleanup.for_all(CleanupAll(tenant_id="acme", max_entries=0), ANA)) == (1, 1, 0)


async def test_a_cleanup_that_is_due_is_told_as_the_workers(life: Life) -> None:
    episode = await life.house.episode()
    life.clock.turn(days=8)
    await life.cleanup.run(Due("acme", life.clock.now(), 1))
    assert (await life.last_event(episode))["actor"] == "worker"


async def test_cleanups_at_once_delete_no_more_than_one(life: Life) -> None:
    await episodes(life, 10, minutes=0)
    life.clock.turn(days=6)
    young = await episodes(life, 40, status="consolidated")
    life.clock.turn(days=1, hours=1)
    answers: list[CleanupAnswer] = []

    async def clean_up() -> None:
        answers.append(await life.cleaned_up(max_entries=15))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(clean_up)
    assert sum(answer.expired_deleted for answer in answers) == 10
    assert sum(answer.capacity_deleted for answer in answers) == 25
    assert await left(life) == young[25:]
    assert (await life.house.events()).count("episode_deleted") == 35


async def test_what_another_is_about_to_delete_does_not_count(life: Life) -> None:
    await episodes(life, 3)
    life.clock.turn(days=6)
    young = await episodes(life, 4, status="consolidated")
    life.clock.turn(days=1)
    async with life.house.database.transaction() as other:
        await other.execute("SELECT FROM knowledge_episodes WHERE NOT consolidated FOR UPDATE")
        assert came_to(await life.cleaned_up(max_entries=4)) == (0, 0, 7)
    assert came_to(await life.cleaned_up(max_entries=4)) == (3, 0, 4)
    assert await left(life) == young


async def test_a_cleanup_that_was_cut_off_is_gone_on_with(life: Life) -> None:
    consolidated = await episodes(life, 10, status="consolidated")
    last = await last_too_many(life, 4)
    await life.house.rows("DELETE FROM knowledge_episodes WHERE id = ANY ($1)", consolidated[:3])
    assert await last_too_many(life, 4) == last
    assert came_to(await life.cleaned_up(max_entries=4)) == (0, 3, 4)


async def last_too_many(life: Life, most: int) -> list[tuple[datetime, UUID]]:
    found = await life.house.rows(
        life.house.kit.queries["last_episode_too_many"], "acme", life.clock.now(), None, most
    )
    return [tuple(row) for row in found]
