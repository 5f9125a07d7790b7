"""Takes what was said in as a turn of a thread, whose id is that of what was said."""

from __future__ import annotations

from typing import Any

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.db.database import Connection
from elf.families.assistant.api import turn as t
from elf.families.assistant.turn.service import Results, TurnTaking
from elf.offers import Done, Said, Written


class TurnRemembering:
    """Has turns taken in."""

    def __init__(self, taking: TurnTaking) -> None:
        self._taking = taking

    async def __call__(self, said: Said, caller: Caller, done: Done) -> None:
        """Take in a turn. Raises InvalidRequest where no user is meant."""
        subject = said.subject
        if subject.user is None:
            raise InvalidRequest("$.user_id: an assistant remembers users: name one", fields=["$.user_id"])
        request = t.TakeTurn(
            tenant_id=subject.tenant_id,
            user_id=subject.user,
            thread_id=said.conversation,
            turn_id=str(said.id),
            messages=[t.Message(role=one.role, content=one.text) for one in said.messages],
            agent_id=subject.agent_id,
        )

        async def taken(connection: Connection, results: Results) -> None:
            await done(connection, [_written(one) for one in results])

        await self._taking.take(request, caller, taken=taken, each=True)


def _written(result: dict[str, Any]) -> Written:
    kind, id = "memory", result["memory_id"]
    if id is None and result["proposal_id"] is not None:
        kind, id = "proposal", result["proposal_id"]
    return Written(kind=kind, op=result["result"], id=id, reason=result["reason_code"])
