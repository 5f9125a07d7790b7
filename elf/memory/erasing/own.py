"""Which conversations are somebody's, as far as anybody knows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.erasing.whose import Somebody
from elf.offers import OwnConversations


@dataclass(frozen=True, slots=True)
class OwnedBySomebody:
    """Asks the families that keep conversations, and what was to be remembered."""

    database: Database
    queries: Queries
    families: Sequence[OwnConversations]

    async def of(self, somebody: Somebody) -> frozenset[str]:
        """Return the names of the conversations of a user; of anybody else none: what is theirs says so itself."""
        if somebody.kind != "user":
            return frozenset()
        names: set[str] = set()
        for own in self.families:
            async with aclosing(own(somebody.tenant_id, somebody.name)) as conversations:
                names.update([name async for name in conversations])
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                self.queries["said_conversations"], somebody.tenant_id, somebody.name
            )
        return frozenset(names | {row["name"] for row in rows})
