"""Exporting what there is of a subject, page by page, in the order in which it can be taken in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final
from uuid import UUID

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.knowledge.model import MEMORY_TYPES, MemoryType
from elf.families.knowledge.subjects import exported as x
from elf.families.knowledge.subjects.whose import Whose

PAGE: Final = 200
IDS_AT_ONCE: Final = 10_000
_FIRST: Final = UUID(int=0)

Row = Mapping[str, Any]
Pieces = AsyncGenerator[x.Exported, None]


class Export:
    """Reads memories with all that is known of them; vectors are not among it. No transaction stays open.

    Of a part of a tenant, entities are those that its facts are about, and events those of its memories.
    """

    def __init__(self, database: Database, queries: Queries, *, page: int = PAGE) -> None:
        self._database = database
        self._sql = queries
        self._page = page

    async def of(self, whose: Whose) -> Pieces:
        """Yield what is somebody's: whom facts are about, memories, what they have to do with one another, events."""
        for part in (
            self._entities(whose),
            self._of_memories(whose, "episode", "export_episodes", x.ExportedEpisode),
            self._of_memories(whose, "fact", "export_facts", x.ExportedFact, whose.scope, whose.user),
            self._of_memories(whose, "rule", "export_rules", x.ExportedRule, whose.scope, whose.user),
            self._supersessions(whose),
            self._of_memories(whose, "rule", "export_applications", x.ExportedApplication),
            *(self._of_memories(whose, kind, "export_links", x.ExportedLink, kind) for kind in MEMORY_TYPES),
            *self._events(whose),
        ):
            async with aclosing(part) as pieces:
                async for piece in pieces:
                    yield piece

    async def _entities(self, whose: Whose) -> Pieces:
        if whose.scope is None:
            behind = _FIRST
            while rows := await self._fetch("export_entities_of_tenant", whose.tenant_id, behind, self._page):
                for row in rows:
                    yield x.ExportedEntity(tenant_id=whose.tenant_id, **row)
                behind = rows[-1]["id"]
            return
        told: set[UUID] = set()
        async with aclosing(self._pages(whose, "fact")) as pages:
            async for ids in pages:
                found = await self._fetch("entities_of_facts", whose.tenant_id, ids)
                new = {row["entity_id"] for row in found} - told
                for row in await self._fetch("export_entities", whose.tenant_id, list(new)) if new else ():
                    if row["id"] not in told:
                        told.add(row["id"])
                        yield x.ExportedEntity(tenant_id=whose.tenant_id, **row)

    async def _of_memories(
        self, whose: Whose, kind: MemoryType, query: str, piece: Callable[..., x.Exported], *more: Any
    ) -> Pieces:
        """Yield what a statement tells of the memories of a kind."""
        async with aclosing(self._pages(whose, kind)) as pages:
            async for ids in pages:
                for row in await self._fetch(query, whose.tenant_id, ids, *more):
                    yield piece(tenant_id=whose.tenant_id, **row)

    async def _supersessions(self, whose: Whose) -> Pieces:
        """Yield which facts took the place of which, as far as both go along."""
        told: set[UUID] = set()
        if whose.scope is not None:
            async with aclosing(self._pages(whose, "fact")) as pages:
                async for ids in pages:
                    told.update(ids)
        of_facts = self._of_memories(whose, "fact", "export_supersessions", x.ExportedSupersession)
        async with aclosing(of_facts) as pieces:
            async for piece in pieces:
                assert isinstance(piece, x.ExportedSupersession), "it is what was asked for"
                if whose.scope is None or piece.supersedes_id in told:
                    yield piece

    def _events(self, whose: Whose) -> Sequence[Pieces]:
        if whose.scope is None:
            return [self._events_of_tenant(whose.tenant_id)]
        return [self._of_memories(whose, kind, "export_events", x.ExportedEvent) for kind in MEMORY_TYPES]

    async def _events_of_tenant(self, tenant_id: str) -> Pieces:
        behind = 0
        while rows := await self._fetch("export_events_of_tenant", tenant_id, behind, self._page):
            for row in rows:
                said = {name: value for name, value in row.items() if name != "seq"}
                yield x.ExportedEvent(tenant_id=tenant_id, **said)
            behind = rows[-1]["seq"]

    async def _pages(self, whose: Whose, kind: MemoryType) -> AsyncGenerator[list[UUID], None]:
        """Yield the ids of the memories of a kind."""
        behind = _FIRST
        place = whose.tenant_id, whose.scope, whose.user
        while rows := await self._fetch(f"{kind}s_of_subject", *place, behind, IDS_AT_ONCE):
            ids = [row["id"] for row in rows]
            for start in range(0, len(ids), self._page):
                yield ids[start : start + self._page]
            behind = ids[-1]

    async def _fetch(self, query: str, *values: Any) -> Sequence[Row]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._sql[query], *values)
