"""What the family offers to whoever stands above all families: all of a subject, and memories as items."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from pydantic import ValidationError

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound, ScopeDenied
from elf.families.assistant.api import memories as m
from elf.families.assistant.api import subjects as a
from elf.families.assistant.errors import no_memory
from elf.families.assistant.memories.changing import MemoryChanging
from elf.families.assistant.memories.offered import MEMORY
from elf.families.assistant.memories.reading import MemoryReading
from elf.families.assistant.subjects.erasing import Erasure
from elf.families.assistant.subjects.exporting import Export
from elf.families.assistant.subjects.restoring import Restoring
from elf.offers import Item, Subject

R = TypeVar("R", bound=m.OneMemory)


class AssistantSubjects:
    """Takes all that there is of a subject out of the family: for good, or to take along."""

    def __init__(self, export: Export, restoring: Restoring, erasure: Erasure) -> None:
        self._export = export
        self._restoring = restoring
        self._erasure = erasure

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Erase all of a subject; returns how many rows of each table went."""
        return await self._erasure.erase(subject)

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the lines of a subject, each with its tenant."""
        async with aclosing(self._export.of(subject)) as lines:
            async for line in lines:
                yield {"tenant_id": subject.tenant_id, **msgspec.to_builtins(line)}

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Keep what another service exported, as it was there; returns how much of it is new.

        Raises InvalidRequest for what is not as it is exported, and keeps nothing then.
        """
        read = [_read(place, one) for place, one in enumerate(exported)]
        new = 0
        for tenant_id in dict.fromkeys(tenant_id for tenant_id, _ in read):
            new += await self._restoring.take_in(
                tenant_id, [line for whose, line in read if whose == tenant_id]
            )
        return new


class AssistantItems:
    """Reads and deletes memories, which can be restored for a while. What the caller may not see is not there."""

    def __init__(self, reading: MemoryReading, changing: MemoryChanging) -> None:
        self._reading = reading
        self._changing = changing

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a memory, unless it is deleted. Raises NotFound."""
        request = _request(m.OneMemory, kind, item_id, subject, caller)
        try:
            return await self._reading.item(request, caller)
        except ScopeDenied:  # another user's, or an agent without a list asks
            raise no_memory(request.memory_id) from None

    async def forget(
        self, kind: str, item_id: str, subject: Subject, caller: Caller, conversation: str | None = None
    ) -> None:
        """Delete a memory. Raises NotFound."""
        await self.read(kind, item_id, subject, caller)
        request = _request(m.DeleteMemory, kind, item_id, subject, caller)
        if conversation is None:
            await self._changing.delete(request, caller)
        else:
            await self._changing.forget_source(request, conversation, caller)


def _read(place: int, exported: Mapping[str, Any]) -> tuple[str, a.ExportedLine]:
    path = f"$[{place}]"
    tenant_id = exported.get("tenant_id")
    if not isinstance(tenant_id, str):
        raise InvalidRequest(f"{path}.tenant_id: is required", fields=[f"{path}.tenant_id"])
    rest = {name: value for name, value in exported.items() if name != "tenant_id"}
    try:
        return tenant_id, a.ExportedLine.model_validate_json(msgspec.json.encode(rest))
    except ValidationError as error:
        where = ".".join([path, *map(str, error.errors()[0]["loc"])])
        raise InvalidRequest(f"{where}: is not as it is exported", fields=[where]) from None


def _request(request: type[R], kind: str, item_id: str, subject: Subject, caller: Caller) -> R:
    """Return the request for a memory of a subject.

    Raises InvalidRequest for another kind, and NotFound for what is no id, and for a tenant that is not the caller's.
    """
    if kind != MEMORY:
        raise InvalidRequest(f"$.kind: should be {MEMORY}", fields=["$.kind"])
    try:
        memory_id = UUID(item_id)
    except ValueError:
        raise NotFound(f"$.id: there is no memory {item_id}", fields=["$.id"]) from None
    if caller.bound.get("tenant_id") not in (None, subject.tenant_id):
        raise no_memory(memory_id)
    return request(tenant_id=subject.tenant_id, user_id=subject.user, memory_id=memory_id)
