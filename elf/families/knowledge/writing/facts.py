"""Facts, as they are written: each takes the place of the active one of its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID, uuid4

import msgspec

from elf.core.errors import InvalidRequest
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.knowledge import model as m
from elf.families.knowledge.rules.searchable_text import fact_text
from elf.families.knowledge.writing.events import Event
from elf.families.knowledge.writing.to_store import (
    FromEpisode,
    Writing,
    as_json,
    columns,
    with_owners,
)

Key = tuple[str, str, str, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactToStore(FromEpisode):
    """A fact before it has an id."""

    subject: str
    predicate: str
    scope: str = m.GLOBAL_SCOPE
    importance: float = m.DEFAULT_IMPORTANCE
    permanence: m.Permanence = "standard"
    tags: Sequence[str] = ()
    source_butler: str | None = None
    entity_id: UUID | None = None

    @property
    def text(self) -> str:
        return fact_text(self.subject, self.predicate, self.content)

    @property
    def key(self) -> Key:
        """What no two active facts of a tenant have in common."""
        if self.entity_id is not None:
            return "entity", str(self.entity_id), self.scope, self.predicate, self.user_id
        return "subject", self.subject, self.scope, self.predicate, self.user_id


@dataclass(frozen=True, slots=True)
class StoredFact:
    """The id of a fact, and of the one that it superseded."""

    id: UUID
    superseded_id: UUID | None


class FactWriter:
    """Stores facts with a transaction of the caller's, who has no other lock of facts yet."""

    kind: Final = "fact"

    def __init__(self, queries: Queries) -> None:
        self._sql = queries

    def competes_for(self, tenant_id: str, facts: Sequence[FactToStore]) -> list[str]:
        """Return the names of what these facts compete for with others."""
        return sorted({_lock_name(tenant_id, fact.key) for fact in facts})

    async def repeats(
        self, connection: Connection, tenant_id: str, keys: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        return await connection.fetch(self._sql["find_repeated_facts"], tenant_id, list(keys))

    def repeated(self, row: Mapping[str, Any]) -> StoredFact:
        return StoredFact(row["id"], row["supersedes_id"])

    async def write(
        self, connection: Connection, writing: Writing, facts: Sequence[FactToStore]
    ) -> tuple[list[StoredFact], list[Event]]:
        """Store facts in their order; of two with one key the later supersedes the earlier.

        Raises InvalidRequest, naming the path, for an entity or episode that is unknown, or merged into another.
        """
        await self._refuse_unusable_entities(connection, writing, facts)
        facts = await with_owners(connection, self._sql, writing, facts)
        active = await self._lock_active(connection, writing.reach.tenant_id, facts)
        stored, past = _chained(facts, active)
        if before := [one.superseded_id for one in stored if one.superseded_id in active.values()]:
            await connection.execute(self._sql["supersede_facts"], writing.reach.tenant_id, before)
        await self._insert(connection, writing, facts, stored, past)
        return stored, _events(facts, stored)

    async def _lock_active(
        self, connection: Connection, tenant_id: str, facts: Sequence[FactToStore]
    ) -> dict[Key, UUID]:
        """Return the active facts of the keys, which nobody else changes until the transaction ends."""
        keys = sorted({fact.key for fact in facts}, key=str)
        numbers = sorted({_lock_number(_lock_name(tenant_id, key)) for key in keys})
        await connection.execute(self._sql["lock_fact_keys"], numbers)
        found: dict[Key, UUID] = {}
        for kind in ("subject", "entity"):
            some = [key for key in keys if key[0] == kind]
            if not some:
                continue
            rows = await connection.fetch(
                self._sql[f"lock_active_of_{kind}"], tenant_id, *columns([key[1:] for key in some], 4)
            )
            found |= {
                (kind, row["about"], row["scope"], row["predicate"], row["user_id"]): row["id"]
                for row in rows
            }
        return found

    async def _insert(
        self,
        connection: Connection,
        writing: Writing,
        facts: Sequence[FactToStore],
        stored: Sequence[StoredFact],
        past: frozenset[UUID],
    ) -> None:
        rows = [
            (
                one.id, fact.subject, fact.predicate, fact.content, vector, fact.searched, fact.importance,
                m.decay_rate(fact.permanence), fact.permanence, fact.source_butler, fact.source_episode_id,
                one.superseded_id, fact.entity_id, "superseded" if one.id in past else "active", fact.scope,
                as_json(fact.tags), dict(fact.metadata), fact.idempotency_key, fact.digest, fact.user_id, fact.reader,
            )
            for fact, one, vector in zip(facts, stored, writing.vectors, strict=True)
        ]  # fmt: skip
        await connection.execute(
            self._sql["insert_facts"], writing.reach.tenant_id, writing.now, writing.version, writing.is_model_away,
            *columns(rows, 21),
        )  # fmt: skip

    async def _refuse_unusable_entities(
        self, connection: Connection, writing: Writing, facts: Sequence[FactToStore]
    ) -> None:
        ids = sorted({fact.entity_id for fact in facts if fact.entity_id is not None})
        if not ids:
            return
        rows = await connection.fetch(
            self._sql["share_entities"], writing.reach.tenant_id, ids, writing.reach.seen
        )
        merged_into = {row["id"]: row["merged_into"] for row in rows}
        for fact in facts:
            if fact.entity_id is None:
                continue
            path = f"{fact.path}.entity_id"
            if fact.entity_id not in merged_into:
                raise InvalidRequest(f"{path}: there is no entity {fact.entity_id}", fields=[path])
            if target := merged_into[fact.entity_id]:
                raise InvalidRequest(f"{path}: this entity was merged into {target}", fields=[path])


def _chained(
    facts: Sequence[FactToStore], active: Mapping[Key, UUID]
) -> tuple[list[StoredFact], frozenset[UUID]]:
    """Give ids to facts, with what each supersedes; and say which of them are superseded already."""
    newest = dict(active)
    stored: list[StoredFact] = []
    for fact in facts:
        one = StoredFact(uuid4(), newest.get(fact.key))
        newest[fact.key] = one.id
        stored.append(one)
    return stored, frozenset(one.id for one in stored) - frozenset(newest.values())


def _events(facts: Sequence[FactToStore], stored: Sequence[StoredFact]) -> list[Event]:
    events = []
    for fact, one in zip(facts, stored, strict=True):
        payload: dict[str, Any] = {"permanence": fact.permanence, "scope": fact.scope}
        if fact.entity_id is not None:
            payload["entity_id"] = str(fact.entity_id)
        if fact.reader is not None:
            payload["reader"] = fact.reader
        events.append(Event("fact_created", "fact", one.id, payload, user=fact.user_id))
        if one.superseded_id is not None:
            events.append(
                Event(
                    "fact_superseded",
                    "fact",
                    one.superseded_id,
                    {"superseded_by": str(one.id)},
                    user=fact.user_id,
                )
            )
    return events


def _lock_name(tenant_id: str, key: Key) -> str:
    return msgspec.json.encode(["knowledge_fact", tenant_id, *key[:-1]]).decode()  # whose it is shows later


def _lock_number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)
