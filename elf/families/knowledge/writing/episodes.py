"""Episodes, as they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.knowledge import model as m
from elf.families.knowledge.rules.searchable_text import searchable
from elf.families.knowledge.writing.events import Event
from elf.families.knowledge.writing.to_store import MemoryToStore, Writing, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeToStore(MemoryToStore):
    """An episode before it has an id."""

    butler: str
    session_id: UUID | None = None
    importance: float = m.DEFAULT_IMPORTANCE


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """The id of an episode, and when it goes. `indexed_chars` is how much of it is found, where that is not all."""

    id: UUID
    expires_at: datetime | None
    indexed_chars: int | None


class EpisodeWriter:
    """Stores episodes, which stay for `ttl_days`, with a transaction of the caller's.

    They are found by their first `indexed_chars`.
    """

    kind: Final = "episode"

    def __init__(self, queries: Queries, *, ttl_days: int, indexed_chars: int) -> None:
        self._sql = queries
        self._indexed_chars = indexed_chars
        self._ttl = timedelta(days=ttl_days)

    def competes_for(self, tenant_id: str, episodes: Sequence[EpisodeToStore]) -> list[str]:
        return []

    async def repeats(
        self, connection: Connection, tenant_id: str, keys: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        return await connection.fetch(self._sql["find_repeated_episodes"], tenant_id, list(keys))

    def repeated(self, row: Mapping[str, Any]) -> StoredEpisode:
        return StoredEpisode(row["id"], row["expires_at"], self._cut(row["chars"]))

    async def write(
        self, connection: Connection, writing: Writing, episodes: Sequence[EpisodeToStore]
    ) -> tuple[list[StoredEpisode], list[Event]]:
        """Store episodes in their order."""
        expires_at = writing.now + self._ttl
        stored = [StoredEpisode(uuid4(), expires_at, self._cut(len(one.text))) for one in episodes]
        rows = [
            (
                one.id, episode.butler, episode.session_id, episode.content, vector,
                searchable(episode.text[: self._indexed_chars]),
                episode.importance, dict(episode.metadata), episode.idempotency_key, episode.digest, episode.user_id,
            )
            for episode, one, vector in zip(episodes, stored, writing.vectors, strict=True)
        ]  # fmt: skip
        await connection.execute(
            self._sql["insert_episodes"], writing.reach.tenant_id, writing.now, writing.version, writing.is_model_away,
            expires_at, *columns(rows, 11),
        )  # fmt: skip
        events = [
            Event("episode_created", "episode", one.id, {"butler": episode.butler}, user=episode.user_id)
            for episode, one in zip(episodes, stored, strict=True)
        ]
        return stored, events

    def _cut(self, chars: int) -> int | None:
        """Return how much of a text of so many characters is found, where that is not all."""
        return self._indexed_chars if chars > self._indexed_chars else None
