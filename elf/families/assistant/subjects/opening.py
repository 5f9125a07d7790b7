"""Puts what takes all of a user along, takes it in, and erases it, to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.assistant.api import subjects as a
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.changing import MemoryChanging
from elf.families.assistant.memories.reading import MemoryReading
from elf.families.assistant.subjects.erasing import Erasure
from elf.families.assistant.subjects.exporting import Export
from elf.families.assistant.subjects.intake import Intake
from elf.families.assistant.subjects.offer import AssistantItems, AssistantSubjects
from elf.families.assistant.subjects.restoring import Restoring
from elf.families.assistant.subjects.service import SubjectKeeping
from elf.family import Opened
from elf.ground import Ground


def open_subjects(ground: Ground, kit: Kit) -> Opened:
    """Return what works on all of a subject."""
    if not (ground.roles.serves or ground.roles.administers):
        return Opened()
    export, intake = Export(kit.database, kit.queries), Intake(kit)
    erasure = Erasure(kit.database, kit.queries)
    keeping = SubjectKeeping(kit.database, kit.access, export, intake, erasure)
    done_by: dict[Operation, Handler] = {
        a.EXPORT_OWN: keeping.export_own,
        a.EXPORT: keeping.export,
        a.IMPORT: keeping.take_in,
        a.ERASE: keeping.erase,
    }
    return Opened(
        handlers={operation.name: handle for operation, handle in done_by.items()},
        items=AssistantItems(MemoryReading(kit), MemoryChanging(kit)),
        subjects=AssistantSubjects(export, Restoring(kit), erasure),
    )
