"""What tests of recalls share: the memory of an orchestrator in a file, and a model that a test can take away."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from elf.families.graph.model import MemoryEdge
from elf.families.graph.recall.finding import edges_around
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.place import Vector
from elf.families.graph.recall.recaller import Question, Recalled, Recaller
from elf.families.graph.rules.provenance import is_granted
from elf.families.graph.store.edges import write_edge
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.statements import Change, OwnerKey, Snapshot

T = TypeVar("T")


@dataclass
class FilePlace:
    """A Place over an open file: `near` are the memories in the order of their vectors, `folders` those granted."""

    file: MemoryFile
    near: Sequence[str] = ()
    folders: Sequence[str] = ()
    failure: Exception | None = None
    reads: int = 0
    is_there: bool = True

    @property
    def key(self) -> OwnerKey:
        return self.file.key

    @property
    def layout(self) -> Layout:
        return self.file.layout

    async def read(self, look: Callable[[Snapshot], T]) -> T:
        self.reads += 1
        if self.failure is not None:
            raise self.failure
        return await self.file.read(look)

    async def write(self, change: Callable[[Change], T], *, actor: str | None = None) -> T:
        return await self.file.write(change, actor=actor)

    def is_granted(self, path: str) -> bool:
        return is_granted(path, real=os.path.realpath(path), folders=self.folders)

    def shared_folders(self) -> Sequence[str]:
        return ()

    def nearest(self, snapshot: Snapshot, version: str, vector: Vector) -> Iterator[str]:
        return iter(self.near)


@dataclass
class QueryModel:
    """Makes a vector of each query, unless it is away; where it `is_quick`, a thread waits for it."""

    is_away: bool = False
    is_quick: bool = False
    version: str = "test:model:8"
    asked: list[str] = field(default_factory=list)

    async def of(self, query: str) -> Vector | None:
        self.asked.append(query)
        return None if self.is_away else np.ones(8, dtype=np.float32)


def question(query: str, **other: Any) -> Question:
    """Return the usual question, but for what is said."""
    usual: Mapping[str, Any] = {
        "where": Where(), "top_n": 20, "rrf_k": 60, "top_k_text": 50, "top_k_vector": 50,
    }  # fmt: skip
    return Question(query=query, **{**usual, **other})


async def recalled(recaller: Recaller, place: FilePlace, asked: Question) -> Recalled[Sequence[MemoryEdge]]:
    """Recall as whoever asks over the wire."""
    return await recaller.recall(place, asked, edges_around)


def ids(recalled: Recalled[Any]) -> list[str]:
    return [found.memory.memory_id for found in recalled.found]


async def put_edges(file: MemoryFile, *edges: MemoryEdge) -> None:
    """Write edges in one change."""

    def write(change: Change) -> None:
        for edge in edges:
            write_edge(change, edge, path="$.edge")

    await file.write(write)
