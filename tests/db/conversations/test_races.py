"""Some rounds of the races of conversations, and the proof that they would see a fault."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from elf.db.database import Database
from tests.chaos.conversation_races import ConversationRaces

pytestmark = pytest.mark.anyio


@pytest.fixture
async def races(conversations_dsn: str) -> AsyncIterator[ConversationRaces]:
    databases = [Database(max_conns=10) for _ in range(2)]
    for database in databases:
        await database.open(conversations_dsn)
    yield ConversationRaces(databases, seed=1)
    for database in databases:
        await database.close()


async def test_whatever_the_order_nothing_is_doubled_lost_or_half_done(races: ConversationRaces) -> None:
    assert await races.run(3) == []


@pytest.mark.parametrize(
    ("query", "was", "instead", "found"),
    [
        ("write_entry", "FOR NO KEY UPDATE OF c", "", "conversation_entries_pkey"),
        (
            "delete_transfer",
            "DELETE FROM conversation_transfers AS x WHERE",
            "UPDATE conversation_transfers AS x SET tenant_id = $1 WHERE",
            "of accept and cancel are done",
        ),
    ],
)
async def test_a_planted_fault_is_found(
    races: ConversationRaces, query: str, was: str, instead: str, found: str
) -> None:
    races.loosen(query, was, instead)
    assert any(found in fault for fault in await races.run(4))
