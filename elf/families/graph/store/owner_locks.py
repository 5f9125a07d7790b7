"""The locks of the owners of what is written: held while a file is written to, so that nobody erases them meanwhile.

Postgres keeps them, as it does for all families (sql/common/008-erasing.sql).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Self

from elf.core.errors import DatabaseUnavailable, ErasureInProgress
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.graph.model import MemoryNode
from elf.families.graph.store.statements import OwnerKey


@dataclass(frozen=True, slots=True)
class Owners:
    """Whose a change is besides the orchestrator's: users, and whoever owns conversations that it is from."""

    users: frozenset[str] = frozenset()
    conversations: frozenset[str] = frozenset()

    @classmethod
    def known(cls, user: str | None, conversation_id: str | None) -> Self:
        """Return a user and a conversation as owners, as far as they are known."""
        return cls(
            frozenset(() if user is None else (user,)),
            frozenset(() if conversation_id is None else (conversation_id,)),
        )


def owners_of(memories: Iterable[MemoryNode]) -> Owners:
    """Return whose memories are."""
    users, conversations = set[str | None](), set[str | None]()
    for memory in memories:
        users.add(memory.user_id)
        conversations.add(memory.source.conversation_id)
    return Owners(frozenset(one for one in users if one), frozenset(one for one in conversations if one))


class OwnerLocks:
    """Holds locks for as long as a block takes; without a database none, for files that stand alone."""

    def __init__(self, database: Database | None, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    @asynccontextmanager
    async def held(self, key: OwnerKey, changes: Sequence[Owners]) -> AsyncIterator[Sequence[bool]]:
        """Hold the locks of the owners of changes for the block; tells of each whether none of them is being erased.

        While Postgres is away every change is free: who erases holds the locks there, and has lost them, too.
        """
        free: Sequence[bool] = [True] * len(changes)
        is_done = False
        try:
            async with AsyncExitStack() as stack:
                with suppress(DatabaseUnavailable):
                    if self._database is not None and changes:
                        connection = await stack.enter_async_context(self._database.transaction())
                        asked = [
                            {"users": sorted(one.users), "conversations": sorted(one.conversations)}
                            for one in changes
                        ]
                        free = await connection.fetchval(
                            self._sql["hold_owners_of_changes"], key.tenant_id, key.orchestrator_id, asked
                        )
                yield free
                is_done = True
        except DatabaseUnavailable:
            if (
                not is_done
            ):  # it is the block's own; when it goes away in the end, the block has done what it is for
                raise

    @asynccontextmanager
    async def of_memory(self, key: OwnerKey) -> AsyncIterator[None]:
        """Hold the locks of a tenant and an orchestrator for the block. Raises ErasureInProgress."""
        async with self.held(key, [Owners()]) as (is_free,):
            if not is_free:
                raise ErasureInProgress
            yield
