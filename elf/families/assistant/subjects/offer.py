"""What the family offers to whoever stands above all families: all of a subject, and memories as items."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final
from uuid import UUID

import msgspec
from pydantic import ValidationError

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.families.assistant.api import memories as m
from elf.families.assistant.api import subjects as a
from elf.families.assistant.memories.changing import MemoryChanging
from elf.families.assistant.memories.reading import MemoryReading
from elf.families.assistant.subjects.erasing import Erasure
from elf.families.assistant.subjects.exporting import Export
from elf.families.assistant.subjects.intake import Intake
from elf.offers import Item, Subject

MEMORY: Final = "memory"


class AssistantSubjects:
    """Takes all that there is of a subject out of the family: for good, or to take along."""

    def __init__(self, export: Export, intake: Intake, erasure: Erasure) -> None:
        self._export = export
        self._intake = intake
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
        """Write what another service exported; returns how much of it is new. Raises InvalidRequest."""
        new = 0
        for place, one in enumerate(exported):
            tenant_id, line = _read(place, one)
            new += (await self._intake.take_in(tenant_id, None, [line], actor=None)).new
        return new


class AssistantItems:
    """Reads and deletes memories, which can be restored for a while. What the caller may not see is not there."""

    def __init__(self, reading: MemoryReading, changing: MemoryChanging) -> None:
        self._reading = reading
        self._changing = changing

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a memory. Raises NotFound."""
        memory_id = _id(kind, item_id)
        memory = await self._reading.get(
            m.OneMemory(tenant_id=subject.tenant_id, user_id=subject.user, memory_id=memory_id), caller
        )
        turns = [f"turn:{one.turn_id}" for one in memory.evidence if one.turn_id is not None]
        return Item(kind=MEMORY, id=item_id, text=memory.text, provenance=turns)

    async def forget(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> None:
        """Delete a memory. Raises NotFound."""
        memory_id = _id(kind, item_id)
        await self._changing.delete(
            m.DeleteMemory(tenant_id=subject.tenant_id, user_id=subject.user, memory_id=memory_id), caller
        )


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


def _id(kind: str, item_id: str) -> UUID:
    if kind != MEMORY:
        raise InvalidRequest(f"$.kind: should be {MEMORY}", fields=["$.kind"])
    try:
        return UUID(item_id)
    except ValueError:
        raise NotFound(f"$.id: there is no memory {item_id}", fields=["$.id"]) from None
