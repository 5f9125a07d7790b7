"""Keeps how things are done: apart from what is known, and given only to agents that ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.assistant.api.memories import AddedMemory
from elf.families.assistant.api.procedures import AddProcedure
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.adding import MANUAL, added
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import Memory
from elf.families.assistant.rules.categories import PROCEDURAL
from elf.families.assistant.rules.steps import MAX_STEP_CHARS, MOST_STEPS, is_imperative, numbered, steps_in


class ProcedureAdding:
    """Carries out the operation that adds how something is done."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._given = Given(kit)

    async def add(self, request: AddProcedure, caller: Caller) -> AddedMemory:
        """Add steps, unless the same are kept.

        Raises InvalidRequest where messages tell none, ScopeDenied for an agent that may not read such.
        """
        steps = _steps_of(request)
        memory = await self._new(request, steps, caller)
        warnings = [] if all(map(is_imperative, steps)) else ["NOT_IMPERATIVE"]
        return await added(self._kit, memory, caller, warnings=warnings)

    async def _new(self, request: AddProcedure, given: Sequence[str], caller: Caller) -> Memory:
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        if not self._kit.access.reaches(caller, PROCEDURAL):
            path = "$.agent_id"
            raise ScopeDenied(f"{path}: its list lacks the category {PROCEDURAL}", fields=[path])
        steps = await self._given.steps(numbered(given))
        now = self._kit.now()
        return Memory(
            tenant_id=place.tenant_id, user_id=place.user_id, memory_id=uuid4(), type=PROCEDURAL, category=PROCEDURAL,
            text=await self._given.text(request.text or given[0]), steps_text=steps, tags=request.tags,
            importance=request.importance, pinned=request.pinned, state="active", source=MANUAL,
            agent_id=request.agent_id, run_id=request.run_id, thread_id=request.thread_id, created_at=now,
            updated_at=now,
        )  # fmt: skip


def _steps_of(request: AddProcedure) -> Sequence[str]:
    """Return the steps of a request. Raises InvalidRequest where there are none, too many or too long ones."""
    if (request.steps is None) == (request.messages is None):
        paths = ["$.steps", "$.messages"]
        raise InvalidRequest(f"{', '.join(paths)}: one of them has to be given, and not both", fields=paths)
    if request.messages is None:
        return request.steps or []
    steps = steps_in([message.content for message in request.messages])
    path = "$.messages"
    if not 0 < len(steps) <= MOST_STEPS:
        problem = f"a message has to tell 1 to {MOST_STEPS} steps, each on a numbered line"
        raise InvalidRequest(f"{path}: {problem}", fields=[path])
    if any(len(step) > MAX_STEP_CHARS for step in steps):
        raise InvalidRequest(f"{path}: a step has at most {MAX_STEP_CHARS} characters", fields=[path])
    return steps
