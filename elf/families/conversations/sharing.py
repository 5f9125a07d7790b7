"""Members of a tree, and its transfer to another owner. Every change is told in the log: who, whom, from what, to what.

Methods raise Missing for what is not there, is deleted, or is another tenant's, then Forbidden for one who may not do
it, and RuleBroken for what nobody may.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID, uuid4

import structlog

from elf.api.cursor import BEFORE_THE_OLDEST, Cursor
from elf.core.clock import Clock
from elf.core.errors import Forbidden
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.errors import Missing, RuleBroken, TransferPending
from elf.families.conversations.model import AccessLevel
from elf.families.conversations.rules.access import is_of_owner, may_share
from elf.families.conversations.trees import (
    LockedTree,
    Row,
    Who,
    again,
    lock_tree,
    read_conversation,
    refuse_less,
)

MEMBERSHIP: Final = "membership"
TRANSFER: Final = "ownership transfer"
_OWNER: Final = "the owner of a conversation changes by an ownership transfer"

Part = Literal["sender", "recipient", "all"]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    user_id: str
    access_level: AccessLevel
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A tree that is to be another's; `conversation_id` is the conversation through which it was asked for."""

    transfer_id: UUID
    conversation_id: UUID
    title: str | None
    from_user_id: str
    to_user_id: str
    created_at: datetime


