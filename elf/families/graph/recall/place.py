"""The memory of an orchestrator, as far as those who recall from it need to know it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from elf.families.graph.store.layout import Layout
from elf.families.graph.store.owner_locks import Owners
from elf.families.graph.store.statements import Change, OwnerKey, Snapshot, Viewer

T = TypeVar("T")

Vector = npt.NDArray[np.float32]


class Folders(Protocol):
    """Where the files of a memory are, and which others it may name."""

    @property
    def key(self) -> OwnerKey: ...

    @property
    def layout(self) -> Layout: ...

    def is_granted(self, path: str) -> bool:
        """Tell whether the file of a path lies in a folder of the orchestrator or granted to it today. Blocks."""
        ...

    def shared_folders(self) -> Sequence[str]:
        """Return the real paths of the shared folders that are granted to the orchestrator today. Blocks."""
        ...


class Place(Folders, Protocol):
    """Where memories are read and written. What is raised of a file that cannot be used is Unavailable."""

    @property
    def is_there(self) -> bool:
        """Whether there is a memory; else nothing is in it, and nothing that is written stays."""
        ...

    def seen_by(self, viewer: Viewer | None) -> Self:
        """Return the same as a user may see it; with None all of it."""
        ...

    async def read(self, look: Callable[[Snapshot], T]) -> T:
        """Look at one state of the memory, in a thread, and return what was seen."""
        ...

    async def write(
        self, change: Callable[[Change], T], *, actor: str | None = None, owners: Owners | None = None
    ) -> T:
        """Make a change, in a thread, and return what it returned once it is on the disk.

        Raises ErasureInProgress while one of its `owners`, or who makes it, is being erased.
        """
        ...

    def check_path(self, path: str, *, at: str) -> None:
        """Raise InvalidRequest for a path that names no file, and ScopeDenied for one that may not be named. Blocks."""
        ...

    def nearest(self, snapshot: Snapshot, version: str, vector: Vector) -> Iterator[str]:
        """Return the ids of the memories that have vectors of a version, by cosine and id. Blocks."""
        ...
