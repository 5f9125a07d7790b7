"""Puts the text files of users to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.assistant.api import files as a
from elf.families.assistant.files.editing import FileEditing
from elf.families.assistant.files.moving import FileMoving
from elf.families.assistant.files.reading import FileReading
from elf.families.assistant.kit import Kit
from elf.family import Opened
from elf.ground import Ground


def open_files(ground: Ground, kit: Kit) -> Opened:
    """Return what keeps files."""
    if not ground.roles.serves:
        return Opened()
    editing, moving, reading = FileEditing(kit), FileMoving(kit), FileReading(kit)
    done_by: dict[Operation, Handler] = {
        a.VIEW: reading.view, a.CREATE: editing.create, a.REPLACE: editing.str_replace, a.INSERT: editing.insert,
        a.DELETE: moving.delete, a.RENAME: moving.rename,
        a.LIST: reading.page, a.READ: reading.read, a.VERSIONS: reading.versions, a.SEARCH: reading.search,
    }  # fmt: skip
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
