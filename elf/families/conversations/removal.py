"""Removing a tree piece by piece: what is said in it, its conversations, and at last the tree itself."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.indexing.writes import CorpusWrites


class Removed(NamedTuple):
    """How many entries and conversations went in a step, and whether their tree went with them."""

    entries: int
    conversations: int
    is_tree_gone: bool

    @property
    def pieces(self) -> int:
        return self.entries + self.conversations


class TreeRemoval:
    """Removes some of a tree that is locked, in the transaction that locked it; recordings of it end at once."""

    def __init__(self, queries: Queries, writes: CorpusWrites) -> None:
        self._sql = queries
        self._writes = writes

    async def step(self, connection: Connection, tenant_id: str, tree_id: UUID, *, most: int) -> Removed:
        """Remove at most so many entries and conversations; what is left of the tree is hidden."""
        place = tenant_id, tree_id
        await self._drop_recordings(connection, *place)
        entries = await connection.fetch(self._sql["evict_entries"], *place, most)
        await self._writes.wrote(
            connection, (tenant_id,), [row["entry_id"] for row in entries if row["is_indexed"]]
        )
        conversations = 0
        if (left := most - len(entries)) > 0:
            conversations = await connection.fetchval(self._sql["evict_conversations"], *place, left)
        if len(entries) + conversations == most:
            await connection.execute(self._sql["begin_eviction"], *place)
            return Removed(len(entries), conversations, False)
        await connection.execute(self._sql["evict_tree"], *place)
        return Removed(len(entries), conversations, True)

    async def _drop_recordings(self, connection: Connection, tenant_id: str, tree_id: UUID) -> None:
        rows = await connection.fetch(self._sql["erase_recordings"], tenant_id, tree_id)
        if rows:
            ids = [row["recording_id"] for row in rows]
            await connection.execute(self._sql["erase_recorded"], tenant_id, ids)
