"""What operators erase for good: one memory of its kind, or an entity with all that is known of it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.errors import InvalidRequest, NotFound
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.api import working as k
from elf.families.knowledge.entities.registry import EntityRegistry
from elf.families.knowledge.upkeep.erasing import Erasing
from tests.db.conftest import until
from tests.db.knowledge.conftest import AGENT, TENANT, KnowledgeHouse

pytestmark = pytest.mark.anyio

WAITING = "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
STORE = """
INSERT INTO knowledge_facts (tenant_id, subject, predicate, content, entity_id) VALUES ($1, 'Ana', $2, 'x', $3)
"""


@pytest.fixture
def house(knowledge: KnowledgeHouse) -> KnowledgeHouse:
    knowledge.caller = AGENT
    return knowledge


async def erase(house: KnowledgeHouse, what: str, id: UUID, **more: Any) -> dict[str, int]:
    request = k.Erase(tenant_id=TENANT, what=what, id=id, **more)  # type: ignore[arg-type]
    return (await Erasing(house.kit).run(request, AGENT)).erased


async def entity(house: KnowledgeHouse) -> UUID:
    request = e.CreateEntity(tenant_id=TENANT, canonical_name=f"Ana {uuid4()}", entity_type="person")
    return (await EntityRegistry(house.kit).create(request, AGENT)).entity_id


async def test_a_memory_is_erased_as_one_of_its_kind_alone(house: KnowledgeHouse) -> None:
    ids = {"fact": (await house.fact()).id, "rule": await house.rule(), "episode": await house.episode()}
    for kind, id in ids.items():
        for other in ids.keys() - {kind}:
            with pytest.raises(NotFound, match=f"there is no {other} {id}"):
                await erase(house, "memory", id, memory_type=other)
            assert (await house.row(kind, id))["id"] == id
        assert (await erase(house, "memory", id, memory_type=kind))[f"{kind}s"] == 1
        with pytest.raises(NotFound):
            await erase(house, "memory", id, memory_type=kind)
    any_kind = await house.rule()
    assert (await erase(house, "memory", any_kind))["rules"] == 1


async def test_what_has_no_kind_is_not_erased_by_one(house: KnowledgeHouse) -> None:
    ana = await entity(house)
    with pytest.raises(InvalidRequest) as refused:
        await erase(house, "entity", ana, memory_type="fact")
    assert refused.value.fields == ("$.memory_type",)
    assert (await erase(house, "entity", ana))["entities"] == 1


async def test_an_entity_is_erased_with_the_facts_that_are_stored_at_that_moment(
    house: KnowledgeHouse,
) -> None:
    ana = await entity(house)
    await house.fact(entity_id=ana)
    erased: dict[str, int] = {}

    async def run() -> None:
        erased.update(await erase(house, "entity", ana))

    async def is_waiting() -> bool:
        return bool((await house.rows(WAITING))[0]["n"])

    async with anyio.create_task_group() as group, house.database.transaction() as connection:
        await connection.execute(STORE, TENANT, "late", ana)
        group.start_soon(run)
        await until(is_waiting)
    assert (erased["facts"], erased["entities"]) == (2, 1)
    assert await house.rows("SELECT id FROM knowledge_facts") == []
    assert await house.rows("SELECT id FROM knowledge_entities") == []
    with pytest.raises(InvalidRequest, match="there is no entity"):
        await house.fact(entity_id=ana)


async def test_facts_stored_while_their_entity_is_erased_are_refused_or_go_with_it(
    house: KnowledgeHouse,
) -> None:
    for _ in range(10):
        ana = await entity(house)
        refused: list[str] = []

        async def store(predicate: str, ana: UUID = ana, refused: list[str] = refused) -> None:
            try:
                await house.fact(entity_id=ana, predicate=predicate)
            except InvalidRequest as error:
                refused.append(error.message)

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(store, f"p{number}")
                if number == 4:
                    group.start_soon(erase, house, "entity", ana)
        assert all("there is no entity" in one for one in refused)
        assert await house.rows("SELECT id FROM knowledge_facts") == []
