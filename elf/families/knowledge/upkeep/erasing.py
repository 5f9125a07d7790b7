"""Removes memories and entities for good: what is left is that there was an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.erasing import erasing, named
from elf.families.knowledge.access import reach_of
from elf.families.knowledge.api import working as k
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import Event, record
from elf.offers import Subject

PAGE: Final = 1000


class Erasing:
    """Erases one memory, one entity with its facts, or all of a tenant."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def run(self, request: k.Erase, caller: Caller) -> k.Erased:
        """Erase what was asked for. Raises InvalidRequest for an id or a kind too many or too few, and NotFound."""
        actor = reach_of(request.tenant_id, caller).actor
        if (request.id is None) != (request.what == "tenant"):
            path = "$.id"
            raise InvalidRequest(f"{path}: names a memory or an entity, and nothing else", fields=[path])
        if request.memory_type is not None and request.what != "memory":
            path = "$.memory_type"
            raise InvalidRequest(f"{path}: names the kind of a memory, and nothing else", fields=[path])
        if request.what == "tenant":
            async with erasing(self._kit.database, named(Subject(tenant_id=request.tenant_id))):
                return k.Erased(erased=await self.tenant(request.tenant_id, actor=actor))
        assert request.id is not None
        if request.what == "entity":
            erased = await self.entity(request.tenant_id, request.id, actor=actor)
        else:
            erased = await self._memories(
                request.tenant_id, actor=actor, id=request.id, kind=request.memory_type
            )
        if not any(erased.values()):
            what = request.memory_type or request.what
            raise NotFound(f"$.id: there is no {what} {request.id}", fields=["$.id"])
        return k.Erased(erased=erased)

    async def tenant(self, tenant_id: str, *, actor: str | None) -> dict[str, int]:
        """Erase all of a tenant; returns how much of each kind went."""
        erased = Counter(await self._memories(tenant_id, actor=actor))
        erased.update(await self._entities(tenant_id, None, actor=actor))
        async with self._kit.database.connection() as connection:
            await connection.execute(self._sql["blank_events_of_tenant"], tenant_id)
            await connection.execute(self._sql["erase_traces"], tenant_id)
        return dict(erased)

    async def entity(self, tenant_id: str, entity_id: UUID, *, actor: str | None) -> dict[str, int]:
        """Erase an entity, those that were merged into it, and their facts: all of it, or nothing."""
        return await self._entities(tenant_id, entity_id, actor=actor)

    async def these(
        self,
        connection: Connection,
        tenant_id: str,
        memories: Sequence[tuple[str, UUID]],
        *,
        actor: str | None,
    ) -> Mapping[str, int]:
        """Erase memories, of which kind and id are given, with a transaction of the caller's."""
        ids = [id for _, id in memories]
        counts = await connection.fetchrow(self._sql["erase_memories"], tenant_id, ids)
        assert counts is not None, "it always tells"
        await self.blank(connection, tenant_id, memories, actor=actor)
        return dict(counts)

    async def _memories(
        self,
        tenant_id: str,
        *,
        actor: str | None,
        id: UUID | None = None,
        kind: str | None = None,
    ) -> dict[str, int]:
        """Erase memories page by page, each page with its events."""
        erased: Counter[str] = Counter()
        while True:
            async with self._kit.database.transaction() as connection:
                page = await self._page(connection, tenant_id, id, None, kind, actor=actor)
            if page is None:
                return dict(erased)
            erased.update(page)

    async def _page(
        self,
        connection: Connection,
        tenant_id: str,
        id: UUID | None,
        entities: Sequence[UUID] | None,
        kind: str | None,
        *,
        actor: str | None,
    ) -> Mapping[str, int] | None:
        """Erase some memories of an id, of entities, of a kind; None when there is none."""
        rows = await connection.fetch(self._sql["erasable_memories"], tenant_id, id, PAGE, entities, kind)
        if not rows:
            return None
        memories = [(row["kind"], row["id"]) for row in rows]
        return await self.these(connection, tenant_id, memories, actor=actor)

    async def _entities(self, tenant_id: str, entity_id: UUID | None, *, actor: str | None) -> dict[str, int]:
        return await retrying(lambda: self._entities_once(tenant_id, entity_id, actor))

    async def _entities_once(
        self, tenant_id: str, entity_id: UUID | None, actor: str | None
    ) -> dict[str, int]:
        """Erase entities with the facts about them, which whoever stores facts at this moment has stored or cannot."""
        erased: Counter[str] = Counter()
        async with self._kit.database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_entities_to_erase"], tenant_id, entity_id)
            ids = [row["id"] for row in rows]
            while page := await self._page(connection, tenant_id, None, ids, "fact", actor=actor):
                erased.update(page)
            rows = await connection.fetch(self._sql["erase_entities"], tenant_id, entity_id)
            await self.blank(connection, tenant_id, [("entity", row["id"]) for row in rows], actor=actor)
        erased.update(entities=len(rows))
        return dict(erased)

    async def blank(
        self, connection: Connection, tenant_id: str, what: Sequence[tuple[str, UUID]], *, actor: str | None
    ) -> None:
        """Take out of events what they tell of what is gone, and tell that it is."""
        await connection.execute(self._sql["blank_events"], tenant_id, [id for _, id in what])
        events = [Event("memory_erased", kind, id) for kind, id in what]
        await record(connection, self._sql, events, tenant_id=tenant_id, actor=actor, now=self._kit.now())
