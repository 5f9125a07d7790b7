"""What a dropped file becomes: memories and edges that are ready to be written, all or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from elf.families.graph.extraction.candidate import Skipped
from elf.families.graph.model import MemoryEdge, MemoryNode
from elf.families.graph.rules.subjects import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file as its memories name it: its key, whose it is, where it ends, and when it was taken."""

    key: str
    orchestrator_id: str
    path: str
    dropped_path: str
    taken_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The words of a file's text that make a memory, from `start` to `end` in code points."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The memories and edges of one file, and the name of what took them out of it.

    By the id of a memory, `quotes` are the words that make it, `keys` what it is about where a rule knows it. Those in
    `unindexed` are not found, and `indexed_chars` is how much of a text is, where that is not all.
    """

    memories: Sequence[MemoryNode]
    edges: Sequence[MemoryEdge]
    extractor: str
    skipped: Sequence[Skipped] = ()
    quotes: Mapping[str, Quote] = field(default_factory=dict)
    keys: Mapping[str, Key] = field(default_factory=dict)
    unindexed: Collection[str] = frozenset()
    indexed_chars: int | None = None
