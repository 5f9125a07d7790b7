"""What is taken along of a memory, an object a line.

A memory comes first, with how often it was written and the words that it was made of; then, version by version, what it
has been; and behind all memories the edges. The path of a file in the folder of the memory is told from there on.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from elf.families.graph import model as m


class Quote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The words of a file that a memory was made of: they stand in its text from `start` to `end`, in code points."""

    quote: str
    start: int
    end: int


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One of these: a memory, of which `version` is the last; what a memory has been; or an edge.

    A memory that is not `indexed` is read and not found.
    """

    memory: m.MemoryNode | None = None
    version: int | None = None
    indexed: bool = True
    quote: Quote | None = None
    memory_version: m.MemoryVersion | None = None
    edge: m.MemoryEdge | None = None
    resolution: m.Resolution | None = None


def told_from(folder: Path, memory: m.MemoryNode) -> m.MemoryNode:
    """Return a memory whose path, where it lies in a folder, begins there."""
    path = memory.source.source_path
    if path is None or not path.startswith(f"{folder}/"):
        return memory
    return _at(memory, path.removeprefix(f"{folder}/"))


def placed_in(folder: Path, memory: m.MemoryNode) -> m.MemoryNode:
    """Return a memory whose path is whole again."""
    path = memory.source.source_path
    return memory if path is None or path.startswith("/") else _at(memory, f"{folder}/{path}")


def _at(memory: m.MemoryNode, path: str) -> m.MemoryNode:
    replace = msgspec.structs.replace
    return replace(memory, source=replace(memory.source, source_path=path))
