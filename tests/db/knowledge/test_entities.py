"""Entities: made, changed, found by a name, and merged."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api import rows
from elf.families.knowledge.entities.merging import EntityMerging
from elf.families.knowledge.entities.registry import EntityRegistry
from elf.families.knowledge.entities.resolution import EntityResolution
from tests.db.knowledge.conftest import AGENT, ANA, TENANT, KnowledgeHouse

pytestmark = pytest.mark.anyio


class People:
    """The entities of a house."""

    def __init__(self, house: KnowledgeHouse) -> None:
        self.house = house
        self.registry = EntityRegistry(house.kit)
        self.resolution = EntityResolution(house.kit)
        self.merging = EntityMerging(house.kit)

    async def add(self, name: str = "Ana Lima", caller: Caller = ANA, **fields: Any) -> UUID:
        said = {"tenant_id": TENANT, "canonical_name": name, "entity_type": "person"}
        return (await self.registry.create(e.CreateEntity(**(said | fields)), caller)).entity_id

    async def get(self, id: UUID, tenant_id: str = TENANT) -> rows.Entity:
        return await self.registry.get(e.OneEntity(tenant_id=tenant_id, entity_id=id), ANA)

    async def update(self, id: UUID, **fields: Any) -> rows.Entity:
        return await self.registry.update(e.UpdateEntity(tenant_id=TENANT, entity_id=id, **fields), ANA)

    async def resolve(self, name: str, caller: Caller = ANA, **fields: Any) -> list[e.EntityCandidate]:
        request = e.ResolveEntity(**({"tenant_id": TENANT, "name": name} | fields))
        return (await self.resolution.resolve(request, caller)).items

    async def found(self, name: str, **fields: Any) -> list[tuple[str, str, float]]:
        return [(one.canonical_name, one.name_match, one.score) for one in await self.resolve(name, **fields)]

    async def merge(self, source: UUID, target: UUID, tenant_id: str = TENANT) -> e.MergedEntities:
        request = e.MergeEntities(tenant_id=tenant_id, source_entity_id=source, target_entity_id=target)
        return await self.merging.merge(request, ANA)

    async def fact(self, entity: UUID, predicate: str, confidence: float = 1.0, **fields: Any) -> UUID:
        id = (await self.house.fact(entity_id=entity, predicate=predicate, **fields)).id
        await self.house.rows("UPDATE knowledge_facts SET confidence = $2 WHERE id = $1", id, confidence)
        return id


@pytest.fixture
def people(knowledge: KnowledgeHouse) -> People:
    return People(knowledge)


async def test_entity_schema(people: People) -> None:
    id = await people.add(aliases=["Ana", "ana", "A. Lima"], metadata={"team": "north"})
    entity = await people.get(id)
    assert (entity.canonical_name, entity.entity_type, entity.tenant_id) == ("Ana Lima", "person", TENANT)
    assert entity.aliases == ["Ana", "A. Lima"]
    assert entity.metadata == {"team": "north"}
    assert entity.created_at == entity.updated_at == people.house.clock.moment
    assert await people.house.events(id) == ["entity_created"]
    with pytest.raises(NotFound):
        await people.get(id, "other")


async def test_uniqueness_constraint_on_entities(people: People) -> None:
    await people.add()
    with pytest.raises(InvalidRequest, match="already") as error:
        await people.add()
    assert error.value.fields == ("$.canonical_name",)
    await people.add(entity_type="organization")
    await people.add(tenant_id="other")
    other = await people.add("Ana")
    with pytest.raises(InvalidRequest, match="already"):
        await people.update(other, canonical_name="Ana Lima")


async def test_entity_update_semantics(people: People) -> None:
    id = await people.add(aliases=["Ana", "Annie"], metadata={"team": "north", "desk": 4})
    people.house.clock.turn(hours=1)
    entity = await people.update(id, aliases=["Anita"], metadata={"team": "south"})
    assert entity.canonical_name == "Ana Lima"
    assert entity.aliases == ["Anita"]
    assert entity.metadata == {"team": "south", "desk": 4}
    assert entity.updated_at == people.house.clock.moment > entity.created_at
    assert (await people.update(id, canonical_name="Ana Reis")).canonical_name == "Ana Reis"
    assert await people.found("annie") == []
    assert await people.found("anita") == [("Ana Reis", "alias", 80.0)]
    with pytest.raises(NotFound):
        await people.update(uuid4(), aliases=[])


async def test_exact_canonical_name_match(people: People) -> None:
    await people.add()
    assert await people.found("ANA lima") == [("Ana Lima", "exact", 100.0)]
    assert await people.found("Ana Lima", tenant_id="other") == []
    assert await people.found("Ana Lima", entity_type="place") == []


async def test_exact_alias_match(people: People) -> None:
    await people.add(aliases=["Annie"])
    assert await people.found("ANNIE") == [("Ana Lima", "alias", 80.0)]


async def test_prefix_and_substring_match(people: People) -> None:
    await people.add(aliases=["The boss"])
    assert await people.found("ana") == await people.found("Lima") == await people.found("BOSS")
    assert await people.found("ana") == [("Ana Lima", "prefix", 50.0)]


@pytest.mark.parametrize("name", ["%", "_", "\\", "a%a", "Ana_Lima", "  ", ""])
async def test_signs_of_patterns_are_letters_and_a_blank_name_is_nobodys(people: People, name: str) -> None:
    await people.add()
    assert await people.found(name) == []


async def test_fuzzy_match(people: People) -> None:
    await people.add("Alexander Petersen", aliases=["Sascha"])
    assert await people.found("Aleksander Peterson") == []
    (found,) = await people.found("Aleksander Peterson", enable_fuzzy=True)
    assert found == ("Alexander Petersen", "fuzzy", 20.0)
    assert await people.found("Sasha", enable_fuzzy=True) == [("Alexander Petersen", "fuzzy", 20.0)]
    assert await people.found("Sa", enable_fuzzy=True) == [("Alexander Petersen", "prefix", 50.0)]
    assert await people.found("Zz", enable_fuzzy=True) == []


async def test_who_is_merely_similar_is_found_beside_any_number_of_closer_names(people: People) -> None:
    for number in range(30):
        await people.add(f"Aleksander Peterson {number}")
    await people.add("Alexander Petersen")
    found = await people.found("Aleksander Peterson", enable_fuzzy=True)
    assert [way for _, way, _ in found] == ["prefix"] * 30 + ["fuzzy"]
    assert found[-1] == ("Alexander Petersen", "fuzzy", 20.0)


async def test_fuzzy_match_without_pg_trgm(people: People) -> None:
    await people.add("Alexander Petersen")
    people.resolution._sql = people.house.kit.queries.__class__(  # a server that never heard of it
        {**people.house.kit.queries, "can_be_similar": "SELECT NULL::text"}
    )
    assert await people.found("Aleksander Peterson", enable_fuzzy=True) == []


async def test_graph_neighborhood_scoring_with_context_hints(people: People) -> None:
    chef, pilot = await people.add("Ana", metadata={}), await people.add("Ana", entity_type="other")
    await people.fact(chef, "job", content="cooks pasta")
    await people.fact(pilot, "job", content="flies planes")
    hints = e.ContextHints(topic="planes that somebody flies", mentioned_with=["job"])
    first, second = await people.resolve("ana", context_hints=hints)
    assert (first.entity_id, second.entity_id) == (pilot, chef)
    # job flies planes | planes that somebody flies job: 3 of 5 words; job | ...: 1 of 7
    assert first.score == 100.0 + 20.0 * 3 / 5
    assert second.score == round(100.0 + 20.0 * 1 / 7, 4)
    assert first.terms == {"name": 100.0, "context": 20.0 * 3 / 5}


async def test_hints_are_compared_with_the_beginning_of_a_long_fact(people: People) -> None:
    ana = await people.add("Ana")
    await people.fact(ana, "job", content=f"{'flew ' * 100}planes")
    (found,) = await people.resolve("ana", context_hints=e.ContextHints(topic="flew planes"))
    assert found.score == round(100.0 + 20.0 * 1 / 3, 4)  # flew | flew planes, job


async def test_hints_do_not_tell_of_facts_of_another_user(people: People) -> None:
    ana = await people.add("Ana", caller=AGENT)
    await people.fact(ana, "secret", content="planes", scope="user:ana")
    hints = e.ContextHints(topic="planes")
    (own,) = await people.resolve("ana", context_hints=hints)
    (other,) = await people.resolve("ana", Caller(user="ben"), context_hints=hints)
    assert own.score > other.score == 100.0


async def test_domain_scores_from_context_hints(people: People) -> None:
    first, second = await people.add("Ana Lima"), await people.add("Ana Reis")
    scores = {str(second): 7.25, str(uuid4()): 50.0, "nobody": 3.0, str(first): -60.0}
    (found,) = await people.resolve("ana", context_hints=e.ContextHints(domain_scores=scores))
    assert (found.entity_id, found.score) == (second, 57.25)
    assert found.terms == {"name": 50.0, "domain": 7.25}


async def test_resolution_ordering(people: People) -> None:
    for name in ("Ana Z", "Ana a", "Ana B"):
        await people.add(name)
    await people.add("Ana")
    found = await people.resolve("ana")
    assert [one.canonical_name for one in found] == ["Ana", "Ana B", "Ana Z", "Ana a"]
    assert all(one.aliases == [] for one in found)


async def test_no_candidates_found(people: People) -> None:
    assert await people.found("Nobody", enable_fuzzy=True) == []
    assert await people.house.rows("SELECT FROM knowledge_entities") == []


async def test_fact_re_pointing_without_conflict(people: People) -> None:
    source, target = await people.add("Ana"), await people.add("Ana Lima")
    fact, past = await people.fact(source, "seat"), await people.fact(source, "meal")
    await people.house.rows("UPDATE knowledge_facts SET validity = 'retracted' WHERE id = $1", past)
    merged = await people.merge(source, target)
    assert (merged.facts_repointed, merged.facts_superseded) == (1, 0)
    for id in (fact, past):
        assert (await people.house.row("fact", id))["entity_id"] == target


@pytest.mark.parametrize(
    ("source_is", "target_is", "stays"), [(0.9, 0.5, "source"), (0.5, 0.9, "target"), (0.7, 0.7, "target")]
)
async def test_fact_conflict_resolution_by_confidence(
    people: People, source_is: float, target_is: float, stays: str
) -> None:
    source, target = await people.add("Ana"), await people.add("Ana Lima")
    facts = {
        "source": await people.fact(source, "seat", source_is),
        "target": await people.fact(target, "seat", target_is),
    }
    goes = "target" if stays == "source" else "source"
    other = await people.fact(source, "seat", scope="travel")
    merged = await people.merge(source, target)
    assert (merged.facts_repointed, merged.facts_superseded) == (1, 1)
    kept, gone = await people.house.row("fact", facts[stays]), await people.house.row("fact", facts[goes])
    assert (kept["validity"], kept["entity_id"], kept["supersedes_id"]) == ("active", target, facts[goes])
    assert (gone["validity"], gone["entity_id"]) == ("superseded", target)
    assert (await people.house.row("fact", other))["entity_id"] == target
    links = await people.house.rows("SELECT source_id, target_id, relation FROM knowledge_links")
    assert [tuple(link.values()) for link in links] == [(facts[stays], facts[goes], "supersedes")]
    assert "fact_superseded" in await people.house.events(facts[goes])


async def test_alias_and_metadata_merging(people: People) -> None:
    source = await people.add(
        "Ana", aliases=["Annie", "ANA LIMA", "boss"], metadata={"team": "north", "desk": 4}
    )
    target = await people.add("Ana Lima", aliases=["Boss"], metadata={"team": "south"})
    merged = await people.merge(source, target)
    entity = await people.get(target)
    assert entity.aliases == ["Boss", "Annie"]
    assert merged.aliases_added == ["Annie"]
    assert entity.metadata == {"team": "south", "desk": 4}


async def test_source_entity_tombstoning(people: People) -> None:
    source, target = await people.add("Ana"), await people.add("Ana Lima")
    people.house.clock.turn(hours=1)
    await people.merge(source, target)
    tombstone = await people.get(source)
    assert tombstone.metadata["merged_into"] == str(target)
    assert tombstone.updated_at == people.house.clock.moment
    assert await people.found("ana") == [("Ana Lima", "prefix", 50.0)]
    with pytest.raises(InvalidRequest, match=f"merged into {target}"):
        await people.update(source, aliases=["Annie"])
    with pytest.raises(InvalidRequest, match=f"merged into {target}"):
        await people.fact(source, "seat")
    listed = await people.registry.page(a.ListEntities(tenant_id=TENANT), ANA)
    merged = await people.registry.page(a.ListEntities(tenant_id=TENANT, merged=True), ANA)
    assert [one.id for one in listed.items] == [target]
    assert [one.id for one in merged.items] == [source]


async def test_audit_event_for_merge(people: People) -> None:
    source, target = await people.add("Ana", aliases=["Annie"]), await people.add("Ana Lima")
    await people.fact(source, "meal")
    await people.merge(source, target)
    (event,) = await people.house.rows(
        "SELECT payload, memory_id, actor FROM knowledge_events WHERE event_type = 'entity_merge'"
    )
    assert event["payload"] == {
        "source_entity_id": str(source), "target_entity_id": str(target), "facts_repointed": 1, "facts_superseded": 0,
        "aliases_added": 1,
    }  # fmt: skip
    assert (event["memory_id"], event["actor"]) == (target, "ana")


async def test_merge_validation(people: People) -> None:
    source, target, third = await people.add("Ana"), await people.add("Ana Lima"), await people.add("Ben")
    with pytest.raises(InvalidRequest) as error:
        await people.merge(source, source)
    assert error.value.fields == ("$.target_entity_id",)
    with pytest.raises(InvalidRequest) as error:
        await people.merge(uuid4(), target)
    assert error.value.fields == ("$.source_entity_id",)
    with pytest.raises(InvalidRequest) as error:
        await people.merge(source, target, tenant_id="other")
    assert error.value.fields == ("$.source_entity_id", "$.target_entity_id")
    await people.merge(source, target)
    for pair in ((source, third), (third, source)):
        with pytest.raises(InvalidRequest, match=f"merged into {target}"):
            await people.merge(*pair)


async def test_row_level_locking_during_merge(people: People) -> None:
    """Merges in both directions, and facts stored for the source meanwhile: no fact is lost, and one merge wins."""
    rng = random.Random(18)
    for _ in range(6):
        one, other = await people.add(f"Ana {rng.random()}"), await people.add(f"Ben {rng.random()}")
        merged: list[UUID] = []
        stored: list[UUID] = []

        async def merge(source: UUID, target: UUID, merged: list[UUID] = merged) -> None:
            try:
                merged.append((await people.merge(source, target)).target_entity_id)
            except InvalidRequest as error:
                assert "merged into" in error.message  # noqa: PT017 - who comes second is told so

        async def store(place: int, one: UUID = one, stored: list[UUID] = stored) -> None:
            try:
                stored.append((await people.house.fact(entity_id=one, predicate=str(place))).id)
            except InvalidRequest as error:
                assert "merged into" in error.message  # noqa: PT017

        async with anyio.create_task_group() as together:
            together.start_soon(merge, one, other)
            together.start_soon(merge, other, one)
            for place in range(8):
                together.start_soon(store, place)
        (winner,) = merged
        for id in stored:
            row = await people.house.row("fact", id)
            assert (row["entity_id"], row["validity"]) == (winner, "active")
