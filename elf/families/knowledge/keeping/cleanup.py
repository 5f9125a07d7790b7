"""The cleanup of episodes: those whose time is over go, and the oldest consolidated ones of a tenant with too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog

from elf.api.caller import Caller
from elf.db.errors import retrying
from elf.families.knowledge.access import reach_of
from elf.families.knowledge.api import working as w
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import WORKER
from elf.outbox.chores import Due

BATCH: Final = 500

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What is cleaned up for whom: of a tenant what is `seen` (Reach), or all of it."""

    tenant_id: str
    seen: list[str | None] | None
    actor: str | None


class EpisodeCleanup:
    """Deletes episodes batch by batch, each batch a statement with its events, while others read and write.

    What is from an episode stays, without naming it; so do links. Several cleanups at once delete no more than one.
    """

    def __init__(self, kit: Kit, *, batch: int = BATCH) -> None:
        self._kit = kit
        self._batch = batch

    async def tenants(self) -> Sequence[str]:
        """Return who has episodes."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._kit.queries["tenants_with_episodes"])
        return [row["tenant_id"] for row in rows]

    async def run(self, due: Due) -> None:
        """Clean up for a tenant, because it is due."""
        answer = await self.clean_up(_everything(due.subject, WORKER), None)
        log.info("knowledge.episodes_cleaned_up", **answer.model_dump())

    async def on_request(self, request: w.RunCleanup, caller: Caller) -> w.CleanupAnswer:
        """Clean up for one tenant what the caller reaches."""
        reach = reach_of(request.tenant_id, caller)
        return await self.clean_up(Cleaning(reach.tenant_id, reach.seen, reach.actor), request.max_entries)

    async def for_all(self, request: w.CleanupAll, caller: Caller) -> w.CleanupAnswer:
        """Clean up for one tenant, or all; the answer adds them up."""
        tenants = await self.tenants() if request.tenant_id is None else [request.tenant_id]
        actor = caller.user or caller.client
        answers = [await self.clean_up(_everything(tenant, actor), request.max_entries) for tenant in tenants]
        return w.CleanupAnswer(
            expired_deleted=sum(answer.expired_deleted for answer in answers),
            capacity_deleted=sum(answer.capacity_deleted for answer in answers),
            remaining=sum(answer.remaining for answer in answers),
        )

    async def clean_up(self, what: Cleaning, max_entries: int | None) -> w.CleanupAnswer:
        """Delete what is expired, then what is consolidated above `max_entries` (None: the config's)."""
        now = self._kit.now()
        most = self._kit.config.max_entries if max_entries is None else max_entries
        expired = await self._delete("delete_expired_episodes", what, now)
        surplus = 0
        async with self._kit.database.connection() as connection:
            last = await connection.fetchrow(
                self._kit.queries["last_episode_too_many"], what.tenant_id, now, what.seen, most
            )
        if last is not None:
            up_to = last["created_at"], last["id"]
            surplus = await self._delete("delete_consolidated_episodes", what, now, *up_to)
        async with self._kit.database.connection() as connection:
            remaining = await connection.fetchval(
                self._kit.queries["count_episodes"], what.tenant_id, what.seen
            )
        return w.CleanupAnswer(expired_deleted=expired, capacity_deleted=surplus, remaining=remaining)

    async def _delete(self, statement: str, what: Cleaning, now: datetime, *up_to: Any) -> int:
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        given = what.tenant_id, now, what.seen, self._batch, what.actor, request_id, *up_to

        async def delete() -> int:
            async with self._kit.database.connection() as connection:
                return len(await connection.fetch(self._kit.queries[statement], *given))

        deleted, batch = 0, self._batch
        while batch == self._batch:
            batch = await retrying(delete)
            deleted += batch
        return deleted


def _everything(tenant_id: str, actor: str | None) -> Cleaning:
    return Cleaning(tenant_id, None, actor)
