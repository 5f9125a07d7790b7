"""Reads all that there is to take along of one memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator
from contextlib import closing
from pathlib import Path

import msgspec

from elf.families.graph.model import MemoryVersion
from elf.families.graph.store.rows import edge_of, memory_of, version_of
from elf.families.graph.store.statements import Row, Snapshot
from elf.families.graph.transfer.line import Line, Quote, told_from


def lines_of(
    snapshot: Snapshot, folder: Path, user: str | None = None, conversations: Collection[str] = ()
) -> Generator[Line]:
    """Yield the lines of a memory whose files are in a folder, by the ids of memories and edges.

    All of them, or those of what is a user's, or from `conversations` of that user. Raises InvalidRow.
    """
    chosen = {"owner": user, "conversations": json.dumps(sorted(conversations))}
    with closing(snapshot.each("memories_to_export", **chosen)) as memories:
        for *row, is_indexed, quote, start, end in memories:
            found = memory_of(tuple(row))
            yield Line(
                memory=told_from(folder, found.memory),
                version=found.version,
                indexed=bool(is_indexed),
                quote=None if quote is None else Quote(quote=quote, start=start, end=end),
            )
            yield from _versions(snapshot, folder, found.memory.memory_id, user)
    with closing(snapshot.each("edges_to_export", **chosen)) as edges:
        for edge in edges:
            one = edge_of(edge)
            yield Line(edge=one.edge, resolution=one.resolution)


def _versions(snapshot: Snapshot, folder: Path, memory_id: str, user: str | None) -> Generator[Line]:
    with closing(snapshot.each("versions_to_export", memory_id=memory_id, owner=user)) as versions:
        for row in versions:
            yield Line(memory_version=_told(folder, memory_id, row))


def _told(folder: Path, memory_id: str, row: Row) -> MemoryVersion:
    version = version_of(memory_id, row)
    return msgspec.structs.replace(version, memory=told_from(folder, version.memory))
