"""Whose threads are: which user is meant where a caller names none, and which agent may write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied
from elf.db.database import Connection
from elf.families.assistant.api.fields import OfUser
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place

By = Literal["owners_of_saver_threads", "owners_of_saver_runs"]


async def owner_of(kit: Kit, request: OfUser, caller: Caller, by: By, ids: Sequence[str]) -> Place | None:
    """Return whose threads or runs these are: the user's that is named or is proven to call, else the one who has any.

    None when nobody has. Raises InvalidRequest when several users do, ScopeDenied as `Access.place`.
    """
    if request.user_id is not None or (kit.access.proves_users and caller.user is not None):
        return kit.access.place(request.tenant_id, request.user_id, caller)
    async with kit.database.connection() as connection:
        users = await connection.fetch(kit.queries[by], request.tenant_id, list(ids))
    if len(users) > 1:
        raise InvalidRequest("$.user_id: is required, as several users have them", fields=["$.user_id"])
    return Place(request.tenant_id, users[0]["user_id"]) if users else None


async def agents_of_threads(
    kit: Kit, connection: Connection, place: Place, threads: Mapping[str, str], caller: Caller
) -> dict[str, str | None]:
    """Return to which agent each thread belongs that has a checkpoint, None: to none; `threads` has their paths.

    Raises ScopeDenied where a caller who is bound to an agent may not write one: it belongs to another agent, and
    threads are not shared.
    """
    rows = await connection.fetch(kit.queries["agents_of_saver_threads"], *place, list(threads))
    agents: dict[str, str | None] = {row["thread_id"]: row["agent_id"] for row in rows}
    own = caller.bound.get("agent_id")
    if own is not None and not kit.config.share_threads:
        for thread, agent in agents.items():
            if agent not in (None, own):
                path = threads[thread]
                raise ScopeDenied(f"{path}: the thread belongs to another agent", fields=[path])
    return agents
