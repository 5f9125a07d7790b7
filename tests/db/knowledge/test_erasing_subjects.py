"""Erasing a user, an agent or a tenant: no text and no name is left, of whatever table, and others keep theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import pytest

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.families.knowledge.consolidation.batches import LeaseLost as BatchLost
from elf.families.knowledge.consolidation.batches import Shard
from elf.families.knowledge.subjects.erasing import Erasure
from elf.families.knowledge.subjects.whose import Whose
from elf.offers import Subject
from elf.outbox.leased import LeaseLost
from tests.db.knowledge.conftest import AGENT, TENANT, KnowledgeHouse
from tests.db.knowledge.subjects_kit import World
from tests.db.knowledge.test_consolidation import Consolidating, Model, a_fact_each, told

pytestmark = pytest.mark.anyio

USER: Final = "Ana-Wolpertinger"
SCOPE: Final = f"user:{USER}"
WORD: Final = "Zanzibarqx"
ANA: Final = Caller(user=USER)
BEN: Final = Caller(user="ben")
ALONE: Final = Caller(user=USER, is_default_user=True)


@pytest.fixture
def world(knowledge: KnowledgeHouse) -> World:
    return World(knowledge)


async def counts(world: World) -> dict[str, int]:
    found = {}
    for table in ("episodes", "facts", "rules", "entities", "links", "events", "outbox", "rule_applications"):
        (row,) = await world.house.rows(f"SELECT count(*) AS many FROM knowledge_{table}")
        found[table] = row["many"]
    return found


async def due(world: World, chore: str, subject: str) -> None:
    await world.house.rows(
        "INSERT INTO chore_runs (family, chore, subject, due_at) VALUES ('knowledge', $1, $2, now()) RETURNING 1",
        chore,
        subject,
    )


async def test_of_an_erased_user_no_text_and_no_name_is_left(world: World) -> None:
    await world.remember("ben", "Timbuktuqx")
    await world.keep_traces()
    others = await world.where("Timbuktuqx"), await counts(world), await world.exported(user="ben")
    await world.remember(USER, WORD)
    await world.keep_traces()
    for butler in (SCOPE, "user:ben"):
        await due(world, "consolidation", Shard(TENANT, butler).name)
    assert len(await world.where(WORD)) > 15
    assert await world.where(USER) >= {
        "knowledge_events.actor",
        "chore_runs.subject",
        "search_trace_outbox.payload",
    }
    gone = await world.erase(user=USER)
    assert gone == {
        "episodes": 2, "facts": 3, "rules": 2, "entities": 2, "traces": 2, "chore_runs": 1,
    }  # fmt: skip
    assert await world.where(WORD) == await world.where(USER) == set()
    kept = await world.where("Timbuktuqx"), await counts(world), await world.exported(user="ben")
    assert (kept[0], kept[2]) == (others[0], others[2])
    assert {**kept[1], "events": 0} == {**others[1], "events": 0}
    assert await world.where("user:ben") >= {"chore_runs.subject"}
    assert await world.exported(user=USER) == []
    assert {*(await world.erase(user=USER)).values()} == {0}


async def test_what_rests_on_others_too_stays_and_loses_its_source(world: World) -> None:
    house = world.house
    mine = await house.episode("Ana said so.", ANA, metadata={"user": USER})
    other = await house.episode("Ben said so.", BEN, metadata={"user": "ben"})
    gone = await house.episode("Ana said more.", ANA, butler=SCOPE)
    facts = {
        "by her": await house.fact(ANA, subject="by her"),
        "mine": await house.fact(AGENT, subject="mine", source_episode_id=mine),
        "both": await house.fact(AGENT, subject="both", source_butler=SCOPE),
        "neither": await house.fact(AGENT, subject="neither"),
        "lost": await house.fact(AGENT, subject="lost"),
        "of ben alone": await house.fact(BEN, subject="of ben alone", scope="user:ben"),
    }
    rule = await house.rule("Ask", AGENT)
    for source, target in (("both", mine), ("both", other), ("lost", mine)):
        await house.link(("fact", facts[source].id), ("episode", target), "derived_from", AGENT)
    await house.link(("fact", facts["lost"].id), ("episode", gone), "derived_from", ANA)
    await house.link(("rule", rule), ("episode", mine), "derived_from", AGENT)
    await house.link(("fact", facts["neither"].id), ("episode", mine), "supports", AGENT)
    await house.rows("DELETE FROM knowledge_episodes WHERE id = $1 RETURNING 1", gone)  # its time was over
    erased = await world.erase(user=USER)
    assert (erased["episodes"], erased["facts"], erased["rules"]) == (1, 3, 1)
    left = await house.rows(
        "SELECT subject, source_episode_id, source_butler FROM knowledge_facts ORDER BY subject"
    )
    assert [tuple(row.values()) for row in left] == [
        ("both", None, None), ("neither", None, None), ("of ben alone", None, None),
    ]  # fmt: skip
    (link,) = await house.rows("SELECT source_id, target_id FROM knowledge_links")
    assert tuple(link.values()) == (facts["both"].id, other)
    assert await world.where(USER) == set()


async def test_what_a_user_told_of_what_stays_goes(world: World) -> None:
    house, life = world.house, world.life
    rule = await house.rule("Seat them at the window", AGENT, metadata={"asked_by": USER, "why": "a wish"})
    inverted = await house.rule("Wake them early", AGENT)
    for id in (rule, inverted):
        await life.harmful(id, AGENT, reason="it was late")
        await life.harmful(id, ALONE, reason=f"{WORD} disturbed", context=f"in {WORD}")
    await life.harmful(inverted, ALONE, reason=f"{WORD} again")
    await life.harmful(inverted, ANA, reason="not told to others")
    await life.do_jobs()
    assert f"late; {WORD} disturbed; {WORD} again" in (await house.row("rule", inverted))["content"]
    shared = await world.entity("Ben", BEN, metadata={"knows": [{"best": USER}], "desk": 4})
    await house.fact(BEN, entity_id=shared)
    made = await world.entity(f"Aunt {WORD}", ANA)
    about = await house.fact(AGENT, subject="somebody", entity_id=await world.entity("Cousin", ANA))
    erased = await world.erase(user=USER)
    assert (erased["rules"], erased["facts"], erased["entities"]) == (0, 0, 1)
    assert await world.where(WORD) == await world.where(USER) == set()
    row = await house.row("rule", rule)
    assert (row["metadata"], row["harmful_count"]) == (
        {"harmful_reasons": ["it was late"], "why": "a wish"},
        2,
    )
    reworded = (await house.row("rule", inverted))["content"]
    assert reworded == (
        "ANTI-PATTERN: Do NOT Wake them early. This caused problems because: it was late"
    )  # fmt: skip
    assert await life.open_jobs() == [("vector", "rule", inverted)]
    entities = {
        row["id"]: row["metadata"] for row in await house.rows("SELECT id, metadata FROM knowledge_entities")
    }
    assert entities[shared] == {"desk": 4}
    assert made not in entities
    assert (await house.row("fact", about.id))["entity_id"] in entities


async def test_of_an_erased_agent_its_scope_and_episodes_go(world: World) -> None:
    house = world.house
    agent = "planner"
    episode = await house.episode(f"Sails to {WORD}.", butler=agent)
    await house.fact(content=WORD, scope=agent, source_butler=agent)
    await house.fact(content=f"{WORD}?", predicate="trip", source_episode_id=episode)
    await house.rule(f"Ask about {WORD}", scope=agent)
    kept = [
        (await house.fact(content="the window", source_butler=agent)).id,
        await house.rule("Ask first"),
        await house.episode("Ana flew."),
    ]
    await world.finder.search(WORD, scope=agent)
    await world.finder.search("seat")
    await world.keep_traces()
    await due(world, "consolidation", Shard(TENANT, agent).name)
    gone = await world.erase(agent_id=agent)
    assert gone == {
        "episodes": 1, "facts": 2, "rules": 1, "entities": 0, "traces": 1, "chore_runs": 1,
    }  # fmt: skip
    assert await world.where(WORD) == await world.where(agent) == set()
    left = [
        row["id"]
        for kind in ("facts", "rules", "episodes")
        for row in await house.rows(f"SELECT id FROM knowledge_{kind}")
    ]
    assert left == kept


async def test_of_an_erased_tenant_nothing_is_left(world: World) -> None:
    await world.remember("ben", "Timbuktuqx")
    await world.remember(USER, WORD)
    await world.keep_traces()
    elsewhere = await world.house.fact(tenant_id="another", content="elsewhere")
    await due(world, "decay_sweep", TENANT)
    await due(world, "consolidation", Shard(TENANT, "travel").name)
    await due(world, "consolidation", Shard("another", "travel").name)
    before = await counts(world)
    gone = await world.erase()
    assert (gone["facts"], gone["rules"], gone["episodes"], gone["entities"]) == (6, 4, 4, 4)
    assert (gone["traces"], gone["chore_runs"]) == (4, 2)
    assert gone["events"] >= before["events"] - 1
    for word in (WORD, USER, "Timbuktuqx", TENANT):
        assert await world.where(word) == set()
    assert {name: count for name, count in (await counts(world)).items() if count} == {
        "facts": 1,
        "events": 1,
    }
    assert (await world.house.row("fact", elsewhere.id))["content"] == "elsewhere"


async def test_memories_are_erased_in_steps_whatever_rests_on_them(world: World) -> None:
    house = world.house
    episodes = [await house.episode(f"Said {number}.", ANA, butler=SCOPE) for number in range(5)]
    for number in range(5):
        fact = await house.fact(ANA, subject=str(number), source_episode_id=episodes[number])
        for episode in episodes:
            await house.link(("fact", fact.id), ("episode", episode), "derived_from", ANA)
    gone = await Erasure(house.kit, step=2).erase(Whose.of(Subject(tenant_id=TENANT, user=USER)))
    assert (gone["episodes"], gone["facts"]) == (5, 5)
    assert {name for name, count in (await counts(world)).items() if count} == {"events"}


async def test_work_in_hand_while_its_user_is_erased_is_undone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, life = world.house, world.life
    house.model.away = True
    await house.rule(f"Call {WORD}", ANA, scope=SCOPE)
    house.model.away = False
    jobs, embed = await life.lease(), house.model.embed

    async def embed_meanwhile(texts: Sequence[str]) -> Any:
        await world.erase(user=USER)
        return await embed(texts)

    monkeypatch.setattr(house.model, "embed", embed_meanwhile)
    with pytest.raises(LeaseLost):
        await life.jobs.handle(jobs)
    assert await world.where(WORD) == await world.where(USER) == set()


async def test_a_batch_in_hand_while_its_user_is_erased_is_undone(world: World) -> None:
    house, model = world.house, Model(a_fact_each)
    await house.episode(f"Flies to {WORD}.", ANA, metadata={"user_id": USER})
    await house.episode("Ben walks.", BEN, metadata={"user_id": "ben"})
    model.meanwhile = lambda: world.erase(user=USER)
    consolidating = Consolidating(house, model)
    with pytest.raises(BatchLost):
        await consolidating.drain(user=USER)
    assert await world.where(WORD) == await world.where(USER) == set()
    model.meanwhile = None
    house.clock.turn(seconds=301)
    await consolidating.drain(user="ben")
    assert [subject for subject, _, _ in await consolidating.facts()] == ["Ben walks."]


@pytest.mark.parametrize("way", ["metadata", "call", "scope"])
async def test_what_comes_in_while_a_user_is_erased_keeps_the_name_by_which_it_is_erased(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    house, unname = world.house, Erasure._mentions
    kept: list[set[Any]] = []

    async def unname_meanwhile(erasure: Erasure, whose: Whose) -> Counter[str]:
        if kept:
            return await unname(erasure, whose)
        naming = {"user_id": USER, "with": [{"best": USER}]}
        by = {"metadata": {"caller": AGENT}, "call": {"caller": ANA}, "scope": {"caller": ANA}}[way]
        of = {"butler": SCOPE} if way == "scope" else {}
        episode = await house.episode(f"Flies to {WORD}.", metadata=naming, **by, **of)
        scoped = {"scope": SCOPE} if way == "scope" else {}
        fact = await house.fact(subject=WORD, metadata=naming, source_episode_id=episode, **by, **scoped)
        gone = await unname(erasure, whose)
        rows = [await house.row("episode", episode), await house.row("fact", fact.id)]
        kept.append({(row["user_id"], row["metadata"]["user_id"]) for row in rows})
        return gone

    monkeypatch.setattr(Erasure, "_mentions", unname_meanwhile)
    await house.episode("Ana flies.", ANA, metadata={"user_id": USER})
    assert (await world.erase(user=USER))["episodes"] == 2
    assert kept == [{(USER, USER)}]
    assert await world.where(WORD) == await world.where(USER) == set()


async def test_what_was_made_of_the_episodes_of_several_users_is_each_users_own(world: World) -> None:
    house = world.house
    await house.episode("Ana flies.", ANA, metadata={"user_id": USER})
    await house.episode("Ben walks.", BEN)
    consolidating = Consolidating(house, Model(lambda known: {"new_facts": [told("user", "travels")]}))
    answer = await consolidating.run()
    assert (answer.groups, answer.groups_consolidated, answer.facts_created) == ({"travel": 2}, 2, 2)
    rows = await house.rows(
        "SELECT scope, user_id, reader, source_butler FROM knowledge_facts ORDER BY scope"
    )
    assert [tuple(row.values()) for row in rows] == [
        (SCOPE, USER, "travel", "travel"), ("user:ben", "ben", "travel", "travel"),
    ]  # fmt: skip
    assert (await world.erase(user=USER))["facts"] == 1
    (left,) = await house.rows("SELECT user_id FROM knowledge_facts WHERE validity = 'active'")
    assert left["user_id"] == "ben"
    assert await world.where(USER) == set()
    assert (await world.erase(agent_id="travel"))["facts"] == 1


@pytest.mark.parametrize(
    ("whose", "paths"),
    [
        ({"user": "ana", "agent_id": "travel"}, ["$.user", "$.agent_id"]),
        ({"user": ""}, ["$.user"]),
        ({"agent_id": "global"}, ["$.agent_id"]),
    ],
)
async def test_who_is_meant_is_said_exactly(world: World, whose: dict[str, str], paths: list[str]) -> None:
    id: UUID = (await world.house.fact()).id
    with pytest.raises(InvalidRequest) as refused:
        await world.erase(**whose)
    assert [*refused.value.fields] == paths
    with pytest.raises(InvalidRequest):
        await world.exported(**whose)
    assert await world.house.row("fact", id)
