"""Erasing what users call conversations: sessions, whoever owns their trees, and names."""

from __future__ import annotations

from collections import Counter

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.trees import again


class SessionErasure:
    """Removes sessions, `step` a transaction, and what is known of names."""

    def __init__(self, database: Database, queries: Queries, *, step: int) -> None:
        self._database = database
        self._sql = queries
        self._step = step

    async def erase(self, tenant_id: str, user: str | None) -> Counter[str]:
        """Remove the sessions of a user, or of all users of a tenant. Returns how many there were."""
        erased: Counter[str] = Counter()
        while gone := await self._erase_some(tenant_id, user):
            erased.update(sessions=gone)
        return erased

    @again
    async def erase_names(self, tenant_id: str, user: str | None) -> None:
        """Forget which names were deleted: they stand for what they stood for at first."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["erase_names"], tenant_id, user)

    @again
    async def _erase_some(self, tenant_id: str, user: str | None) -> int:
        async with self._database.transaction() as connection:
            gone: int = await connection.fetchval(self._sql["erase_sessions"], tenant_id, user, self._step)
            return gone
