"""The episodes of a shard in batches: one at a time is leased, in the order in which they came."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import takewhile
from typing import Final, Literal, NamedTuple, TypeAlias
from uuid import UUID, uuid4

import msgspec

from elf.core.errors import Conflict
from elf.core.structs import read_json
from elf.db.database import Connection
from elf.families.knowledge.access import USER_SCOPE, Reach
from elf.families.knowledge.consolidation.prompt import ShownEpisode, how_many_fit
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import WORKER, Event, EventType, record

Category: TypeAlias = Literal["no_json", "refused_by_model", "unusable_answer", "all_actions_failed"]

_LOST: Final = "the lease of a batch of episodes was lost before it was consolidated"
_OUTCOMES: Final[Mapping[str, EventType]] = {
    "pending": "episode_failed",
    "dead_letter": "episode_dead_letter",
}


class Shard(NamedTuple):
    """What an agent of a tenant has of a user, or of nobody: episodes that are consolidated in their order."""

    tenant_id: str
    butler: str
    user: str | None = None

    @property
    def scope(self) -> str:
        """Where is kept what comes of them: what is from a user stays the user's."""
        return self.butler if self.user is None else f"{USER_SCOPE}{self.user}"

    @property
    def reader(self) -> str | None:
        """The agent that reads what comes of a user's episodes, also in calls without the user."""
        return None if self.user is None or self.butler == self.scope else self.butler

    @property
    def name(self) -> str:
        """What tells it from others, as text."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def named(cls, name: str) -> Shard:
        """Return the shard of a name."""
        return cls(*read_json(name, tuple[str, str, str | None]))


@dataclass(frozen=True, slots=True)
class LeasedBatch:
    """Episodes of a shard that are consolidated here and nowhere else until the lease runs out and is taken over.

    Several batches, which are parts of one, may have one lease.
    """

    shard: Shard
    lease: UUID
    episodes: Sequence[ShownEpisode]

    @property
    def ids(self) -> list[UUID]:
        return [episode.id for episode in self.episodes]

    def only(self, ids: Collection[UUID]) -> LeasedBatch:
        """Return the batch without other episodes than these."""
        return replace(self, episodes=[one for one in self.episodes if one.id in ids])

    def halves(self) -> tuple[LeasedBatch, LeasedBatch]:
        """Return the batch in two, of which the first has the earlier episodes."""
        middle = len(self.episodes) // 2
        return replace(self, episodes=self.episodes[:middle]), replace(self, episodes=self.episodes[middle:])


class LeaseLost(Conflict):
    """Somebody else has the batch by now, or its episodes are gone."""


class EpisodesForgotten(Exception):
    """Some episodes of a batch were forgotten or erased while the model was at work; `left` are the others."""

    def __init__(self, left: Collection[UUID]) -> None:
        super().__init__("episodes were forgotten while they were consolidated")
        self.left = left


class EpisodeBatches:
    """Leases batches and says what became of them."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._rules = kit.config.consolidation

    async def shards(self, tenant_id: str | None, *, reach: Reach | None = None) -> dict[Shard, int]:
        """Return the shards that have pending episodes, and how many: of a tenant, or of all; `reach` bounds them."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["pending_shards"], tenant_id, self._kit.now(), None if reach is None else reach.seen
            )
        return {Shard(row["tenant_id"], row["butler"], row["user_id"]): row["episodes"] for row in rows}

    async def lease(self, shard: Shard) -> LeasedBatch | None:
        """Lease the next batch of a shard; None when nothing waits, it is put off, or another batch is leased.

        An episode that failed is tried again alone.
        """
        now = self._kit.now()
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_shard"], _lock_number(shard))
            rows = await connection.fetch(self._sql["next_batch"], *shard, now, self._rules.batch_episodes)
            due = list(takewhile(lambda row: row["available_at"] is None or row["available_at"] <= now, rows))
            if not due:
                return None
            few = due[:1] if due[0]["retry_count"] else due
            episodes = [
                ShownEpisode(id=row["id"], created_at=row["created_at"], content=row["content"])
                for row in few
            ]
            batch = LeasedBatch(shard, uuid4(), episodes[: how_many_fit(episodes)])
            await connection.execute(
                self._sql["lease_episodes"], shard.tenant_id, batch.lease, self._until(now), batch.ids
            )
        return batch

    async def renew(self, batch: LeasedBatch) -> LeasedBatch:
        """Lease a batch for longer; returns what is left of it. Raises LeaseLost when that is nothing."""
        until = self._until(self._kit.now())
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["renew_lease"], batch.shard.tenant_id, batch.lease, until)
        left = batch.only({row["id"] for row in rows})
        if not left.episodes:
            raise LeaseLost(_LOST)
        return left

    def _until(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self._rules.lease_seconds)

    async def hold(self, connection: Connection, batch: LeasedBatch) -> None:
        """Keep a batch until the transaction ends.

        Raises LeaseLost when it is not this process's any more, EpisodesForgotten when some of it is not.
        """
        rows = await connection.fetch(self._sql["hold_leased"], batch.shard.tenant_id, batch.lease, batch.ids)
        if not rows:
            raise LeaseLost(_LOST)
        if len(rows) < len(batch.episodes):
            raise EpisodesForgotten({row["id"] for row in rows})

    async def end(
        self, connection: Connection, batch: LeasedBatch, summary: Mapping[str, int], now: datetime
    ) -> None:
        """End the episodes of a batch, with the transaction of what came of them."""
        await connection.execute(self._sql["end_consolidated"], batch.shard.tenant_id, batch.ids)
        events = [Event("episode_consolidated", "episode", id) for id in batch.ids]
        run = Event(
            "consolidation_run", payload={"butler": batch.shard.butler, "episodes": len(batch.ids), **summary}
        )
        await self._record(connection, batch.shard, [*events, run], now)

    async def fail(self, batch: LeasedBatch, category: Category) -> None:
        """Put the one episode of a batch off, or give it up when it failed too often; `category` is its last_error."""
        (id,) = batch.ids
        now = self._kit.now()
        async with self._kit.database.transaction() as connection:
            rows = await connection.fetch(
                self._sql["fail_leased"], batch.shard.tenant_id, batch.lease, category, now, self._rules.max_attempts,
                float(self._rules.retry_seconds), id,
            )  # fmt: skip
            events = [
                Event(
                    _OUTCOMES[row["consolidation_status"]], "episode", row["id"],
                    {"attempts": row["retry_count"], "error": category},
                )
                for row in rows
            ]  # fmt: skip
            await self._record(connection, batch.shard, events, now)

    async def release(self, batch: LeasedBatch) -> None:
        """Give back what is left of a lease: it was not its fault."""
        async with self._kit.database.connection() as connection:
            await connection.execute(self._sql["release_leased"], batch.shard.tenant_id, batch.lease)

    async def _record(
        self, connection: Connection, shard: Shard, events: Sequence[Event], now: datetime
    ) -> None:
        await record(
            connection, self._sql, events, tenant_id=shard.tenant_id, actor=WORKER, user=shard.user, now=now
        )


def _lock_number(shard: Shard) -> int:
    name = f"knowledge_shard:{shard.name}"
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)
