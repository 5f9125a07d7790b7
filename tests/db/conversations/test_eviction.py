"""Trees that were deleted long ago vanish whole, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from uuid import UUID, uuid4

import anyio
import pytest

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.model import NewEntry
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who
from elf.indexing.writes import CorpusWrites
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

TABLES = (
    "conversation_trees", "conversations", "conversation_entries", "conversation_memberships", "conversation_texts",
)  # fmt: skip


class Trees:
    def __init__(self, store: ConversationStore, database: Database) -> None:
        self.store, self._database = store, database
        self.who = Who(tenant_id=f"evicted-{uuid4()}", user="ana")

    async def new(self, entries: int) -> UUID:
        """A tree with a fork, and so many entries in it."""
        id = (await self.store.create(self.who, title=None, metadata={})).conversation_id
        content = [{"role": "USER", "text": "Hi"}]
        entry = NewEntry(
            channel="history", content_type="history", content=content, indexed_content="a lighthouse"
        )
        first = await self.store.append(self.who, id, entry)
        fork = (await self.store.fork(self.who, id, first.entry_id)).conversation_id
        for number in range(entries - 1):
            await self.store.append(self.who, (id, fork)[number % 2], entry)
        return id

    async def rows(self) -> list[int]:
        async with self._database.connection() as connection:
            return [
                await connection.fetchval(
                    f"SELECT count(*) FROM {table} WHERE tenant_id = $1", self.who.tenant_id
                )
                for table in TABLES
            ]


@pytest.fixture
def trees(store: ConversationStore, database: Database) -> Trees:
    return Trees(store, database)


async def all_of(
    eviction: Eviction, trees: Trees, clock: TurnedClock, older_than: timedelta
) -> Sequence[int]:
    return [progress async for progress in eviction.run(trees.who.tenant_id, clock.now() - older_than)]


async def test_what_was_deleted_long_ago_vanishes_whole(
    trees: Trees,
    store: ConversationStore,
    oversight: Oversight,
    database: Database,
    queries: Queries,
    writes: CorpusWrites,
    clock: TurnedClock,
) -> None:
    eviction = Eviction(database, queries, writes, step=3)
    old = [await trees.new(entries) for entries in (1, 7, 6)]
    for id in old:
        await store.delete(trees.who, id)
    clock.turn(days=10)
    young, live = await trees.new(2), await trees.new(2)
    await store.delete(trees.who, young)
    told = await all_of(eviction, trees, clock, timedelta(days=9))
    assert told[-1] == 100
    assert all(earlier <= later for earlier, later in pairwise(told))
    assert len(told) > len(old)  # a tree of many entries takes several steps
    assert await trees.rows() == [2, 4, 4, 1, 4]
    assert (await store.get(trees.who, live)).conversation_id == live
    assert await oversight.restore(trees.who.tenant_id, young)
    assert await all_of(eviction, trees, clock, timedelta(days=9)) == [100]


async def test_several_at_once_and_one_that_is_stopped_leave_nothing_half_done(
    trees: Trees,
    store: ConversationStore,
    database: Database,
    queries: Queries,
    writes: CorpusWrites,
    clock: TurnedClock,
) -> None:
    for _ in range(6):
        await store.delete(trees.who, await trees.new(5))
    clock.turn(days=10)
    eviction = Eviction(database, queries, writes, step=2)
    stopped = eviction.run(trees.who.tenant_id, clock.now() - timedelta(days=1))
    assert await anext(stopped) < 100
    await stopped.aclose()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(all_of, eviction, trees, clock, timedelta(days=1))
    await all_of(eviction, trees, clock, timedelta(days=1))
    assert await trees.rows() == [0, 0, 0, 0, 0]


async def test_what_is_evicted_leaves_the_index_too(
    trees: Trees,
    store: ConversationStore,
    database: Database,
    queries: Queries,
    writes: CorpusWrites,
    clock: TurnedClock,
) -> None:
    id = await trees.new(3)
    await store.delete(trees.who, id)
    clock.turn(days=10)
    async with database.connection() as connection:
        texts = await connection.fetch(
            "SELECT entry_id FROM conversation_texts WHERE tenant_id = $1", trees.who.tenant_id
        )
        await connection.execute("DELETE FROM conversations_indexing_outbox")
    await all_of(Eviction(database, queries, writes, step=2), trees, clock, timedelta(days=1))
    async with database.connection() as connection:
        jobs = await connection.fetch("SELECT subject_id FROM conversations_indexing_outbox")
    assert len(texts) == 3
    assert {job["subject_id"] for job in jobs} == {text["entry_id"] for text in texts}
