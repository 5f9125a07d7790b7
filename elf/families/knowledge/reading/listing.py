"""Reads what is kept: one memory, what became of it, its links, and pages of everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, Cursor, decode_cursor, encode_cursor
from elf.core.errors import NotFound
from elf.families.knowledge import model as m
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api.lifecycle import OneMemory
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.reading.rows import Row, told, told_fact

MAX_CHAIN: Final = 10_000
MAX_EVENTS: Final = 10_000
MAX_LINKS: Final = 10_000


class MemoryListing:
    """Carries out the operations that read what is kept."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def get(self, request: OneMemory, caller: Caller) -> a.GotMemory:
        """Read a memory, which counts as a reference. Raises NotFound."""
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(
                self._sql[f"get_{request.memory_type}"],
                reach.tenant_id,
                reach.seen,
                request.memory_id,
                now,
            )
        if row is None:
            raise missing(request.memory_type, request.memory_id)
        return a.GotMemory.model_construct(told(request.memory_type, row, now))

    async def episodes(self, request: a.ListEpisodes, caller: Caller) -> a.Episodes:
        reach = reach_of(request.tenant_id, caller)
        reach.allow(request.butler, "$.butler")
        where = (request.butler, request.session_id, request.status)
        rows, cursor = await self._page("list_episodes", request, reach, where)
        return a.Episodes.model_construct(items=self._told("episode", rows), next_cursor=cursor)

    async def facts(self, request: a.ListFacts, caller: Caller) -> a.Facts:
        reach = reach_of(request.tenant_id, caller)
        reach.allow(request.scope, "$.scope")
        where = (
            request.validity, request.scope, request.subject, request.predicate, request.entity_id, _tags(request.tag),
        )  # fmt: skip
        rows, cursor = await self._page("list_facts", request, reach, where)
        return a.Facts.model_construct(items=self._told("fact", rows), next_cursor=cursor)

    async def rules(self, request: a.ListRules, caller: Caller) -> a.Rules:
        reach = reach_of(request.tenant_id, caller)
        reach.allow(request.scope, "$.scope")
        where = (request.scope, request.maturity, request.forgotten, _tags(request.tag))
        rows, cursor = await self._page("list_rules", request, reach, where)
        return a.Rules.model_construct(items=self._told("rule", rows), next_cursor=cursor)

    async def events(self, request: a.ListEvents, caller: Caller) -> a.Events:
        reach = reach_of(request.tenant_id, caller)
        listing = ("list_events", *_names(request))
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_events"], reach.tenant_id, reach.seen, start.moment, start.id.int & (2**63 - 1),
                request.limit + 1, request.event_type, request.memory_type, request.memory_id,
            )  # fmt: skip
        shown = rows[: request.limit]
        more = len(rows) > request.limit
        cursor = (
            encode_cursor(shown[-1]["created_at"], UUID(int=shown[-1]["seq"]), *listing) if more else None
        )
        return a.Events(items=[_event(row) for row in shown], next_cursor=cursor)

    async def history(self, request: OneMemory, caller: Caller) -> a.MemoryHistory:
        """Read what became of a memory. Raises NotFound."""
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        one = (request.memory_type, request.memory_id)
        async with self._kit.database.transaction() as connection:
            await self._refuse_missing(connection, reach, *one)
            events = await connection.fetch(
                self._sql["events_of_memory"],
                reach.tenant_id,
                reach.seen,
                request.memory_id,
                request.memory_type,
                MAX_EVENTS,
            )
            chain = (
                await connection.fetch(
                    self._sql["supersession_chain"],
                    reach.tenant_id,
                    reach.seen,
                    request.memory_id,
                    MAX_CHAIN,
                )
                if request.memory_type == "fact"
                else []
            )
            links = await self._links(connection, reach, *one, "both")
        return a.MemoryHistory(
            events=[_event(row) for row in events],
            supersession=[told_fact(row, now) for row in chain],
            links=links,
        )

    async def links(self, request: a.Links, caller: Caller) -> a.LinksOf:
        """Read the links of a memory. Raises NotFound."""
        reach = reach_of(request.tenant_id, caller)
        one = (request.memory_type, request.memory_id)
        async with self._kit.database.connection() as connection:
            await self._refuse_missing(connection, reach, *one)
            return a.LinksOf(items=await self._links(connection, reach, *one, request.direction))

    async def _links(
        self, connection: Any, reach: Reach, kind: m.MemoryType, id: UUID, direction: str
    ) -> list[a.LinkEnd]:
        rows = await connection.fetch(
            self._sql["links_of_memory"], reach.tenant_id, reach.seen, kind, id, direction != "incoming",
            direction != "outgoing", MAX_LINKS,
        )  # fmt: skip
        return [a.LinkEnd(**row) for row in rows]

    async def _refuse_missing(self, connection: Any, reach: Reach, kind: m.MemoryType, id: UUID) -> None:
        if not await connection.fetchval(self._sql["is_there"], reach.tenant_id, reach.seen, kind, id):
            raise missing(kind, id)

    async def _page(
        self, query: str, request: a.Page, reach: Reach, where: Sequence[Any]
    ) -> tuple[Sequence[Row], str | None]:
        listing = (query, *_names(request))
        start: Cursor = (
            BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        )
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql[query],
                reach.tenant_id,
                reach.seen,
                start.moment,
                start.id,
                request.limit + 1,
                *where,
            )
        shown = rows[: request.limit]
        more = len(rows) > request.limit
        return shown, encode_cursor(shown[-1]["created_at"], shown[-1]["id"], *listing) if more else None

    def _told(self, kind: m.MemoryType, rows: Sequence[Row]) -> list[Any]:
        now = self._kit.now()
        return [told(kind, row, now) for row in rows]


def missing(kind: str, id: UUID) -> NotFound:
    """Return the error that there is no such memory."""
    path = "$.memory_id"
    return NotFound(f"{path}: there is no {kind} {id}", fields=[path])


def _event(row: Row) -> a.Event:
    return a.Event(**{name: row[name] for name in a.Event.model_fields})


def _names(request: a.Page) -> list[str | None]:
    """Return what tells this listing from others."""
    said = request.model_dump(mode="json", exclude={"limit", "cursor"})
    return [f"{name}={value}" for name, value in said.items()]


def _tags(tag: str | None) -> list[str] | None:
    return None if tag is None else [tag]
