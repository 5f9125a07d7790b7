"""Tells what a user agreed to be known by, and takes decisions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.db.errors import retrying
from elf.families.assistant.access import actor_of
from elf.families.assistant.api import consent as c
from elf.families.assistant.api.memories import Quote
from elf.families.assistant.consent.proposing import LOCK, Consents
from elf.families.assistant.kit import Kit

KEPT: Final = timedelta(days=90)  # what became of a proposal


class ConsentKeeping:
    """Carries out the operations on what users agreed to."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._writer = kit.writer
        self._consents = Consents(kit.queries, version=kit.embedder.version)

    async def context(self, request: c.ReadUserContext, caller: Caller) -> c.UserContext:
        """Read what a user is known by."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["get_user_context"], *place)
        return c.UserContext(**{row["field"]: row["value"] for row in rows})

    async def page(self, request: c.ListProposals, caller: Caller) -> c.Proposals:
        """List proposals, newest first; one whose time is over is expired."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        listing = ("assistant_proposals", *place, request.state)
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_proposals"], *place, start.moment, start.id, request.limit + 1, request.state,
                self._kit.now(),
            )  # fmt: skip
        shown, cursor = rows[: request.limit], None
        if len(rows) > request.limit:
            cursor = encode_cursor(shown[-1]["created_at"], shown[-1]["proposal_id"], *listing)
        return c.Proposals(items=[_told(row) for row in shown], next_cursor=cursor)

    async def decide(self, request: c.DecideProposal, caller: Caller) -> c.Proposal:
        """Decide about a proposal. Raises NotFound, and Conflict where it was decided otherwise or is expired."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        actor = actor_of(caller)

        async def once() -> Mapping[str, Any]:
            async with self._writer.changing(place, {LOCK}, actor=actor) as changes:
                return await self._consents.decide(changes, request.proposal_id, request.decision, by=actor)

        return _told(await retrying(once))


class ProposalExpiry:
    """Ends proposals whose time is over."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def expire(self, now: datetime, limit: int) -> int:
        """End up to `limit` of them, and return how many."""
        async with self._kit.database.transaction() as connection:
            return len(await connection.fetch(self._kit.queries["expire_proposals"], now, limit))

    async def drop(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` that ended long ago, and return how many."""
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._kit.queries["drop_old_proposals"], now - KEPT, limit))


def _told(row: Mapping[str, Any]) -> c.Proposal:
    said = {**row, "evidence": [Quote(**one) for one in row["evidence"]]}
    return c.Proposal(**{name: said[name] for name in c.Proposal.model_fields})
