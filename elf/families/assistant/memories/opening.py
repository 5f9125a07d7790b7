"""Puts memories that are written and read one by one to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.assistant.api import history as h
from elf.families.assistant.api import memories as a
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.adding import MemoryAdding
from elf.families.assistant.memories.changing import MemoryChanging
from elf.families.assistant.memories.reading import MemoryReading
from elf.family import Opened
from elf.ground import Ground


def open_memories(ground: Ground, kit: Kit) -> Opened:
    """Return what adds, changes and reads memories."""
    if not ground.roles.serves:
        return Opened()
    adding, changing, reading = MemoryAdding(kit), MemoryChanging(kit), MemoryReading(kit)
    done_by: dict[Operation, Handler] = {
        a.ADD: adding.add,
        a.UPDATE: changing.update,
        a.PIN: changing.pin,
        a.DELETE: changing.delete,
        a.RESTORE: changing.restore,
        a.GET: reading.get,
        a.LIST: reading.page,
        h.OF_MEMORY: reading.history,
        h.OF_USER: reading.all_history,
    }
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
