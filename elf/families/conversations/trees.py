"""Who asks for what in a tree, judged within the transaction that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar
from uuid import UUID

from elf.core.conversation_names import conversation_id_of, is_id
from elf.core.errors import Forbidden
from elf.db.database import Connection
from elf.db.errors import Retryable, retrying
from elf.db.queries import Queries
from elf.families.conversations.errors import Missing
from elf.families.conversations.model import AccessLevel
from elf.families.conversations.rules.access import allows

Row = Mapping[str, Any]
P = ParamSpec("P")
T = TypeVar("T")

CONVERSATION: Final = "conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """For whom something is done: a user of a tenant, and the client that does it, if one is named."""

    tenant_id: str
    user: str
    client: str | None = None


class LockedTree(NamedTuple):
    """A tree that nobody else changes until the transaction ends, and the level in it of who asks."""

    tree_id: UUID
    level: AccessLevel


def again(transaction: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Have a whole transaction run again when it met another one, a few times at most."""

    @wraps(transaction)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return await retrying(lambda: transaction(*args, **kwargs))

    return run


async def lock_tree(connection: Connection, sql: Queries, who: Who, id: UUID) -> LockedTree:
    """Lock the tree of a conversation. Raises Missing, and Forbidden for one who is no member."""
    tree = await connection.fetchrow(sql["lock_tree"], who.tenant_id, id)
    if tree is None or tree["deleted_at"] is not None:
        raise Missing(CONVERSATION, id)
    level = await connection.fetchval(sql["level_of"], who.tenant_id, tree["tree_id"], who.user)
    refuse_less(level, "reader")
    return LockedTree(tree["tree_id"], level)


async def named(connection: Connection, sql: Queries, tenant_id: str, user: str | None, name: str) -> UUID:
    """Return the id that a user's name for a conversation stands for now; a name that is an id is that one."""
    first = conversation_id_of(tenant_id, user, name)
    now: UUID | None = await connection.fetchval(sql["named_conversation"], tenant_id, first)
    return first if now is None or is_id(name) else now


def live(row: Row | None, id: UUID) -> Row:
    """Return the row of a conversation. Raises Missing when there is none, or its tree is deleted."""
    if row is None or row["deleted_at"] is not None:
        raise Missing(CONVERSATION, id)
    return row


async def read_conversation(
    connection: Connection, sql: Queries, who: Who, id: UUID, least: AccessLevel
) -> Row:
    """Return the row of a conversation. Raises Missing, and Forbidden for one whose level is below `least`."""
    row = live(await connection.fetchrow(sql["get_conversation"], who.tenant_id, id, who.user), id)
    refuse_less(row["access_level"], least)
    return row


async def lock_conversation(connection: Connection, sql: Queries, who: Who, id: UUID) -> Row:
    """Return a conversation that nobody else writes to until the transaction ends, to one who may write."""
    row = await connection.fetchrow(sql["lock_conversation"], who.tenant_id, id, who.user)
    if row is None:
        await read_conversation(connection, sql, who, id, "writer")
        raise Retryable("it was changed at this moment")
    refuse_less(row["access_level"], "writer")
    return row


def refuse_less(level: AccessLevel | None, least: AccessLevel) -> None:
    """Raise Forbidden for one who is no member, or whose level is below `least`."""
    if level is None:
        raise Forbidden("you are no member of this conversation")
    if not allows(level, least):
        raise Forbidden(f"this takes a {least} of the conversation, and you are its {level}")