class TreeSharing:
    """Shares trees and transfers them."""

    def __init__(self, database: Database, clock: Clock, queries: Queries) -> None:
        self._database = database
        self._clock = clock
        self._sql = queries

    async def members(self, who: Who, id: UUID) -> list[Membership]:
        """List the members of the tree of a conversation."""
        async with self._database.connection() as connection:
            row = await read_conversation(connection, self._sql, who, id, "reader")
            rows = await connection.fetch(self._sql["list_memberships"], who.tenant_id, row["tree_id"])
        return [Membership(**row) for row in rows]

    async def share(self, who: Who, id: UUID, user: str, level: AccessLevel) -> Membership:
        """Give a user a level, whatever it was."""
        return await self._give(who, id, user, level, is_new=True)

    async def change(self, who: Who, id: UUID, user: str, level: AccessLevel) -> Membership:
        """Give a member another level. Raises Missing for one who is none."""
        return await self._give(who, id, user, level, is_new=False)

    @again
    async def _give(self, who: Who, id: UUID, user: str, level: AccessLevel, *, is_new: bool) -> Membership:
        async with self._database.transaction() as connection:
            tree = await lock_tree(connection, self._sql, who, id)
            refuse_less(tree.level, "manager")
            was = await self._level(connection, who, tree, user)
            if was is None and not is_new:
                raise Missing(MEMBERSHIP, user)
            _refuse_owner(level, was)
            if not may_share(tree.level, level, was=was):
                raise Forbidden("managers are for the owner of a conversation to make and unmake")
            row = await connection.fetchrow(
                self._sql["put_membership"], who.tenant_id, tree.tree_id, user, level, self._clock.now()
            )
            connection.after_commit(lambda: _told(who, tree, user, was, level))
        assert row is not None, "it was put there"
        return Membership(**row)

    @again
    async def remove(self, who: Who, id: UUID, user: str) -> None:
        """Take a user's level away; one who has none stays as it is. Members may go by themselves."""
        async with self._database.transaction() as connection:
            tree = await lock_tree(connection, self._sql, who, id)
            was = await self._level(connection, who, tree, user)
            if user != who.user:
                refuse_less(tree.level, "manager")
            _refuse_owner(was)
            if was is None:
                return
            if user != who.user and not may_share(tree.level, was):
                raise Forbidden("managers are for the owner of a conversation to make and unmake")
            await connection.execute(self._sql["drop_membership"], who.tenant_id, tree.tree_id, user)
            connection.after_commit(lambda: _told(who, tree, user, was, None))

    @again
    async def transfer(self, who: Who, id: UUID, to: str) -> Transfer:
        """Ask a member to take a tree over. Raises TransferPending when somebody has been asked."""
        async with self._database.transaction() as connection:
            tree = await lock_tree(connection, self._sql, who, id)
            refuse_less(tree.level, "owner")
            if to == who.user:
                raise RuleBroken("a conversation is not transferred to its owner")
            if await self._level(connection, who, tree, to) is None:
                raise RuleBroken("a conversation is transferred to a member of it")
            transfer_id = uuid4()
            made = await connection.fetchval(
                self._sql["insert_transfer"], who.tenant_id, transfer_id, tree.tree_id, id, who.user, to,
                self._clock.now(),
            )  # fmt: skip
            if made is None:
                pending = await connection.fetchval(
                    self._sql["transfer_of_tree"], who.tenant_id, tree.tree_id
                )
                raise TransferPending(pending)
            return await self._transfer(connection, who, transfer_id)

    async def get_transfer(self, who: Who, transfer_id: UUID) -> Transfer:
        """Read a transfer that the user takes part in."""
        async with self._database.connection() as connection:
            return await self._transfer(connection, who, transfer_id)

    async def transfers(
        self, who: Who, part: Part, *, after: Cursor = BEFORE_THE_OLDEST, limit: int | None = None
    ) -> list[Transfer]:
        """List the transfers that the user takes part in, oldest first, from behind a place on."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_transfers"], who.tenant_id, who.user, part != "recipient", part != "sender",
                after.moment, after.id, limit,
            )  # fmt: skip
        return [_transfer(row) for row in rows]

    @again
    async def end_transfer(self, who: Who, transfer_id: UUID) -> None:
        """Cancel or reject a transfer."""
        async with self._database.transaction() as connection:
            await self._own_transfer(connection, who, transfer_id)
            if await connection.fetchval(self._sql["delete_transfer"], who.tenant_id, transfer_id) is None:
                raise Missing(TRANSFER, transfer_id)

    @again
    async def accept(self, who: Who, transfer_id: UUID) -> None:
        """Take a tree over: the recipient is its owner, who was that is a manager."""
        async with self._database.transaction() as connection:
            transfer = await self._own_transfer(connection, who, transfer_id)
            if transfer.to_user_id != who.user:
                raise Forbidden("a transfer is accepted by its recipient")
            tree = await lock_tree(connection, self._sql, who, transfer.conversation_id)
            if await connection.fetchval(self._sql["delete_transfer"], who.tenant_id, transfer_id) is None:
                raise Missing(TRANSFER, transfer_id)
            place = who.tenant_id, tree.tree_id
            await connection.execute(self._sql["set_level"], *place, transfer.from_user_id, "manager")
            await connection.execute(self._sql["set_level"], *place, who.user, "owner")
            await connection.execute(self._sql["change_owner"], *place, who.user)
            connection.after_commit(lambda: _told(who, tree, transfer.from_user_id, "owner", "manager"))
            connection.after_commit(lambda: _told(who, tree, who.user, tree.level, "owner"))

    async def _level(
        self, connection: Connection, who: Who, tree: LockedTree, user: str
    ) -> AccessLevel | None:
        level: AccessLevel | None = await connection.fetchval(
            self._sql["level_of"], who.tenant_id, tree.tree_id, user
        )
        return level

    async def _own_transfer(self, connection: Connection, who: Who, transfer_id: UUID) -> Transfer:
        """Return a transfer to one who may end it. Raises Missing, and Forbidden for one who takes no part in it."""
        try:
            return await self._transfer(connection, who, transfer_id)
        except Missing:
            if await connection.fetchval(self._sql["transfer_exists"], who.tenant_id, transfer_id):
                raise Forbidden("a transfer is for its sender and its recipient to end") from None
            raise

    async def _transfer(self, connection: Connection, who: Who, transfer_id: UUID) -> Transfer:
        row = await connection.fetchrow(self._sql["get_transfer"], who.tenant_id, transfer_id, who.user)
        if row is None:
            raise Missing(TRANSFER, transfer_id)
        return _transfer(row)


def _transfer(row: Row) -> Transfer:
    values: dict[str, Any] = {name: row[name] for name in Transfer.__dataclass_fields__}
    return Transfer(**values)


def _refuse_owner(*levels: AccessLevel | None) -> None:
    if is_of_owner(*levels):
        raise RuleBroken(_OWNER)


def _told(who: Who, tree: LockedTree, user: str, was: AccessLevel | None, level: AccessLevel | None) -> None:
    log.info(
        "membership_audit",
        tenant=who.tenant_id,
        tree=str(tree.tree_id),
        by=who.user,
        client=who.client,
        member=user,
        was=was,
        now=level,
    )
