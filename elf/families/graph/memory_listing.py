"""Carries out the operations that read memories, their history and their edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.families.graph import model as m
from elf.families.graph.api import listing as a
from elf.families.graph.api.fields import InOrchestrator
from elf.families.graph.api.writing import OneMemory
from elf.families.graph.paging import behind, next_cursor
from elf.families.graph.places import Places
from elf.families.graph.recall.bundle import Told
from elf.families.graph.recall.grants import Grants, tell_denied
from elf.families.graph.scope import check_scope, viewer_of
from elf.families.graph.store.edges import edges_of, unresolved_contradictions
from elf.families.graph.store.nodes import (
    MemoryFilter,
    need_memory,
    page_of_memories,
    read_memories,
    read_versions,
)
from elf.families.graph.store.rows import StoredEdge
from elf.families.graph.store.statements import Snapshot, Viewer

T = TypeVar("T")
P = TypeVar("P")


class GotMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory."""

    memory: m.MemoryNode


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a listing."""

    items: list[Any]
    next_cursor: str | None


class EdgeOf(Told, frozen=True, kw_only=True):
    """An edge, and how it was resolved where it was a contradiction."""

    edge: m.MemoryEdge
    resolution: m.Resolution | None


class Contradiction(Told, frozen=True, kw_only=True):
    """An edge between two memories that cannot both be true, and its ends."""

    edge: m.MemoryEdge
    from_memory: m.MemoryNode
    to_memory: m.MemoryNode


class MemoryListing:
    """Reads from files; each answer is of one moment, and leaves out what is from files that are granted no longer."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {
            a.LIST: self.memories,
            a.GET: self.get,
            a.HISTORY: self.history,
            a.EDGES: self.edges,
            a.CONTRADICTIONS: self.contradictions,
        }

    async def get(self, request: OneMemory, caller: Caller) -> GotMemory:
        """Read a memory. Raises NoSuchMemory, and ScopeDenied for one whose file is granted no longer."""
        found = await self._read(
            request, caller, lambda snapshot, grants: _needed(snapshot, request.memory_id, grants)
        )
        return GotMemory(memory=found)

    async def memories(self, request: a.ListMemories, caller: Caller) -> Listed:
        """List memories, those changed last first."""
        where = MemoryFilter(
            types=None if request.type is None else [request.type],
            statuses=None if request.status == "all" else [request.status],
            source_types=None if request.source_type is None else [request.source_type],
            conversation_id=request.conversation_id,
            source_path=request.source_path,
            min_importance=request.min_importance,
        )
        most, place = request.limit + 1, _place(request)

        def look(snapshot: Snapshot, grants: Grants) -> list[m.MemoryNode]:
            def page(behind: tuple[datetime, str] | None) -> list[m.MemoryNode]:
                return page_of_memories(snapshot, where, limit=most, behind=behind)

            return _allowed(page, grants.allow, _time_and_id, place, most=most)

        return _listed(request, await self._read(request, caller, look), _time_and_id)

    async def history(self, request: a.MemoryHistory, caller: Caller) -> Listed:
        """Read what a memory has been, oldest first. Raises as `get`."""
        most, place = request.limit + 1, int(_text(request) or 0)

        def look(snapshot: Snapshot, grants: Grants) -> list[m.MemoryVersion]:
            memory_id = _needed(snapshot, request.memory_id, grants).memory_id

            def page(behind: int) -> list[m.MemoryVersion]:
                return read_versions(snapshot, memory_id, behind=behind, limit=most)

            def allow(one: m.MemoryVersion) -> bool:
                return grants.allow_path(one.memory.source.source_path) and _may_see(
                    one.memory, snapshot.viewer
                )

            found = _allowed(page, allow, lambda last: last.version, place, most=most)
            return [_seen(one, snapshot.viewer) for one in found]

        return _listed(request, await self._read(request, caller, look), lambda last: last.version)

    async def edges(self, request: a.EdgesOf, caller: Caller) -> Listed:
        """Read the edges of a memory, by id. Raises as `get`."""
        most, types = request.limit + 1, None if request.edge_type is None else [request.edge_type]

        def look(snapshot: Snapshot, grants: Grants) -> list[StoredEdge]:
            memory_id = _needed(snapshot, request.memory_id, grants).memory_id

            def page(behind: str) -> list[StoredEdge]:
                return edges_of(
                    snapshot, memory_id, direction=request.direction, edge_types=types, behind=behind,
                    limit=most,
                )  # fmt: skip

            def allow(one: StoredEdge) -> bool:
                ends = read_memories(snapshot, (one.edge.from_memory_id, one.edge.to_memory_id)).values()
                return all(grants.allow_path(end.memory.source.source_path) for end in ends)

            return _allowed(page, allow, lambda last: last.edge.edge_id, _text(request), most=most)

        found = [
            EdgeOf(edge=one.edge, resolution=one.resolution)
            for one in await self._read(request, caller, look)
        ]
        return _listed(request, found, lambda last: last.edge.edge_id)

    async def contradictions(self, request: a.ListContradictions, caller: Caller) -> Listed:
        """List the unresolved contradictions, oldest first."""
        most, place = request.limit + 1, _place(request)

        def look(snapshot: Snapshot, grants: Grants) -> list[Contradiction]:
            def page(behind: tuple[datetime, str] | None) -> list[Contradiction]:
                return _contradictions(snapshot, behind, limit=most)

            def allow(one: Contradiction) -> bool:
                return all(map(grants.allow, (one.from_memory, one.to_memory)))

            return _allowed(page, allow, _created_and_id, place, most=most)

        return _listed(request, await self._read(request, caller, look), _created_and_id)

    async def _read(
        self, request: InOrchestrator, caller: Caller, look: Callable[[Snapshot, Grants], T]
    ) -> T:
        """Read what may be shown today, and log what may not."""
        await check_scope(self._places, request, caller)
        async with self._places.found(request.tenant_id, request.orchestrator_id) as place:
            grants = Grants(place.is_granted)
            seen = place.seen_by(viewer_of(caller))
            try:
                return await seen.read(lambda snapshot: look(snapshot, grants))
            finally:
                await tell_denied(place, grants.denied)


