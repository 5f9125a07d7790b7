"""All memories of a tenant or an agent are taken along, taken in elsewhere, and erased."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elf.core.errors import InvalidRequest
from elf.db.database import Database
from elf.offers import Subject
from tests.db.graph.house import FACT, TENANT, House, fact, house_at, link

pytestmark = pytest.mark.anyio
ALL = Subject(tenant_id=TENANT)


async def exported(house: House, subject: Subject = ALL) -> list[Any]:
    assert house.opened.subjects is not None
    return [one async for one in house.opened.subjects.export(subject)]


async def filled(house: House) -> None:
    contradiction = link("m1", "m2", "Contradicts", edgeId="c")
    await house.post(
        "memories", memories=[FACT, fact("m2")], edges=[contradiction, link("m1", "m2", edgeId="e")]
    )
    await house.post("contradictions/c/resolve", keep="TO", reason="newer")
    await house.post("memories", memories=[FACT], orchestrator_id="writer")


async def test_what_is_exported_is_the_same_where_it_is_taken_in(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        await filled(house)
        taken = await exported(house)
        before = (await house.get("memories/m1/edges"))["items"]
    async with database.connection() as connection:
        await connection.execute("DELETE FROM graph_homes")  # as in another service
    (tmp_path / "other").mkdir()
    async with house_at(database, tmp_path / "other") as house:
        assert house.opened.subjects is not None
        assert await house.opened.subjects.take_in(taken) == len(taken) == 10
        assert await house.opened.subjects.take_in(taken) == 0
        assert await exported(house) == taken
        assert (await house.get("memories/m1/edges"))["items"] == before


async def test_an_agents_memory_is_that_of_the_orchestrator_of_its_name(house: House) -> None:
    await filled(house)
    writer = Subject(tenant_id=TENANT, agent_id="writer")
    assert [one["memory"]["memoryId"] for one in await exported(house, writer) if "memory" in one] == ["m1"]
    assert house.opened.subjects is not None
    assert (await house.opened.subjects.erase(writer))["memories"] == 1
    assert {one["orchestrator_id"] for one in await exported(house)} == {"planner"}
    assert await exported(house, Subject(tenant_id="rival")) == []
    assert await exported(house, Subject(tenant_id=TENANT, user="ana")) == []
    await house.opened.subjects.erase(ALL)
    assert await exported(house) == []


@pytest.mark.parametrize(
    "odd", [{}, {"tenant_id": "acme"}, {"tenant_id": "acme", "orchestrator_id": "planner"}]
)
async def test_what_the_graph_has_not_exported_is_refused(house: House, odd: dict[str, str]) -> None:
    assert house.opened.subjects is not None
    with pytest.raises(InvalidRequest, match="nothing that the graph exports"):
        await house.opened.subjects.take_in([odd])
