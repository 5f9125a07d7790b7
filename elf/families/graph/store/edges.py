"""Edges in a file: read, written between memories that there are, and resolved where they are contradictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from elf.core.errors import Conflict, InvalidRequest
from elf.families.graph import model as m
from elf.families.graph.errors import NoSuchEdge, NoSuchMemory, NotTheUsersOwn
from elf.families.graph.store.nodes import own_id, read_memory
from elf.families.graph.store.rows import StoredEdge, edge_of
from elf.families.graph.store.statements import Change, Snapshot, stored_moment

Direction: TypeAlias = Literal["outgoing", "incoming", "both"]
FIRST: Final = -(2**62)
"""Earlier than every moment that is stored."""


def need_edge(snapshot: Snapshot, edge_id: str) -> StoredEdge:
    """Return an edge. Raises NoSuchEdge and InvalidRow."""
    row = snapshot.row("edge_by_id", edge_id=_own_id(snapshot, edge_id))
    if row is None:
        raise NoSuchEdge(edge_id)
    return edge_of(row)


def edges_of(
    snapshot: Snapshot,
    memory_id: str,
    *,
    direction: Direction,
    edge_types: Sequence[m.EdgeType] | None,
    behind: str,
    limit: int,
) -> list[StoredEdge]:
    """Return a page of the edges of a memory of this id, by theirs, behind one. Raises InvalidRow."""
    statements = {"outgoing": ["edges_from_memory"], "incoming": ["edges_to_memory"]}.get(
        direction, ["edges_from_memory", "edges_to_memory"]
    )
    types = None if edge_types is None else json.dumps(list(edge_types))
    found = [
        edge_of(row)
        for statement in statements
        for row in snapshot.rows(statement, memory_id=memory_id, edge_types=types, behind=behind, limit=limit)
    ]
    return sorted(found, key=lambda one: one.edge.edge_id)[:limit]


def superseding(snapshot: Snapshot, memory_id: str) -> str | None:
    """Return the id of the memory that superseded one last; None where no edge tells. Raises InvalidRow."""
    edges = edges_of(
        snapshot, memory_id, direction="incoming", edge_types=["Updates"], behind="", limit=m.MAX_EDGES
    )
    last = max(edges, key=lambda one: (one.edge.created_at, one.edge.edge_id), default=None)
    return None if last is None else last.edge.from_memory_id


def unresolved_contradictions(
    snapshot: Snapshot, *, behind: tuple[datetime, str] | None, limit: int
) -> list[m.MemoryEdge]:
    """Return a page of the contradictions that are unresolved, oldest first, behind one. Raises InvalidRow."""
    after, edge_id = (FIRST, "") if behind is None else (stored_moment(behind[0]), behind[1])
    rows = snapshot.rows("unresolved_contradictions", after=after, behind=edge_id, limit=limit)
    return [edge_of(row).edge for row in rows]


def write_edge(change: Change, edge: m.MemoryEdge, *, path: str) -> tuple[m.MemoryEdge, m.Outcome]:
    """Add an edge, or change the weight and reason of the one of its type between its ends; return what stands now.

    There is one edge of a type from one memory to another: it keeps its id and the time it was created. A contradiction
    that was resolved holds again where `can_reopen` says so. Raises
    NoSuchMemory, naming the path, when an end is missing, InvalidRequest for an edge to itself, NotTheUsersOwn where a
    viewer links what is not the viewer's own, and Conflict when its id is that of an edge between others.
    """
    edge = _between(change, edge, path)
    between = change.row(
        "edge_between",
        from_memory_id=edge.from_memory_id,
        to_memory_id=edge.to_memory_id,
        edge_type=edge.edge_type,
    )
    if between is None:
        _refuse_taken(change, edge, path)
        change.run("insert_edge", **_stored(edge))
        return edge, "ADD"
    found = edge_of(between)
    before = found.edge
    if can_reopen(change, found):
        again = msgspec.structs.replace(edge, edge_id=before.edge_id)
        change.run("delete_edge", edge_id=before.edge_id)
        change.run("insert_edge", **_stored(again))
        return again, "UPDATE"
    after = msgspec.structs.replace(edge, edge_id=before.edge_id, created_at=before.created_at)
    if after == before:
        return before, "NONE"
    change.run("update_edge", edge_id=before.edge_id, weight=after.weight, reason=after.reason)
    return after, "UPDATE"


def can_reopen(snapshot: Snapshot, found: StoredEdge) -> bool:
    """Tell whether an edge is a resolved contradiction, of which the resolution holds no longer.

    Both ends are active then: the one that was not true or no longer was restored; or both were true, and one of them
    says something else since.
    """
    edge, resolution = found.edge, found.resolution
    if resolution is None or edge.edge_type != "Contradicts":
        return False
    ends = [read_memory(snapshot, end) for end in (edge.from_memory_id, edge.to_memory_id)]
    memories = [end.memory for end in ends if end is not None]
    if len(memories) < 2 or any(memory.status != "active" for memory in memories):
        return False
    if resolution.outcome != "both_true":
        return True
    at = stored_moment(resolution.resolved_at)
    said = [(one, snapshot.row("content_at", memory_id=one.memory_id, at=at)) for one in memories]
    return any(row is not None and row[0] != one.content for one, row in said)


def resolve_edge(change: Change, edge_id: str, resolution: m.Resolution) -> None:
    """Say how a contradiction was resolved."""
    change.run(
        "resolve_edge", edge_id=edge_id, resolution=resolution.outcome, resolution_reason=resolution.reason,
        resolved_at=stored_moment(resolution.resolved_at),
    )  # fmt: skip


def _own_id(snapshot: Snapshot, edge_id: str) -> str:
    return own_id(snapshot, edge_id, is_seen="edge_is_seen")


def _between(change: Change, edge: m.MemoryEdge, path: str) -> m.MemoryEdge:
    """Return an edge as it is written. That of a viewer leads to or from the viewer's own, and to no other user's."""
    if edge.from_memory_id == edge.to_memory_id:
        field = f"{path}.toMemoryId"
        raise InvalidRequest(f"{field}: an edge leads to another memory", fields=[field])
    found = []
    for end, name in ((edge.from_memory_id, "fromMemoryId"), (edge.to_memory_id, "toMemoryId")):
        if (one := read_memory(change, end)) is None:
            raise NoSuchMemory(end, path=f"{path}.{name}")
        found.append(one)
    if change.viewer is None:
        return edge
    own = [one.owner in change.viewer.names for one in found]
    for is_own, one, other, name in zip(
        own, found, reversed(own), ("fromMemoryId", "toMemoryId"), strict=True
    ):
        if not is_own and not (other and one.owner is None):
            raise NotTheUsersOwn(f"{path}.{name}")
    start, end = (one.memory.memory_id for one in found)
    return msgspec.structs.replace(
        edge, edge_id=_own_id(change, edge.edge_id), from_memory_id=start, to_memory_id=end
    )


def _refuse_taken(change: Change, edge: m.MemoryEdge, path: str) -> None:
    if change.row("edge_by_id", edge_id=edge.edge_id) is not None:
        field = f"{path}.edgeId"
        raise Conflict(f"{field}: this is the id of an edge between others", fields=[field])


def _stored(edge: m.MemoryEdge) -> dict[str, object]:
    return {**msgspec.structs.asdict(edge), "created_at": stored_moment(edge.created_at)}
