"""Carries out the operations that write and change memories and edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec
from anyio import CapacityLimiter, to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest
from elf.families.graph import drafts
from elf.families.graph import model as m
from elf.families.graph.api import writing as w
from elf.families.graph.ownership import ConversationOwners
from elf.families.graph.places import Places, write_at
from elf.families.graph.recall.bundle import Told
from elf.families.graph.recall.grants import Grants, tell_denied
from elf.families.graph.recall.place import Place
from elf.families.graph.rules.texts import summary_of
from elf.families.graph.scope import actor_of, check_scope, viewer_of
from elf.families.graph.store import changes
from elf.families.graph.store.nodes import NewMemory, need_memory, read_memories, refuse_others
from elf.families.graph.store.owner_locks import Owners, owners_of
from elf.families.graph.store.statements import Change

Done = tuple[Sequence[m.MemoryNode], Sequence[m.MemoryEdge]]
"""The memories that were changed, and the edges that came with it."""


class WrittenMemory(Told, frozen=True, kw_only=True):
    """What became of a memory."""

    memory_id: str
    outcome: m.Outcome


class WrittenEdge(Told, frozen=True, kw_only=True):
    """What became of an edge."""

    edge_id: str
    outcome: m.Outcome


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to who writes."""

    memories: list[WrittenMemory]
    edges: list[WrittenEdge]
    contradictions: list[m.MemoryEdge]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to who changes."""

    memories: list[m.MemoryNode]
    edges: list[m.MemoryEdge]


class MemoryWriting:
    """What a call with a user writes is that user's; what is from a conversation, else, that of its owner.

    `embedding_version` is that of the vectors to be made, and `ring` wakes whoever makes them.
    """

    def __init__(
        self,
        places: Places,
        clock: Clock,
        owners: ConversationOwners,
        *,
        embedding_version: str,
        ring: Callable[[], None],
    ) -> None:
        self._places = places
        self._owners = owners
        self._clock = clock
        self._version = embedding_version
        self._ring = ring
        self._drafting = CapacityLimiter(
            1
        )  # threads that compute only take turns, and the loop waits for each

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {
            w.WRITE: self.write,
            w.WRITE_EDGES: self.write_edges,
            w.UPDATE: self.update,
            w.SUPERSEDE: self.supersede,
            w.RETRACT: self.retract,
            w.RESTORE: self.restore,
            w.RESOLVE: self.resolve,
        }

    async def write(self, request: w.WriteMemories, caller: Caller) -> Written:
        """Write memories and edges, all or none."""
        await check_scope(self._places, request, caller)
        memories = await to_thread.run_sync(_drafted, request, self._clock.now(), limiter=self._drafting)
        if viewer_of(caller) is None:
            memories = await self._owners.owned(request.tenant_id, memories)
        return await self._write(request, caller, memories)

    async def write_edges(self, request: w.WriteEdges, caller: Caller) -> Written:
        """Write edges between memories that there are, all or none."""
        await check_scope(self._places, request, caller)
        return await self._write(request, caller, [])

    async def update(self, request: w.UpdateMemory, caller: Caller) -> Changed:
        """Change what is said of a memory, and leave the rest."""
        drafts.refuse_secrets({"$.reason": request.reason})
        owner = await self._owner(request.tenant_id, request.source, caller)

        def change(change: Change, place: Place, grants: Grants) -> Done:
            before = grants.need(need_memory(change, request.memory_id).memory)
            after = _updated(before, request, owner)
            drafts.check_memory(after, at="$")
            drafts.check_source_path(after, place.check_path, at="$")
            new = NewMemory(
                memory=msgspec.structs.replace(after, updated_at=change.now),
                key=drafts.key_of(after),
                reason=request.reason,
            )
            written = changes.write_all(change, [new], [], embedding_version=self._version)
            told = [edge for edge in written.contradictions if _may_be_named(change, edge, grants)]
            return [memory for memory, _ in written.memories], told

        return await self._change(request, caller, change, _owners(request.source, owner))

    async def supersede(self, request: w.SupersedeMemory, caller: Caller) -> Changed:
        """Say that a memory is superseded, by one that there is or by a new one."""
        drafts.refuse_secrets({"$.reason": request.reason})
        given, reason = request.memory, request.reason
        owner = await self._owner(request.tenant_id, None if given is None else given.source, caller)

        def change(change: Change, place: Place, grants: Grants) -> Done:
            loser = grants.need(need_memory(change, request.memory_id).memory)
            if given is None:
                winner = _winner(change, request.by_memory_id or "", grants)
            else:
                winner = self._put(change, place, given, "$.memory", owner)
            if winner.memory_id == loser.memory_id:
                raise InvalidRequest("$.memory_id: no memory supersedes itself", fields=["$.memory_id"])
            winner_path = changes.BY_MEMORY if given is None else "$.memory.status"
            after, edge = changes.supersede(
                change, loser.memory_id, winner.memory_id, reason=reason, winner_path=winner_path
            )
            return [after, winner], [edge]

        return await self._change(
            request, caller, change, _owners(None if given is None else given.source, owner)
        )

    async def retract(self, request: w.ChangeStatus, caller: Caller) -> Changed:
        """Say that a memory is not true."""
        drafts.refuse_secrets({"$.reason": request.reason})

        def change(change: Change, _: Place, grants: Grants) -> Done:
            grants.need(need_memory(change, request.memory_id).memory)
            return [changes.retract(change, request.memory_id, reason=request.reason)], []

        return await self._change(request, caller, change)

    async def restore(self, request: w.ChangeStatus, caller: Caller) -> Changed:
        """Make a memory active again."""
        drafts.refuse_secrets({"$.reason": request.reason})

        def change(change: Change, _: Place, grants: Grants) -> Done:
            grants.need(need_memory(change, request.memory_id).memory)
            restored, edges = changes.restore(change, request.memory_id, reason=request.reason)
            return [restored], [edge for edge in edges if _may_be_named(change, edge, grants)]

        return await self._change(request, caller, change)

    async def resolve(self, request: w.Resolve, caller: Caller) -> Changed:
        """Resolve a contradiction."""
        drafts.refuse_secrets({"$.reason": request.reason})

        def change(change: Change, _: Place, grants: Grants) -> Done:
            for end in changes.ends_of(change, request.edge_id):
                grants.need(end.memory, at="$.edge_id")
            edge = changes.resolve(change, request.edge_id, request.outcome, reason=request.reason)
            ends = (edge.from_memory_id, edge.to_memory_id)
            return [need_memory(change, end).memory for end in ends], [edge]

        return await self._change(request, caller, change)

    async def _owner(self, tenant_id: str, source: w.NewSource | None, caller: Caller) -> str | None:
        """Return whose what is from a source is, where a call without a user writes it and somebody knows."""
        if source is None or viewer_of(caller) is not None:
            return None
        return await self._owners.of(tenant_id, source.conversationId)

    def _put(
        self, change: Change, place: Place, given: w.NewMemory, at: str, owner: str | None
    ) -> m.MemoryNode:
        """Write a memory of a request within a change, and return it as it stands."""
        new = drafts.new_memory(given, change.key.orchestrator_id, now=change.now, at=at)
        new = replace(new, memory=msgspec.structs.replace(new.memory, user_id=owner))
        drafts.check_memory(new.memory, at=at)
        drafts.check_source_path(new.memory, place.check_path, at=at)
        written = changes.write_all(change, [new], [], embedding_version=self._version)
        return written.memories[0][0]

    async def _write(
        self,
        request: w.WriteMemories | w.WriteEdges,
        caller: Caller,
        memories: Sequence[NewMemory],
    ) -> Written:
        edges: Sequence[m.MemoryEdge] = ()
        if request.edges:
            now = self._clock.now()
            edges = await to_thread.run_sync(_linked, request.edges, now, limiter=self._drafting)

        async def write(place: Place) -> changes.Written:
            if any(new.memory.source.source_path is not None for new in memories):
                await to_thread.run_sync(_check_paths, place, memories)
            grants = Grants(place.is_granted)

            def change(change: Change) -> changes.Written:
                written = changes.write_all(change, memories, edges, embedding_version=self._version)
                told = [edge for edge in written.contradictions if _may_be_named(change, edge, grants)]
                return replace(written, contradictions=told)

            return await place.seen_by(viewer_of(caller)).write(
                change, actor=actor_of(caller), owners=owners_of(new.memory for new in memories)
            )

        written = await write_at(self._places, request.tenant_id, request.orchestrator_id, write)
        self._ring()
        return Written(
            memories=[
                WrittenMemory(memory_id=one.memory_id, outcome=outcome) for one, outcome in written.memories
            ],
            edges=[WrittenEdge(edge_id=one.edge_id, outcome=outcome) for one, outcome in written.edges],
            contradictions=list(written.contradictions),
        )

    async def _change(
        self,
        request: w.OneMemory | w.Resolve,
        caller: Caller,
        change: Callable[[Change, Place, Grants], Done],
        owners: Owners | None = None,
    ) -> Changed:
        """Make a change, which tells of no memory whose file is granted no longer, and log what it may not tell."""
        await check_scope(self._places, request, caller)

        async def write(place: Place) -> Done:
            grants = Grants(place.is_granted)
            try:
                return await place.seen_by(viewer_of(caller)).write(
                    lambda at: change(at, place, grants), actor=actor_of(caller), owners=owners
                )
            finally:
                await tell_denied(place, grants.denied)

        memories, edges = await write_at(self._places, request.tenant_id, request.orchestrator_id, write)
        self._ring()
        return Changed(memories=list(memories), edges=list(edges))


def _owners(source: w.NewSource | None, owner: str | None) -> Owners:
    return Owners.known(owner, None if source is None else source.conversationId)


def _drafted(request: w.WriteMemories, now: datetime) -> list[NewMemory]:
    """Return the memories of a request, but for their paths checked.

    Takes its time: what each is about, and secrets, are looked for in its text.
    """
    memories = []
    for number, told in enumerate(request.memories):
        at = f"$.memories[{number}]"
        new = drafts.new_memory(told, request.orchestrator_id, now=now, at=at)
        drafts.check_memory(new.memory, at=at)
        memories.append(new)
    drafts.refuse_doubles([new.memory.memory_id for new in memories], at="$.memories", name="memoryId")
    return memories


def _linked(told_edges: Sequence[w.NewEdge], now: datetime) -> list[m.MemoryEdge]:
    """Return the edges of a request, checked."""
    edges = [drafts.new_edge(told, now=now) for told in told_edges]
    drafts.refuse_doubles([edge.edge_id for edge in edges], at=changes.EDGES, name="edgeId")
    for number, edge in enumerate(edges):
        drafts.refuse_secrets({f"{changes.EDGES}[{number}].reason": edge.reason})
    return edges


def _check_paths(place: Place, memories: Sequence[NewMemory]) -> None:
    for number, new in enumerate(memories):
        drafts.check_source_path(new.memory, place.check_path, at=f"$.memories[{number}]")


def _winner(change: Change, memory_id: str, grants: Grants) -> m.MemoryNode:
    """Return what is to supersede another memory. Raises NoSuchMemory, ScopeDenied and NotTheUsersOwn."""
    path = "$.by_memory_id"
    found = need_memory(change, memory_id, path=path)
    if found.owner is not None:
        refuse_others(change, found, path=path)
    return grants.need(found.memory, at=path)


def _may_be_named(change: Change, edge: m.MemoryEdge, grants: Grants) -> bool:
    """Tell whether both ends of an edge may be shown."""
    ends = read_memories(change, (edge.from_memory_id, edge.to_memory_id)).values()
    return all(grants.allow_path(end.memory.source.source_path) for end in ends)


def _updated(before: m.MemoryNode, request: w.UpdateMemory, owner: str | None) -> m.MemoryNode:
    """Return a memory with what a request says of it; `owner` is that of the conversation that it is from now."""
    said = {name: getattr(request, name) for name in ("type", "importance", "content", "confidence")}
    after = msgspec.structs.replace(
        before, **{name: value for name, value in said.items() if value is not None}
    )
    if request.source is not None:
        source = drafts.source_of(request.source)
        after = msgspec.structs.replace(after, source=source, user_id=owner or before.user_id)
    if request.summary is None and after.content == before.content:
        return after
    return msgspec.structs.replace(after, summary=summary_of(after.content, request.summary))
