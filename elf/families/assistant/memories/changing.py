"""Changes memories that are there: what they say, whether they stay, and whether they are there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from elf.api.caller import Caller
from elf.db.errors import Retryable, retrying
from elf.families.assistant.access import actor_of
from elf.families.assistant.api import memories as a
from elf.families.assistant.errors import is_deleted, no_memory
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.memories.told import told
from elf.families.assistant.model import COMPARED_TYPES, Memory
from elf.families.assistant.rules.validators import faults_of
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.store.rows import memory_of
from elf.memory_embedding import Embedded

T = TypeVar("T")


class MemoryChanging:
    """Carries out the operations that change a memory. Each raises NotFound where there is none."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)
        self._writer = kit.writer
        self._embedder = kit.embedder

    async def update(self, request: a.UpdateMemory, caller: Caller) -> a.UpdatedMemory:
        """Change what a memory says. Raises Conflict where it is deleted, ScopeDenied for a category of others."""
        self._kit.access.categories(caller, wanted=request.category)
        said = await self._said(request)
        return await self._update(request, caller, said)

    async def pin(self, request: a.PinMemory, caller: Caller) -> a.UpdatedMemory:
        """Pin a memory, or let it go. Raises Conflict where it is deleted."""
        return await self._update(request, caller, {"pinned": request.pinned})

    async def delete(self, request: a.DeleteMemory, caller: Caller) -> a.DeletedMemory:
        """Delete a memory: so that it can be restored for a while, or for good."""

        async def delete(changes: Changes, memory: Memory) -> a.DeletedMemory:
            if request.hard:
                await changes.purge(memory)
                return a.DeletedMemory(id=memory.memory_id, result="DELETE", purge_at=None)
            if memory.state == "soft_deleted":
                return a.DeletedMemory(id=memory.memory_id, result="NONE", purge_at=memory.purge_at)
            gone = await changes.delete_softly(memory)
            return a.DeletedMemory(id=memory.memory_id, result="DELETE", purge_at=gone.purge_at)

        return await self._change(request, caller, delete)

    async def forget_source(self, request: a.DeleteMemory, thread_id: str, caller: Caller) -> None:
        """Forget that a memory was said in a thread, and delete it with its last source."""

        async def forget(changes: Changes, memory: Memory) -> None:
            if memory.state == "soft_deleted":
                raise no_memory(memory.memory_id)
            try:
                left = await changes.forget_source(memory, thread_id)
            except LookupError:
                raise no_memory(memory.memory_id) from None
            if left is None:
                await changes.delete_softly(memory)

        await self._change(request, caller, forget)

    async def restore(self, request: a.OneMemory, caller: Caller) -> a.RestoredMemory:
        """Bring a memory back that is deleted and not purged yet."""

        async def restore(changes: Changes, memory: Memory) -> a.RestoredMemory:
            if memory.state == "active":
                return a.RestoredMemory(result="NONE", memory=told(memory))
            return a.RestoredMemory(result="RESTORE", memory=told(await changes.restore(memory)))

        return await self._change(request, caller, restore)

    async def _said(self, request: a.UpdateMemory) -> dict[str, Any]:
        """Return what a request says of a memory, by the names of its fields."""
        said = {
            "text": None if request.text is None else await self._given.text(request.text),
            "steps_text": await self._given.steps(request.steps_text),
            "category": request.category,
            "tags": request.tags,
            "importance": request.importance,
            "pinned": request.pinned,
        }
        return {name: value for name, value in said.items() if value is not None}

    async def _update(self, request: a.OneMemory, caller: Caller, said: dict[str, Any]) -> a.UpdatedMemory:
        known = await self._read(request, caller)
        wanted = replace(known, **said).embedded_text
        embedded = await self._embedded(known, wanted)

        async def update(changes: Changes, memory: Memory) -> tuple[Memory, bool]:
            if memory.state == "soft_deleted":
                raise is_deleted(memory.memory_id)
            new = replace(memory, **said)
            if new == memory:
                return memory, False
            # Where somebody changed it meanwhile, it may say something else than was embedded: a job makes the vector.
            vector = embedded.vectors[0] if new.embedded_text == wanted else None
            return await changes.update(memory, new, vector, by_hand=memory.type in COMPARED_TYPES), True

        stored, is_new = await self._change(request, caller, update, category=said.get("category"))
        return a.UpdatedMemory(
            result="UPDATE" if is_new else "NONE",
            memory=told(stored),
            warnings=list(faults_of(stored.text, stored.type)) if "text" in said else [],
            reason_code="SIMILARITY_UNCHECKED" if is_new and embedded.is_away else None,
            degraded=embedded.degraded,
        )

    async def _embedded(self, known: Memory, wanted: str) -> Embedded:
        """Return the vector of what a memory is to say, where that is something else."""
        if wanted == known.embedded_text:
            return Embedded([None], is_away=False)
        return await self._embedder.embed_if_there([wanted])

    async def _read(self, request: a.OneMemory, caller: Caller) -> Memory:
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        categories = self._kit.access.categories(caller)
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(self._sql["get_memory"], *place, request.memory_id)
        if row is None or (categories is not None and row["category"] not in categories):
            raise no_memory(request.memory_id)
        return memory_of(row)

    async def _change(
        self,
        request: a.OneMemory,
        caller: Caller,
        change: Callable[[Changes, Memory], Awaitable[T]],
        *,
        category: str | None = None,
    ) -> T:
        """Change a memory, alone among the writers of its category, and of the one that it goes to."""

        async def once() -> T:
            async with self._alone_with(request, caller, category) as (changes, memory):
                return await change(changes, memory)

        return await retrying(once)

    @asynccontextmanager
    async def _alone_with(
        self, request: a.OneMemory, caller: Caller, category: str | None
    ) -> AsyncIterator[tuple[Changes, Memory]]:
        known = await self._read(request, caller)
        categories = {known.category, category or known.category}
        async with self._writer.changing(known.place, categories, actor=actor_of(caller)) as changes:
            memory = await changes.read(known.memory_id)
            if memory is None:
                raise no_memory(known.memory_id)
            if memory.category not in categories:
                raise Retryable("the memory went to another category at this moment")
            yield changes, memory
