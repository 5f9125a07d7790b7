"""Blanking entries in the trees of others: what a user said there, and what an agent remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final
from uuid import UUID

from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.subjects.erasing import locked
from elf.families.conversations.trees import Row, again
from elf.indexing.writes import CorpusWrites

NOBODY: Final = UUID(int=0)


async def each_tree(
    database: Database, sql: Queries, query: str, tenant_id: str, whose: str
) -> AsyncGenerator[UUID]:
    """Yield the trees that a query tells one behind the other."""
    tree_id: UUID | None = NOBODY
    while True:
        async with database.connection() as connection:
            tree_id = await connection.fetchval(sql[query], tenant_id, whose, tree_id)
        if tree_id is None:
            return
        yield tree_id


class EntryBlanking:
    """Blanks entries of a tree, `step` a transaction. They stay where they are: forks and pages count on them.

    What is blanked has no text, is found by nothing, and no indexer gives it a text again.
    """

    def __init__(self, database: Database, queries: Queries, writes: CorpusWrites, *, step: int) -> None:
        self._database = database
        self._sql = queries
        self._writes = writes
        self._step = step

    async def of_user(self, tenant_id: str, user: str) -> Counter[str]:
        """Blank what a user said, whoever wrote it down, and the memory that is said to be of this user."""
        blanked = 0
        async with aclosing(self._trees("next_tree_of_user", tenant_id, user)) as trees:
            async for tree_id in trees:
                while some := await self._blank_some_of_user(tenant_id, tree_id, user):
                    blanked += some
        return Counter(entries=blanked)

    async def of_client(self, tenant_id: str, client: str) -> Counter[str]:
        """Blank all memory of a client, and take its name off what it said, which is its readers'."""
        blanked: Counter[str] = Counter()
        async with aclosing(self._trees("next_tree_of_client", tenant_id, client)) as trees:
            async for tree_id in trees:
                while some := await self._blank_some_of_client(tenant_id, tree_id, client):
                    blanked.update(some)
        return blanked

    def _trees(self, query: str, tenant_id: str, whose: str) -> AsyncGenerator[UUID]:
        return each_tree(self._database, self._sql, query, tenant_id, whose)

    @again
    async def _blank_some_of_user(self, tenant_id: str, tree_id: UUID, user: str) -> int:
        async with self._database.transaction() as connection:
            rows = await self._blank(connection, "blank_entries_of_user", tenant_id, tree_id, user)
            history = [row for row in rows if row["channel"] == "history"]
            clients = {row["client_id"] for row in rows if row["channel"] == "memory"}
            if clients:
                await connection.execute(self._sql["spoil_memories"], tenant_id, tree_id, list(clients))
            if history:
                await self._hide(connection, tenant_id, history)
        return len(rows)

    async def _hide(self, connection: Connection, tenant_id: str, history: Sequence[Row]) -> None:
        """Have blanked entries found no more, and shown in no list."""
        ids = [row["entry_id"] for row in history]
        texts = await connection.fetch(self._sql["erase_texts"], tenant_id, ids)
        await self._writes.wrote(connection, (tenant_id,), [row["entry_id"] for row in texts])
        conversations = list({row["conversation_id"] for row in history})
        await connection.execute(self._sql["erase_previews"], tenant_id, conversations)

    @again
    async def _blank_some_of_client(self, tenant_id: str, tree_id: UUID, client: str) -> Counter[str]:
        async with self._database.transaction() as connection:
            rows = await self._blank(connection, "blank_entries_of_client", tenant_id, tree_id, client)
        names = {"memory": "entries", "history": "names"}
        return Counter(names[row["channel"]] for row in rows)

    async def _blank(
        self, connection: Connection, query: str, tenant_id: str, tree_id: UUID, whose: str
    ) -> list[Any]:
        """Blank some entries of a tree while nobody writes to it."""
        if not await locked(connection, self._sql, tenant_id, tree_id):
            return []
        return await connection.fetch(self._sql[query], tenant_id, tree_id, whose, self._step)
