"""What operators see and do of all trees of their tenant, whoever is a member of them.

Methods raise Missing for what is not there, or is another tenant's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from elf.core.clock import Clock
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.errors import Missing, RuleBroken
from elf.families.conversations.model import Channel, Conversation
from elf.families.conversations.rules.view import Place, behind, shows
from elf.families.conversations.sharing import Membership
from elf.families.conversations.store import EntryPage, conversation_of, page_of, view_of_row
from elf.families.conversations.trees import CONVERSATION, Row, again

_NEWEST: Final = (datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))
_OLDEST: Final = (datetime.min.replace(tzinfo=UTC), UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which conversations are listed: of each tree by `mode`, of an owner or of all, live ones, deleted ones.

    Deleted ones are those deleted from a moment on, and before another, where these are given.
    """

    mode: str
    owner: str | None
    live: bool
    deleted: bool
    deleted_after: datetime | None
    deleted_before: datetime | None


class Oversight:
    """Lists, reads, deletes and restores the conversations of a tenant."""

    def __init__(self, database: Database, clock: Clock, queries: Queries) -> None:
        self._database = database
        self._clock = clock
        self._sql = queries

    async def get(self, tenant_id: str, id: UUID) -> Conversation:
        """Read a conversation, deleted or not."""
        async with self._database.connection() as connection:
            return conversation_of(await self._any(connection, tenant_id, id))

    async def page(
        self, tenant_id: str, wanted: Wanted, *, after: UUID | None, limit: int
    ) -> list[Conversation]:
        """List conversations, changed last first. Raises RuleBroken for a cursor that is none."""
        async with self._database.connection() as connection:
            behind_it = await self._place(connection, tenant_id, after)
            statement, beside = _listing(wanted)
            rows = await connection.fetch(
                self._sql[statement], tenant_id, wanted.mode, *behind_it, limit, *beside
            )
        return [conversation_of(row) for row in rows]

    async def _place(
        self, connection: Connection, tenant_id: str, after: UUID | None
    ) -> tuple[datetime, UUID]:
        if after is None:
            return _NEWEST
        row = await connection.fetchrow(self._sql["get_any_conversation"], tenant_id, after)
        if row is None:
            raise RuleBroken("after is not a conversation of this listing", fields=["$.after"])
        return row["updated_at"], after

    @again
    async def delete(self, tenant_id: str, id: UUID) -> None:
        """Delete the whole tree of a conversation; one that is deleted stays so."""
        async with self._database.transaction() as connection:
            tree = await self._lock(connection, tenant_id, id)
            if tree["deleted_at"] is None:
                now = self._clock.now()
                await connection.execute(self._sql["delete_tree"], tenant_id, tree["tree_id"], now)

    @again
    async def restore(self, tenant_id: str, id: UUID) -> bool:
        """Bring the deleted tree of a conversation back, with its owner as a member; tell whether it was deleted."""
        async with self._database.transaction() as connection:
            tree = await self._lock(connection, tenant_id, id)
            if tree["deleted_at"] is None:
                return False
            await connection.execute(self._sql["restore_tree"], tenant_id, tree["tree_id"], self._clock.now())
            return True

    async def _lock(self, connection: Connection, tenant_id: str, id: UUID) -> Row:
        tree = await connection.fetchrow(self._sql["lock_any_tree"], tenant_id, id)
        if tree is None:
            raise Missing(CONVERSATION, id)
        return tree

    async def entries(
        self, tenant_id: str, id: UUID, *, channel: Channel | None, after: UUID | None, limit: int
    ) -> EntryPage:
        """List what a conversation shows to all, from behind an entry on, in every epoch.

        Raises RuleBroken for an entry that it does not show.
        """
        async with self._database.connection() as connection:
            view = view_of_row(await self._any(connection, tenant_id, id))
            parts = [(one, 0) for one in view]
            if after is not None:
                row = await self._cursor(connection, tenant_id, after)
                place = Place(row["conversation_id"], row["seq"])
                if not shows(view, place):
                    raise _no_entry()
                parts = behind(view, place)
            rows = await connection.fetch(
                self._sql["list_whole_view"], tenant_id, [one.conversation_id for one, _ in parts],
                [beginning for _, beginning in parts], [one.end for one, _ in parts], channel, limit + 1,
            )  # fmt: skip
        return page_of(rows, limit)

    async def tree_entries(
        self, tenant_id: str, id: UUID, *, channel: Channel | None, after: UUID | None, limit: int
    ) -> EntryPage:
        """List all entries of a tree by their moments. Raises RuleBroken for a cursor that is no entry of it."""
        async with self._database.connection() as connection:
            tree_id = (await self._any(connection, tenant_id, id))["tree_id"]
            behind_it = _OLDEST
            if after is not None:
                row = await self._cursor(connection, tenant_id, after)
                if row["tree_id"] != tree_id:
                    raise _no_entry()
                behind_it = row["created_at"], after
            rows = await connection.fetch(
                self._sql["list_whole_tree"], tenant_id, tree_id, limit + 1, channel, *behind_it
            )
        return page_of(rows, limit)

    async def members(self, tenant_id: str, id: UUID) -> list[Membership]:
        """List the members of the tree of a conversation; a deleted one has none."""
        return [Membership(**row) for row in await self._of_tree("list_memberships", tenant_id, id)]

    async def forks(self, tenant_id: str, id: UUID) -> Sequence[Row]:
        """List the conversations of a tree."""
        return await self._of_tree("list_forks", tenant_id, id, None, None)

    async def _of_tree(self, statement: str, tenant_id: str, id: UUID, *beside: None) -> Sequence[Row]:
        async with self._database.connection() as connection:
            row = await self._any(connection, tenant_id, id)
            return await connection.fetch(self._sql[statement], tenant_id, row["tree_id"], *beside)

    async def _any(self, connection: Connection, tenant_id: str, id: UUID) -> Row:
        row = await connection.fetchrow(self._sql["get_any_conversation"], tenant_id, id)
        if row is None:
            raise Missing(CONVERSATION, id)
        return row

    async def _cursor(self, connection: Connection, tenant_id: str, after: UUID) -> Row:
        row = await connection.fetchrow(self._sql["locate_any_entry"], tenant_id, after)
        if row is None:
            raise _no_entry()
        return row


def _listing(wanted: Wanted) -> tuple[str, Sequence[Any]]:
    """Return the statement that lists these by an index, and its values beyond the page."""
    moments = wanted.deleted_after, wanted.deleted_before
    if wanted.owner is not None:
        return "list_conversations_of_owner", (wanted.owner, wanted.live, wanted.deleted, *moments)
    if not wanted.live:
        return "list_deleted_conversations", moments
    return "list_newest_conversations", (wanted.deleted,)


def _no_entry() -> RuleBroken:
    return RuleBroken("after is not an entry of this listing", fields=["$.after"])
