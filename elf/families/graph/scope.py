"""Who may use which memory: an orchestrator its own, and no other's."""

from __future__ import annotations

from typing import Final

import structlog

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied, ServiceError
from elf.families.graph.api.fields import InOrchestrator
from elf.families.graph.places import Places
from elf.families.graph.store.statements import Change, Viewer

DENIED: Final = "memory.recall.scope_denied"
PATH: Final = "$.requesting_orchestrator_id"

log = structlog.get_logger()


async def check_scope(places: Places, request: InOrchestrator, caller: Caller) -> None:
    """Raise ScopeDenied where another orchestrator asks; the log of whose memory it is is told of both.

    An orchestrator that asks is the one that a request names, and the agent of the key: if either is another one, it
    is denied.
    """
    asking = (request.requesting_orchestrator_id, caller.bound.get("agent_id"))
    other = next((one for one in asking if one not in (None, request.orchestrator_id)), None)
    if other is None:
        return
    try:
        await _tell(places, request, other, caller)
    except ServiceError as error:  # it is denied all the same
        log.warning("graph.denial_not_logged", error=type(error).__name__)
    raise ScopeDenied(f"{PATH}: an orchestrator recalls its own memories only", fields=[PATH])


async def _tell(places: Places, request: InOrchestrator, other: str, caller: Caller) -> None:
    """Log who asked for whose memory, where there is one: none is made for this."""

    def tell(change: Change) -> None:
        change.log(DENIED, requested_orchestrator_id=other, available_orchestrator_id=request.orchestrator_id)

    async with places.known(request.tenant_id, request.orchestrator_id) as place:
        await place.write(tell, actor=actor_of(caller))


def viewer_of(caller: Caller) -> Viewer | None:
    """Return the user from whom what is other users' is kept; None for an orchestrator, which has all of its memory."""
    return None if caller.named_user is None else Viewer(caller.named_user)


def actor_of(caller: Caller) -> str | None:
    """Return who is told to have done something: the user, or else the program."""
    return caller.user or caller.client
