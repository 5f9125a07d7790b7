"""The consolidation of episodes as operators see it: what failed and is tried again, was given up, or discarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final
from uuid import UUID

from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import ConsolidationStatus
from elf.families.knowledge.writing.events import Event, EventType, record
from elf.outbox.given_up import JobState, ListedJob, Place

QUEUE: Final = "knowledge_consolidation"

_EVENTS: Final[Mapping[ConsolidationStatus, EventType]] = {
    "pending": "episode_requeued",
    "discarded": "episode_discarded",
}


class EpisodeJobs:
    """Episodes as jobs of a queue; one that has not failed is none. Their ids are those of the episodes."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def page(
        self, states: Sequence[JobState], after: Place, limit: int, *, tenant_id: str | None
    ) -> list[ListedJob]:
        """Return up to `limit` episodes in these states behind a place."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["list_episode_jobs"], states, *after, tenant_id, limit)
        return [ListedJob(**dict(row)) for row in rows]

    async def counts(self, *, tenant_id: str | None) -> Mapping[JobState, int]:
        """Return how many episodes there are, by state."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["count_episode_jobs"], tenant_id)
        return {row["state"]: row["jobs"] for row in rows}

    async def retry(self, ids: Sequence[UUID], *, tenant_id: str | None, by: str | None) -> Sequence[UUID]:
        """Have those of the episodes that were given up consolidated with the next batch; returns which."""
        return await self._decide("pending", ids, tenant_id, by)

    async def discard(self, ids: Sequence[UUID], *, tenant_id: str | None, by: str | None) -> Sequence[UUID]:
        """Leave those of the episodes that were given up as they are, for good; returns which."""
        return await self._decide("discarded", ids, tenant_id, by)

    async def _decide(
        self, status: ConsolidationStatus, ids: Sequence[UUID], tenant_id: str | None, by: str | None
    ) -> list[UUID]:
        async with self._kit.database.transaction() as connection:
            rows = await connection.fetch(self._sql["decide_on_episodes"], ids, tenant_id, status)
            decided = sorted((row["tenant_id"], row["id"]) for row in rows)
            for tenant, of_tenant in groupby(decided, key=lambda one: one[0]):
                events = [Event(_EVENTS[status], "episode", id) for _, id in of_tenant]
                await record(connection, self._sql, events, tenant_id=tenant, actor=by, now=self._kit.now())
        return [id for _, id in decided]
