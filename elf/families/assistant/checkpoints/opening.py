"""Puts checkpoints of graphs to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.assistant.api import checkpoints as a
from elf.families.assistant.checkpoints.deleting import CheckpointDeleting
from elf.families.assistant.checkpoints.reading import CheckpointReading
from elf.families.assistant.checkpoints.threads import ThreadCheckpoints
from elf.families.assistant.checkpoints.writing import CheckpointWriting
from elf.families.assistant.kit import Kit
from elf.family import Opened
from elf.ground import Ground


def open_checkpoints(ground: Ground, kit: Kit) -> Opened:
    """Return what keeps the checkpoints of graphs."""
    threads = ThreadCheckpoints(kit)
    admin = {a.REDACT.name: threads.redact} if ground.roles.administers else {}
    if not ground.roles.serves:
        return Opened(handlers=admin)
    writing, reading, deleting = CheckpointWriting(kit), CheckpointReading(kit), CheckpointDeleting(kit)
    done_by: dict[Operation, Handler] = {
        a.PUT: writing.put, a.PUT_WRITES: writing.put_writes, a.COPY: writing.copy,
        a.GET: reading.get, a.LIST: reading.listed,
        a.DELETE: deleting.delete, a.PRUNE: deleting.prune,
        a.READ_THREAD: threads.read, a.SAVE_THREAD: threads.save,
    }  # fmt: skip
    return Opened(handlers=admin | {operation.name: handle for operation, handle in done_by.items()})