def _needed(snapshot: Snapshot, memory_id: str, grants: Grants) -> m.MemoryNode:
    return grants.need(need_memory(snapshot, memory_id).memory)


def _may_see(memory: m.MemoryNode, viewer: Viewer | None) -> bool:
    """Tell whether a viewer who may see a memory may see what it has been, too."""
    if viewer is None or memory.shared or memory.user_id == viewer.user:
        return True
    return memory.user_id is None and memory.source.conversation_id is None


def _seen(version: m.MemoryVersion, viewer: Viewer | None) -> m.MemoryVersion:
    """Return what a memory has been as a viewer is told of it: another user is not named."""
    if viewer is None:
        return version
    others = {None, viewer.user}
    user_id = version.memory.user_id if version.memory.user_id in others else None
    return msgspec.structs.replace(
        version,
        memory=msgspec.structs.replace(version.memory, user_id=user_id),
        actor=version.actor if version.actor in others else None,
    )


def _allowed(
    page: Callable[[P], Sequence[T]],
    allow: Callable[[T], bool],
    place_of: Callable[[T], P],
    behind: P,
    *,
    most: int,
) -> list[T]:
    """Return the first that may be shown, of pages of so many each."""
    found: list[T] = []
    while len(found) < most:
        some = page(behind)
        found += filter(allow, some)
        if len(some) < most:
            break
        behind = place_of(some[-1])
    return found[:most]


def _contradictions(
    snapshot: Snapshot, behind: tuple[datetime, str] | None, *, limit: int
) -> list[Contradiction]:
    edges = unresolved_contradictions(snapshot, behind=behind, limit=limit)
    ids = {end for edge in edges for end in (edge.from_memory_id, edge.to_memory_id)}
    ends = {memory_id: one.memory for memory_id, one in read_memories(snapshot, ids).items()}
    return [
        Contradiction(edge=edge, from_memory=ends[edge.from_memory_id], to_memory=ends[edge.to_memory_id])
        for edge in edges
    ]


def _time_and_id(memory: m.MemoryNode) -> tuple[datetime, str]:
    return memory.updated_at, memory.memory_id


def _created_and_id(one: Contradiction) -> tuple[datetime, str]:
    return one.edge.created_at, one.edge.edge_id


def _listed(request: a.Page, found: Sequence[T], place: Callable[[T], Any]) -> Listed:
    """Return a page of what was found, which is one more than it may hold where there are more."""
    return Listed(items=list(found[: request.limit]), next_cursor=next_cursor(request, found, place))


def _place(request: a.Page) -> tuple[datetime, str] | None:
    found = behind(request, tuple[datetime, str])
    return None if found is None else (found[0].astimezone(UTC), found[1])


def _text(request: a.Page) -> str:
    found = behind(request, str | int)  # type: ignore[arg-type]  # a union is a type to msgspec
    return "" if found is None else str(found)
