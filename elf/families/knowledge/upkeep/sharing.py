"""Has the other users of a tenant see what comes from one of them, or no longer."""

from __future__ import annotations

from typing import Final

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.families.knowledge.access import USER_SCOPE, reach_of
from elf.families.knowledge.api import working as k
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import Event

PATH: Final = "$.memory_id"


class Sharing:
    """Shares one memory, which stays that of its user: it is erased with the user, shared or not."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def run(self, request: k.Share, caller: Caller) -> k.Shared:
        """Share a memory, or share it no longer.

        Raises NotFound, and InvalidRequest for what is in the scope of a user, which is for that user alone.
        """
        kind, id = request.memory_type, request.memory_id
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        async with self._kit.database.transaction() as connection:
            row = await connection.fetchrow(
                self._kit.queries[f"share_{kind}"], request.tenant_id, id, request.shared
            )
            if row is None:
                raise NotFound(f"{PATH}: there is no {kind} {id}", fields=[PATH])
            if row["place"].startswith(USER_SCOPE):
                raise InvalidRequest(
                    f"{PATH}: it is in the scope of a user, for that user alone", fields=[PATH]
                )
            if row["was_shared"] != request.shared:
                event = Event("memory_shared", kind, id, {"shared": request.shared}, user=row["user_id"])
                await self._kit.record(connection, reach, [event], now=now)
        return k.Shared(memory_type=kind, memory_id=id, user_id=row["user_id"], shared=request.shared)
