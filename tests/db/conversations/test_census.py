"""Counting the conversations of all tenants."""

from __future__ import annotations

from uuid import uuid4

import pytest

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.census import ConversationCensus
from elf.families.conversations.model import NewEntry
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who

pytestmark = pytest.mark.anyio

ENTRY = NewEntry(channel="history", content_type="history", content=[{"role": "USER", "text": "Hi"}])


async def test_conversations_of_all_tenants_are_counted_forks_and_deleted_ones_too(
    store: ConversationStore, database: Database, queries: Queries
) -> None:
    before = await counts(database, queries)
    for _ in range(2):
        who = Who(tenant_id=f"counted-{uuid4()}", user="ana")
        await store.append(who, uuid4(), ENTRY)
        gone = uuid4()
        said = await store.append(who, gone, ENTRY)
        await store.fork(who, gone, said.entry_id)
        await store.delete(who, gone)
    after = await counts(database, queries)
    assert {state: after[state] - before[state] for state in after} == {"live": 2, "deleted": 4}


async def counts(database: Database, queries: Queries) -> dict[str, float]:
    found = await ConversationCensus(database, queries).gauge().read()
    assert found is not None
    return {state: number for (state,), number in found.items()}
