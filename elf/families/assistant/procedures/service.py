"""Keeps how things are done: apart from what is known, and given only to agents that ask for it."""

from __future__ import annotations

from uuid import uuid4

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied
from elf.families.assistant.api.memories import AddedMemory
from elf.families.assistant.api.procedures import AddProcedure
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.adding import MANUAL, added
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import Memory
from elf.families.assistant.rules.categories import PROCEDURAL
from elf.families.assistant.rules.steps import is_imperative, numbered


class ProcedureAdding:
    """Carries out the operation that adds how something is done."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._given = Given(kit)

    async def add(self, request: AddProcedure, caller: Caller) -> AddedMemory:
        """Add steps, unless the same are kept. Raises ScopeDenied for an agent that may not read such."""
        memory = await self._new(request, caller)
        warnings = [] if all(map(is_imperative, request.steps)) else ["NOT_IMPERATIVE"]
        return await added(self._kit, memory, caller, warnings=warnings)

    async def _new(self, request: AddProcedure, caller: Caller) -> Memory:
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        if not self._kit.access.reaches(caller, PROCEDURAL):
            path = "$.agent_id"
            raise ScopeDenied(f"{path}: its list lacks the category {PROCEDURAL}", fields=[path])
        steps = await self._given.steps(numbered(request.steps))
        now = self._kit.now()
        return Memory(
            tenant_id=place.tenant_id, user_id=place.user_id, memory_id=uuid4(), type=PROCEDURAL, category=PROCEDURAL,
            text=await self._given.text(request.text or request.steps[0]), steps_text=steps, tags=request.tags,
            importance=request.importance, pinned=request.pinned, state="active", source=MANUAL,
            agent_id=request.agent_id, run_id=request.run_id, thread_id=request.thread_id, created_at=now,
            updated_at=now,
        )  # fmt: skip
