"""Some rounds of the races of knowledge, and the proof that they would see a fault."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from elf.db.database import Database
from tests.chaos.knowledge_races import KnowledgeRaces

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def races(database_dsn: str) -> AsyncIterator[KnowledgeRaces]:
    databases = [Database(max_conns=10) for _ in range(2)]
    for database in databases:
        await database.open(database_dsn)
    yield KnowledgeRaces(databases, seed=1)
    for database in databases:
        await database.close()


async def test_whatever_the_order_nothing_is_doubled_lost_or_left_half_done(races: KnowledgeRaces) -> None:
    assert await races.run(2) == []


@pytest.mark.parametrize(
    ("query", "was", "instead", "found"),
    [
        ("lock_rule", "FOR NO KEY UPDATE", "", "a rule counts"),
        ("lock_fact", "FOR NO KEY UPDATE", "", "a fact that tells"),
        ("next_batch", "o.lease IS NOT NULL", "false", "LeaseLost"),
    ],
)
async def test_a_planted_fault_is_found(
    races: KnowledgeRaces, query: str, was: str, instead: str, found: str
) -> None:
    races.loosen(query, was, instead)
    faults: list[str] = []
    for _ in range(5):  # on a busy machine the two may miss each other for once
        faults += await races.run(2)
        if any(found in fault for fault in faults):
            return
    assert faults == [found]
