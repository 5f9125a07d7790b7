"""Exporting what there is of a subject, page by page, in the order in which it can be taken in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.subjects import exported as x
from elf.families.conversations.subjects.blanking import NOBODY, each_tree
from elf.families.conversations.trees import Row
from elf.offers import Subject

_FIRST: Final = (NOBODY, 0)


class Export:
    """Reads trees with all that is in them, and what is somebody's in the trees of others; `page` rows at a time.

    No transaction stays open. An entry never changes, so that what is told of a conversation is as it was when it was
    read, however long the export takes.
    """

    def __init__(self, database: Database, queries: Queries, *, page: int) -> None:
        self._database = database
        self._sql = queries
        self._page = page

    async def of(self, subject: Subject) -> AsyncGenerator[x.Exported]:
        """Yield all of a tenant, or a user's trees and what else the user is and said, or an agent's memory."""
        tenant_id, user, agent = subject.tenant_id, subject.user, subject.agent_id
        parts = [] if agent is not None else [self._trees(tenant_id, user), self._sessions(tenant_id, user)]
        if user is not None:
            parts.append(self._memberships(tenant_id, user))
            parts.append(self._entries_of(tenant_id, user, "next_tree_of_user", "export_entries_of_user"))
        if agent is not None:
            parts.append(
                self._entries_of(tenant_id, agent, "next_tree_of_client", "export_entries_of_client")
            )
        for part in parts:
            async with aclosing(part) as pieces:
                async for piece in pieces:
                    yield piece

    async def _trees(self, tenant_id: str, owner: str | None) -> AsyncGenerator[x.Exported]:
        behind = NOBODY
        while rows := await self._fetch("export_trees", tenant_id, owner, behind, self._page):
            for row in rows:
                behind = row["tree_id"]
                yield await self._tree(row)
                async with aclosing(self._conversations(tenant_id, behind)) as conversations:
                    async for piece in conversations:
                        yield piece

    async def _tree(self, row: Row) -> x.Exported:
        place = row["tenant_id"], row["tree_id"]
        members = await self._fetch("list_memberships", *place)
        transfers = await self._fetch("export_transfer", *place)
        return x.ExportedTree(
            **row,
            members=[x.ExportedMember(**one) for one in members],
            transfer=x.ExportedTransfer(**transfers[0]) if transfers else None,
        )

    async def _conversations(self, tenant_id: str, tree_id: UUID) -> AsyncGenerator[x.Exported]:
        behind = NOBODY
        while rows := await self._fetch("export_conversations", tenant_id, tree_id, behind, self._page):
            for row in rows:
                behind = row["conversation_id"]
                yield x.ExportedConversation(**row)
                async with aclosing(self._entries(tenant_id, behind, row["last_seq"])) as entries:
                    async for entry in entries:
                        yield entry

    async def _entries(self, tenant_id: str, id: UUID, last: int) -> AsyncGenerator[x.Exported]:
        behind = 0
        while rows := await self._fetch("export_entries", tenant_id, id, behind, last, self._page):
            for row in rows:
                yield _entry(row)
            behind = rows[-1]["seq"]

    async def _sessions(self, tenant_id: str, user: str | None) -> AsyncGenerator[x.Exported]:
        behind = ("", "")
        while rows := await self._fetch("export_sessions", tenant_id, user, *behind, self._page):
            for row in rows:
                yield x.ExportedSession(**{**row, "data": msgspec.json.decode(row["data"])})
            behind = rows[-1]["user_id"], rows[-1]["session_id"]

    async def _memberships(self, tenant_id: str, user: str) -> AsyncGenerator[x.Exported]:
        behind = NOBODY
        while rows := await self._fetch("export_memberships", tenant_id, user, behind, self._page):
            for row in rows:
                yield x.ExportedMembership(**row)
            behind = rows[-1]["tree_id"]

    async def _entries_of(
        self, tenant_id: str, whose: str, trees: str, entries: str
    ) -> AsyncGenerator[x.Exported]:
        async with aclosing(each_tree(self._database, self._sql, trees, tenant_id, whose)) as found:
            async for tree_id in found:
                behind = _FIRST
                while rows := await self._fetch(entries, tenant_id, whose, tree_id, *behind, self._page):
                    for row in rows:
                        yield _entry(row)
                    behind = rows[-1]["conversation_id"], rows[-1]["seq"]

    async def _fetch(self, query: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._sql[query], *values)


def _entry(row: Row) -> x.Exported:
    values = {name: row[name] for name in x.ExportedEntry.__struct_fields__}
    return x.ExportedEntry(**{**values, "content": msgspec.json.decode(row["content"])})
