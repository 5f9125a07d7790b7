"""What one request changes in a memory: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from elf.core.errors import Conflict
from elf.families.graph import model as m
from elf.families.graph.errors import NotTheUsersOwn
from elf.families.graph.rules.ids import new_id
from elf.families.graph.store.edges import can_reopen, need_edge, resolve_edge, superseding, write_edge
from elf.families.graph.store.nodes import (
    NewMemory,
    change_status,
    contradicted,
    key_of,
    need_memory,
    refuse_others,
    write_memories,
)
from elf.families.graph.store.rows import StoredEdge, VersionedMemory
from elf.families.graph.store.statements import Change

CONTRADICTED: Final = "says something else of the same matter"
SAME: Final = "both say the same by now"
EDGES: Final = "$.edges"
BY_MEMORY: Final = "$.by_memory_id"
EDGE: Final = "$.edge_id"
MEMORY: Final = "$.memory_id"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of memories and edges, in the order in which they came, and the contradictions that were seen."""

    memories: Sequence[tuple[m.MemoryNode, m.Outcome]] = ()
    edges: Sequence[tuple[m.MemoryEdge, m.Outcome]] = ()
    contradictions: Sequence[m.MemoryEdge] = field(default_factory=list)


def write_all(
    change: Change, memories: Sequence[NewMemory], edges: Sequence[m.MemoryEdge], *, embedding_version: str
) -> Written:
    """Write memories, of which each id comes once, and then edges between them and those that there are.

    A memory that says another value of what an active one says gets a Contradicts edge to it, and one that no longer
    does is rid of it. Raises NoSuchMemory, InvalidRequest, NotTheUsersOwn and Conflict, naming the path in the request.
    """
    written = write_memories(change, memories, embedding_version=embedding_version)
    linked = [write_edge(change, edge, path=f"{EDGES}[{place}]") for place, edge in enumerate(edges)]
    changed = [
        replace(new, memory=memory)
        for new, (memory, outcome) in zip(memories, written, strict=True)
        if outcome != "NONE"
    ]
    for new in changed:
        _end_contradictions(change, new.memory.memory_id)
    return Written(written, linked, _contradict(change, changed))


def supersede(
    change: Change,
    loser: str,
    winner: str,
    *,
    reason: str | None,
    path: str = MEMORY,
    winner_path: str = BY_MEMORY,
) -> tuple[m.MemoryNode, m.MemoryEdge]:
    """Say that a memory is superseded by another one, with an edge from this to that.

    Raises NoSuchMemory, InvalidRequest, NotTheUsersOwn, and Conflict where the other one is not active itself, such as
    in a circle: then none of them would be recalled.
    """
    refuse_others(change, need_memory(change, loser, path=path), path=path)
    _refuse_inactive(change, loser, need_memory(change, winner, path=winner_path).memory, path=winner_path)
    edge = m.MemoryEdge(
        edge_id=new_id(), from_memory_id=winner, to_memory_id=loser, edge_type="Updates", weight=1.0, reason=reason,
        created_at=change.now,
    )  # fmt: skip
    known = _edge_between(change, winner, loser, "Updates")
    linked = known or write_edge(change, edge, path="$")[0]
    after = change_status(change, loser, "superseded", "SUPERSEDE", reason=reason, path=path)
    return after, linked


def retract(change: Change, memory_id: str, *, reason: str | None, path: str = MEMORY) -> m.MemoryNode:
    """Say that a memory is not true. Raises NoSuchMemory and NotTheUsersOwn."""
    return change_status(change, memory_id, "retracted", "RETRACT", reason=reason, path=path)


def restore(
    change: Change, memory_id: str, *, reason: str | None
) -> tuple[m.MemoryNode, Sequence[m.MemoryEdge]]:
    """Make a memory active again; return it with the contradictions in which it is from now on.

    Raises NoSuchMemory and NotTheUsersOwn.
    """
    before = need_memory(change, memory_id).memory
    after = change_status(change, memory_id, "active", "RESTORE", reason=reason, path=MEMORY)
    if before.status == "active":
        return after, []
    return after, _contradict(change, [NewMemory(memory=after, key=key_of(change, after.memory_id))])


def ends_of(change: Change, edge_id: str) -> list[VersionedMemory]:
    """Return the memories between which an edge is. Raises NoSuchEdge and NoSuchMemory."""
    edge = need_edge(change, edge_id).edge
    return [need_memory(change, end) for end in (edge.from_memory_id, edge.to_memory_id)]


