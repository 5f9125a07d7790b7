"""Puts what erases all of somebody, proves it, and takes it along, to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.db.queries import Queries
from elf.family import Opened
from elf.ground import Ground
from elf.memory.api import erasing as e
from elf.memory.api import transferring as t
from elf.memory.erasing.own import OwnedBySomebody
from elf.memory.erasing.points import IndexPoints
from elf.memory.erasing.proving import Proving
from elf.memory.erasing.service import Erasing
from elf.memory.erasing.unfinished import UnfinishedErasures
from elf.memory.model import FAMILY
from elf.memory.subjects import MemorySubjects
from elf.memory.transferring.service import Transferring


def open_erasing(ground: Ground, queries: Queries, own: MemorySubjects) -> Opened:
    """Return what erases over all families, where operators ask for it; `own` is what is kept beside them."""
    if not ground.roles.administers:
        return Opened(subjects=own)
    database, below = ground.database, ground.below
    points = IndexPoints([corpus for one in below.values() for corpus in one.corpora])
    asked = [one.own_conversations for one in below.values() if one.own_conversations is not None]
    owned = OwnedBySomebody(database, queries, asked)
    families = {name: one.subjects for name, one in below.items() if one.subjects is not None}
    transferring = Transferring(families, owned)
    erasing = Erasing(
        database,
        queries,
        {FAMILY: own} | families,
        owned,
        points,
        clock=ground.clock,
    )
    proving = Proving(
        database,
        queries,
        {name: one.remains for name, one in below.items() if one.remains is not None},
        points,
        vector_dim=ground.config.storage.qdrant.vector_dim,
        clock=ground.clock,
    )
    done_by: dict[Operation, Handler] = {
        e.ERASE: erasing.erase,
        e.RECEIPT: erasing.receipt,
        e.PROVE: proving.prove,
        t.EXPORT: transferring.export,
        t.IMPORT: transferring.take_in,
    }
    return Opened(
        handlers={operation.name: handle for operation, handle in done_by.items()},
        subjects=own,
        owners=[UnfinishedErasures(erasing)],
    )
