"""What all memories have in common before they are stored, and what a transaction stores them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

import msgspec
from pgvector import Vector

from elf.core.errors import InvalidRequest
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.knowledge.access import Reach
from elf.families.knowledge.rules.searchable_text import searchable
from elf.families.knowledge.writing.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryToStore:
    """A memory before it has an id. `user_id` is the user whom it is from, None where that is nobody.

    `path` is where it stands in a request, for errors; `digest` is of the request that its idempotency_key came with.
    """

    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    user_id: str | None = None
    idempotency_key: str | None = None
    digest: bytes | None = None
    path: str = "$"

    @property
    def text(self) -> str:
        """What is embedded and searched."""
        return self.content

    @property
    def searched(self) -> str:
        """The text as the word search reads it."""
        return searchable(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Who writes when, and the vectors of what is written, by the model of `version`.

    Without a vector a memory is found by words alone; when the model was away, it gets one later.
    """

    reach: Reach
    now: datetime
    vectors: Sequence[Vector | None]
    version: str
    is_model_away: bool


ToStore = TypeVar("ToStore", bound=MemoryToStore)
Given = TypeVar("Given", bound=MemoryToStore, contravariant=True)
Stored = TypeVar("Stored")


class MemoryWriter(Protocol[Given, Stored]):
    """Stores memories of one kind with a transaction of the caller's."""

    @property
    def kind(self) -> str: ...

    def competes_for(self, tenant_id: str, memories: Sequence[Given]) -> list[str]: ...

    async def repeats(
        self, connection: Connection, tenant_id: str, keys: Sequence[str]
    ) -> list[Mapping[str, Any]]: ...

    def repeated(self, row: Mapping[str, Any]) -> Stored: ...

    async def write(
        self, connection: Connection, writing: Writing, memories: Sequence[Given]
    ) -> tuple[list[Stored], list[Event]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FromEpisode(MemoryToStore):
    """A memory that may be from an episode. `reader` is the agent that reads it in the scope of a user."""

    source_episode_id: UUID | None = None
    reader: str | None = None


Derived = TypeVar("Derived", bound=FromEpisode)


async def with_owners(
    connection: Connection, queries: Queries, writing: Writing, memories: Sequence[Derived]
) -> Sequence[Derived]:
    """Return memories with whose they are: what is from a user's episode is the user's.

    Keeps the episodes until the transaction ends. Raises InvalidRequest, naming the path, for one that is not there.
    """
    ids = sorted({memory.source_episode_id for memory in memories if memory.source_episode_id is not None})
    if not ids:
        return memories
    rows = await connection.fetch(queries["share_episodes"], writing.reach.tenant_id, writing.reach.seen, ids)
    owners = {row["id"]: row["user_id"] for row in rows}
    owned = []
    for memory in memories:
        source = memory.source_episode_id
        if source is not None and source not in owners:
            path = f"{memory.path}.source_episode_id"
            raise InvalidRequest(f"{path}: there is no episode {source}", fields=[path])
        is_owned = source is None or memory.user_id is not None
        owned.append(memory if is_owned else replace(memory, user_id=owners[source]))
    return owned


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return rows as columns, which are the arrays of a statement."""
    return [[row[place] for row in rows] for place in range(width)]


def as_json(values: Sequence[str]) -> str:
    """Return a list as JSON: in an array of arrays the driver would see one more dimension."""
    return msgspec.json.encode(list(values)).decode()
