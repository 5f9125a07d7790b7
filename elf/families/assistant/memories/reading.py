"""Reads memories: one, a page of them, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.core.errors import InvalidRequest
from elf.db.database import Connection
from elf.families.assistant.api import history as h
from elf.families.assistant.api import memories as a
from elf.families.assistant.errors import no_memory
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.offered import item_of, standing_of
from elf.families.assistant.memories.told import told
from elf.families.assistant.model import Memory, Place
from elf.families.assistant.store.rows import memory_of
from elf.offers import Item

LARGEST_SEQ = 2**63 - 1


class MemoryReading:
    """Carries out the operations that read memories as they are, which counts as no use of them."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def get(self, request: a.OneMemory, caller: Caller) -> a.Memory:
        """Read a memory in any state. Raises NotFound."""
        async with self._kit.database.connection() as connection:
            return told(await self._read(connection, request, caller))

    async def item(self, request: a.OneMemory, caller: Caller) -> Item:
        """Read a memory that is not deleted, and how it stands. Raises NotFound."""
        async with self._kit.database.connection() as connection:
            memory = await self._read(connection, request, caller)
            if memory.state != "active":
                raise no_memory(request.memory_id)
            reached = self._kit.access.categories(caller)
            standing = await standing_of(connection, self._sql, memory.place, [memory.memory_id], reached)
        return item_of(memory, standing[memory.memory_id], self._kit.now())

    async def _read(self, connection: Connection, request: a.OneMemory, caller: Caller) -> Memory:
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        categories = self._kit.access.categories(caller)
        row = await connection.fetchrow(self._sql["get_memory"], *place, request.memory_id)
        if row is None or (categories is not None and row["category"] not in categories):
            raise no_memory(request.memory_id)
        return memory_of(row)

    async def page(self, request: a.ListMemories, caller: Caller) -> a.Memories:
        """List memories that pass all filters, those that changed last first."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        categories = self._kit.access.categories(caller, wanted=request.category)
        # Who calls as an agent, by its key, lists what the agent may read, whoever stored it.
        agent_id = None if "agent_id" in caller.bound else request.agent_id
        _refuse_crossed(request.importance_min, request.importance_max)
        listing = ("assistant_memories", *place, *_filters(request), *(categories or ()))
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_memories"], *place, start.moment, start.id, request.limit + 1, request.state,
                categories, None if request.type is None else [request.type], request.thread_id, agent_id,
                request.run_id, request.actor_id, request.role, request.pinned, request.importance_min,
                request.importance_max, request.updated_after, request.updated_before, request.tag,
            )  # fmt: skip
        shown = rows[: request.limit]
        cursor = None
        if len(rows) > request.limit:
            cursor = encode_cursor(shown[-1]["updated_at"], shown[-1]["memory_id"], *listing)
        return a.Memories(items=[told(memory_of(row)) for row in shown], next_cursor=cursor)

    async def history(self, request: h.MemoryHistory, caller: Caller) -> h.HistoryPage:
        """Read what became of a memory, purged or not. Raises NotFound for one that was never there."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        page = await self._history(request, place, request.memory_id, self._kit.access.categories(caller))
        if not page.items and request.cursor is None:
            raise no_memory(request.memory_id)
        return page

    async def all_history(self, request: h.AllHistory, caller: Caller) -> h.HistoryPage:
        """Read what became of all memories of a user."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        return await self._history(request, place, None, self._kit.access.categories(caller))

    async def _history(
        self, request: h.AllHistory, place: Place, memory_id: UUID | None, categories: Sequence[str] | None
    ) -> h.HistoryPage:
        listing = ("assistant_history", *place, None if memory_id is None else str(memory_id))
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        query = "list_all_history" if memory_id is None else "list_history"
        which = () if memory_id is None else (memory_id,)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql[query],
                *place,
                start.moment,
                start.id.int & LARGEST_SEQ,
                request.limit + 1,
                categories,
                *which,
            )
        shown = rows[: request.limit]
        cursor = None
        if len(rows) > request.limit:
            cursor = encode_cursor(shown[-1]["ts"], UUID(int=shown[-1]["seq"]), *listing)
        return h.HistoryPage(items=[_history_row(row) for row in shown], next_cursor=cursor)


def _history_row(row: Mapping[str, Any]) -> h.HistoryRow:
    return h.HistoryRow(
        id=row["id"], memory_id=row["memory_id"], event=row["event"], old_ref=_snapshot(row["old_ref"]),
        new_ref=_snapshot(row["new_ref"]), actor=row["actor"], meta=row["meta"], ts=row["ts"],
    )  # fmt: skip


def _snapshot(ref: str | None) -> dict[str, Any] | None:
    return None if ref is None else msgspec.json.decode(ref)


def _filters(request: a.ListMemories) -> list[str]:
    """Return what tells this listing from others."""
    said = request.model_dump(mode="json", exclude={"limit", "cursor", "tenant_id", "user_id"})
    return [f"{name}={value}" for name, value in said.items()]


def _refuse_crossed(least: int | None, most: int | None) -> None:
    if least is not None and most is not None and least > most:
        path = "$.importance_min"
        raise InvalidRequest(f"{path}: must be at most importance_max", fields=[path])
