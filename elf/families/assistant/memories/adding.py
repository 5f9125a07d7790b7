"""Adds memories that somebody tells as they are to be kept."""

from __future__ import annotations

from typing import Final
from uuid import uuid4

from pgvector import Vector

from elf.api.caller import Caller
from elf.db.errors import retrying
from elf.families.assistant.access import actor_of
from elf.families.assistant.api import memories as a
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.memories.told import told
from elf.families.assistant.model import COMPARED_TYPES, Evidence, Memory
from elf.families.assistant.rules.validators import faults_of
from elf.families.assistant.store.writer import Writer

MANUAL: Final = "manual"


class MemoryAdding:
    """Carries out the operation that adds a memory."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._given = Given(kit)

    async def add(self, request: a.AddMemory, caller: Caller) -> a.AddedMemory:
        """Add a memory, unless an active one of its category and type says the same.

        Raises ScopeDenied for a category that is not the agent's.
        """
        memory = await self._new(request, caller)
        return await added(self._kit, memory, caller, warnings=list(faults_of(memory.text, memory.type)))

    async def _new(self, request: a.AddMemory, caller: Caller) -> Memory:
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        self._kit.access.categories(caller, wanted=request.category)
        now = self._kit.now()
        return Memory(
            tenant_id=place.tenant_id, user_id=place.user_id, memory_id=uuid4(), type=request.type,
            category=request.category, text=await self._given.text(request.text),
            steps_text=await self._given.steps(request.steps_text), tags=request.tags,
            importance=request.importance, pinned=request.pinned, state="active", source=MANUAL,
            agent_id=request.agent_id, run_id=request.run_id, actor_id=request.actor_id,
            thread_id=request.thread_id, role=request.role, created_at=now, updated_at=now,
            unchecked=request.type in COMPARED_TYPES,
            evidence=[
                Evidence(quote=await self._given.quote(one.quote), role=one.role, turn_id=one.turn_id)
                for one in request.evidence
            ],
        )  # fmt: skip


async def added(kit: Kit, memory: Memory, caller: Caller, *, warnings: list[str]) -> a.AddedMemory:
    """Add a memory of a caller, unless an active one of its category and type says the same, and tell of it."""
    embedded = await kit.embedder.embed_if_there([memory.embedded_text])
    (vector,) = embedded.vectors
    stored, is_new = await retrying(lambda: _store(kit.writer, memory, vector, actor_of(caller)))
    return a.AddedMemory(
        result="ADD" if is_new else "NONE",
        memory=told(stored),
        warnings=warnings,
        reason_code="SIMILARITY_UNCHECKED" if is_new and vector is None else None,
        degraded=embedded.degraded,
    )


async def _store(
    writer: Writer, memory: Memory, vector: Vector | None, actor: str | None
) -> tuple[Memory, bool]:
    """Return the memory as it is stored, and whether it is new."""
    async with writer.changing(memory.place, {memory.category}, actor=actor) as changes:
        known = await changes.equal_to(memory)
        if known is not None:
            return known, False
        return await changes.add(memory, vector), True
