"""Memories and files for tests of the graph family."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from anyio import CapacityLimiter
from anyio.abc import TaskGroup

from elf.core.clock import Clock
from elf.db.queries import sql_folder
from elf.families.graph.model import MemoryEdge, MemoryNode, Source
from elf.families.graph.orchestrators import Residence
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.layout import prepare
from elf.families.graph.store.nodes import NewMemory, write_memory
from elf.families.graph.store.schema import read_steps
from elf.families.graph.store.statements import OwnerKey, file_queries

KEY: Final = OwnerKey("acme", "planner")
VERSION: Final = "test:model:8"
NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MEMORY: Final = MemoryNode(
    memory_id="m1",
    orchestrator_id=KEY.orchestrator_id,
    type="Fact",
    importance=50,
    content="The office is in Lisbon. It has nine rooms.",
    summary="Office in Lisbon",
    confidence=0.8,
    source=Source(source_type="manual", captured_by="user"),
    status="active",
    created_at=NOW,
    updated_at=NOW,
)
EDGE: Final = MemoryEdge(
    edge_id="e1", from_memory_id="m1", to_memory_id="m2", edge_type="RelatedTo", weight=0.5, created_at=NOW
)


class Known:
    """Orchestrators that are all below one folder."""

    def __init__(self, root: Path, *keys: OwnerKey) -> None:
        self._root = root
        self.keys = list(keys)

    async def residence(self, key: OwnerKey) -> Residence:
        return Residence(key=key, runtime_root=self._root / key.orchestrator_id)

    async def known(self, key: OwnerKey) -> Residence:
        return await self.residence(key)

    def look_anew(self, key: OwnerKey) -> None:
        pass

    async def is_lost(self, residence: Residence) -> bool:
        return False

    async def is_emptied(self, residence: Residence) -> bool:
        return False

    async def note_made(self, residence: Residence) -> None:
        pass

    async def here(self) -> Sequence[OwnerKey]:
        return self.keys


def memory(memory_id: str = "m1", **other: Any) -> MemoryNode:
    """Return a memory that is like the usual one but for what is said."""
    return msgspec.structs.replace(MEMORY, memory_id=memory_id, **other)


def edge(edge_id: str = "e1", **other: Any) -> MemoryEdge:
    """Return an edge that is like the usual one, from m1 to m2, but for what is said."""
    return msgspec.structs.replace(EDGE, edge_id=edge_id, **other)


def file_kit(clock: Clock) -> FileKit:
    """Return what the files of a process share."""
    folder = sql_folder() / "graph" / "file"
    return FileKit(
        queries=file_queries(folder),
        steps=read_steps(folder),
        clock=clock,
        read_threads=CapacityLimiter(4),
        write_threads=CapacityLimiter(4),
    )


async def opened(group: TaskGroup, root: Path, key: OwnerKey, kit: FileKit) -> MemoryFile:
    """Return a file at work in a task of the group."""
    file = MemoryFile(key, prepare(root), kit)
    await group.start(file.run)
    return file


async def put(file: MemoryFile, *memories: MemoryNode) -> list[str]:
    """Write memories in one change, and return what became of each."""
    return await file.write(
        lambda change: [
            write_memory(change, NewMemory(memory=one), embedding_version=VERSION) for one in memories
        ]
    )