def resolve(change: Change, edge_id: str, outcome: m.ResolutionOutcome, *, reason: str) -> m.MemoryEdge:
    """Resolve a contradiction: one end is superseded by the other, or ends are retracted, or both are true.

    Raises NoSuchEdge, NotTheUsersOwn where a viewer decides what is true for others, and Conflict for an edge that is
    no contradiction, or no unresolved one.
    """
    found = need_edge(change, edge_id)
    edge, read = found.edge, ends_of(change, edge_id)
    ends = [one.memory for one in read]
    if change.viewer is not None and not any(one.owner in change.viewer.names for one in read):
        raise NotTheUsersOwn(EDGE)
    if edge.edge_type != "Contradicts":
        raise Conflict(f"$.edge_id: {edge_id} is no contradiction", fields=["$.edge_id"])
    if found.resolution is not None or any(end.status != "active" for end in ends):
        raise Conflict(f"$.edge_id: the contradiction {edge_id} is resolved already", fields=["$.edge_id"])
    resolution = m.Resolution(outcome=outcome, reason=reason, resolved_at=change.now)
    resolve_edge(change, edge.edge_id, resolution)
    first, second = (end.memory_id for end in ends)
    match outcome:
        case "keep_from":
            supersede(change, second, first, reason=reason, path=EDGE)
        case "keep_to":
            supersede(change, first, second, reason=reason, path=EDGE)
        case "retract_from" | "retract_to" | "retract_both":
            for memory_id, wanted in ((first, "retract_from"), (second, "retract_to")):
                if outcome in (wanted, "retract_both"):
                    retract(change, memory_id, reason=reason, path=EDGE)
        case "both_true":
            pass
    change.log(
        "memory.contradiction.resolved",
        edge_id=edge.edge_id,
        outcome=outcome,
        orchestrator_id=change.key.orchestrator_id,
    )
    return edge


def _refuse_inactive(change: Change, loser: str, winner: m.MemoryNode, *, path: str) -> None:
    """Raise Conflict for a memory that supersedes another one and is not active itself."""
    if winner.status == "active":
        return
    by: str | None = winner.memory_id
    seen: set[str] = set()
    while by is not None and by not in seen:
        seen.add(by)
        by = superseding(change, by)
        if by == loser:
            raise Conflict(
                f"{path}: {winner.memory_id} is superseded by {loser} itself, and neither would be active",
                fields=[path],
            )
    raise Conflict(
        f"{path}: {winner.memory_id} is {winner.status}, and only an active memory supersedes another one",
        fields=[path],
    )


def _contradict(change: Change, memories: Sequence[NewMemory]) -> list[m.MemoryEdge]:
    """Add edges from memories to those that they contradict, where there are none that hold already."""
    edges = []
    for memory_id, other in contradicted(change, (new for new in memories if new.memory.status == "active")):
        between = [
            _stored_between(change, *ends, "Contradicts") for ends in ((memory_id, other), (other, memory_id))
        ]
        known = [one for one in between if one is not None]
        if any(not can_reopen(change, one) for one in known):
            continue
        for one in known:
            change.run("delete_edge", edge_id=one.edge.edge_id)
        edge = m.MemoryEdge(
            edge_id=new_id(), from_memory_id=memory_id, to_memory_id=other, edge_type="Contradicts", weight=1.0,
            reason=CONTRADICTED, created_at=change.now,
        )  # fmt: skip
        edges.append(write_edge(change, edge, path="$")[0])
    return edges


def _end_contradictions(change: Change, memory_id: str) -> None:
    """See that a memory is in no contradiction with one that says the same by now."""
    for edge_id, is_local in change.rows("ended_contradictions", memory_id=memory_id, reason=CONTRADICTED):
        if is_local:
            change.run("delete_edge", edge_id=edge_id)
        else:
            resolution = m.Resolution(outcome="both_true", reason=SAME, resolved_at=change.now)
            resolve_edge(change, edge_id, resolution)
        change.log("memory.contradiction.ended", edge_id=edge_id, orchestrator_id=change.key.orchestrator_id)


def _stored_between(change: Change, start: str, end: str, edge_type: m.EdgeType) -> StoredEdge | None:
    row = change.row("edge_between", from_memory_id=start, to_memory_id=end, edge_type=edge_type)
    return None if row is None else need_edge(change, row[0])


def _edge_between(change: Change, start: str, end: str, edge_type: m.EdgeType) -> m.MemoryEdge | None:
    found = _stored_between(change, start, end, edge_type)
    return None if found is None else found.edge
