"""Which conversations are a user's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.subjects.blanking import NOBODY

PAGE: Final = 1000


class OwnedConversations:
    """Names the conversations of the trees that a user owns, those of deleted trees among them, page by page."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def __call__(self, tenant_id: str, user: str) -> AsyncGenerator[str, None]:
        """Yield their ids."""
        behind = NOBODY
        while True:
            async with self._database.connection() as connection:
                rows = await connection.fetch(
                    self._sql["conversations_of_owner"], tenant_id, user, behind, PAGE
                )
            for row in rows:
                behind = row["conversation_id"]
                yield str(behind)
            if len(rows) < PAGE:
                return
