"""Puts a new memory.db in the place of a damaged one, while the service goes on."""

from __future__ import annotations

from anyio import to_thread

from elf.families.graph.store.damage import Repaired, repair
from elf.families.graph.store.file import FileKit
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.presence import alone_with
from elf.families.graph.store.statements import OwnerKey


async def repair_alone(layout: Layout, key: OwnerKey, kit: FileKit) -> Repaired:
    """Repair a file, once nobody has it open any more, here or in another process. A file that is sound stays.

    Raises Unavailable when others do not let go of it, or it cannot be renamed.
    """
    async with alone_with(layout):
        return await to_thread.run_sync(repair, layout, key, kit, limiter=kit.write_threads)
