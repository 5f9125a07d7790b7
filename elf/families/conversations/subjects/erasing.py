"""Erasing trees: all of a tenant, or all that a user owns. What is at work in one of them is waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.removal import Removed, TreeRemoval
from elf.families.conversations.trees import again
from elf.indexing.writes import CorpusWrites

TREES_AT_ONCE: Final = 100


class TreeErasure:
    """Hides trees, and then removes each, `step` pieces a transaction.

    Whoever was about to write to one is through, or finds it gone. Who begins a new tree meanwhile is overtaken.
    """

    def __init__(self, database: Database, queries: Queries, writes: CorpusWrites, *, step: int) -> None:
        self._database = database
        self._sql = queries
        self._removal = TreeRemoval(queries, writes)
        self._step = step

    async def erase(self, tenant_id: str, *, owner: str | None) -> Counter[str]:
        """Erase the trees of a tenant, or of one owner, deleted ones too. Returns how many of each kind went."""
        gone: Counter[str] = Counter()
        while True:
            hidden, trees = await self._hide(tenant_id, owner)
            gone.update(hidden)
            for tree_id in trees:
                gone.update(await self._remove(tenant_id, tree_id))
            if not trees:
                return gone

    @again
    async def _hide(self, tenant_id: str, owner: str | None) -> tuple[Mapping[str, int], Sequence[UUID]]:
        """Hide some trees; returns how many members and transfers these had, and the trees."""
        query, whose = ("lock_trees_of_tenant", ()) if owner is None else ("lock_trees_of_owner", (owner,))
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql[query], tenant_id, TREES_AT_ONCE, *whose)
            trees = [row["tree_id"] for row in rows]
            hidden = await connection.fetchrow(self._sql["hide_trees"], tenant_id, trees)
        assert hidden is not None, "it always tells"
        return dict(hidden), trees

    async def _remove(self, tenant_id: str, tree_id: UUID) -> Counter[str]:
        gone: Counter[str] = Counter()
        while (removed := await self._remove_some(tenant_id, tree_id)) is not None:
            gone.update(
                entries=removed.entries, conversations=removed.conversations, trees=int(removed.is_tree_gone)
            )
            if removed.is_tree_gone:
                break
        return gone

    @again
    async def _remove_some(self, tenant_id: str, tree_id: UUID) -> Removed | None:
        """Remove some of a tree; None when it is gone already: trees are evicted, too."""
        async with self._database.transaction() as connection:
            if not await locked(connection, self._sql, tenant_id, tree_id):
                return None
            return await self._removal.step(connection, tenant_id, tree_id, most=self._step)


async def locked(connection: Connection, sql: Queries, tenant_id: str, tree_id: UUID) -> bool:
    """Wait until nobody else has a tree at work, and keep all from it; tells whether it is there."""
    return await connection.fetchrow(sql["lock_whole_tree"], tenant_id, tree_id) is not None
