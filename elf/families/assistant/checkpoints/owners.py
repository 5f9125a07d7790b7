"""Whose threads are meant where a caller names threads or runs and no user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
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
