"""Taking a user out of the trees of others: as a member, as who began one, and as who gave a title."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final
from uuid import UUID

import structlog

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.subjects.blanking import NOBODY, each_tree
from elf.families.conversations.subjects.erasing import locked
from elf.families.conversations.trees import again
from elf.indexing.writes import CorpusWrites

CONVERSATIONS_AT_ONCE: Final = 5000

log = structlog.get_logger()


class Leaving:
    """Takes the name of a user off what stays. What it takes away is told in the log as every change of members is."""

    def __init__(self, database: Database, queries: Queries, writes: CorpusWrites, *, step: int) -> None:
        self._database = database
        self._sql = queries
        self._writes = writes
        self._step = step

    async def leave(self, tenant_id: str, user: str) -> Counter[str]:
        """Take a user out of all trees that the user does not own. Returns how many memberships and titles went."""
        gone: Counter[str] = Counter()
        async with aclosing(self._trees("next_membership", tenant_id, user)) as trees:
            async for tree_id in trees:
                gone.update(await self._drop_membership(tenant_id, tree_id, user))
        async with aclosing(self._trees("next_begun_tree", tenant_id, user)) as trees:
            async for tree_id in trees:
                while not await self._unsign_some(tenant_id, tree_id, user):
                    pass
                gone.update(names=1)
        gone.update(titles=await self._erase_titles(tenant_id, user))
        return gone

    def _trees(self, query: str, tenant_id: str, user: str) -> AsyncGenerator[UUID]:
        return each_tree(self._database, self._sql, query, tenant_id, user)

    @again
    async def _drop_membership(self, tenant_id: str, tree_id: UUID, user: str) -> Counter[str]:
        """End a membership, and the transfer to this user. One who owns the tree by now stays, and loses it next."""
        async with self._database.transaction() as connection:
            owner = await connection.fetchval(self._sql["lock_whole_tree"], tenant_id, tree_id)
            place = tenant_id, tree_id, user
            level = await connection.fetchval(self._sql["level_of"], *place)
            if owner == user or level is None:
                return Counter()
            transfers = await connection.fetchval(self._sql["drop_membership"], *place)
            connection.after_commit(lambda: _told(tenant_id, tree_id, user, level))
        return Counter(memberships=1, transfers=transfers)

    @again
    async def _unsign_some(self, tenant_id: str, tree_id: UUID, user: str) -> bool:
        """Take the name of who began a tree off some of its texts, and then off the tree; tells whether that is all."""
        async with self._database.transaction() as connection:
            if not await locked(connection, self._sql, tenant_id, tree_id):
                return True
            rows = await connection.fetch(self._sql["unsign_texts"], tenant_id, tree_id, user, self._step)
            await self._writes.wrote(connection, (tenant_id,), [row["entry_id"] for row in rows])
            if len(rows) == self._step:
                return False
            await connection.execute(self._sql["unsign_tree"], tenant_id, tree_id)
            return True

    async def _erase_titles(self, tenant_id: str, user: str) -> int:
        """Take the titles that a user gave off the conversations of others: few have one, so all are looked through."""
        erased, last = 0, NOBODY
        while True:
            async with self._database.connection() as connection:
                page = await connection.fetchrow(
                    self._sql["page_of_titles"], tenant_id, user, last, CONVERSATIONS_AT_ONCE
                )
            if page is None or page["last"] is None:
                return erased
            last = page["last"]
            if page["titled"]:
                erased += await self._erase_these(tenant_id, user, page["titled"])

    @again
    async def _erase_these(self, tenant_id: str, user: str, conversations: Sequence[UUID]) -> int:
        async with self._database.transaction() as connection:
            return len(await connection.fetch(self._sql["erase_titles"], tenant_id, user, conversations))


def _told(tenant_id: str, tree_id: UUID, user: str, was: str) -> None:
    log.info(
        "membership_audit", tenant=tenant_id, tree=str(tree_id), by=None, client=None, member=user, was=was, now=None
    )  # fmt: skip
