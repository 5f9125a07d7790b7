"""The memory of an orchestrator while it is open: its file, and the folders whose files it may name.

An empty place stands in for a memory that there is not, so that who reads makes none.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Self, TypeVar

from anyio import to_thread

from elf.families.graph.orchestrators import Residence
from elf.families.graph.recall.place import Vector
from elf.families.graph.rules.provenance import check_path, is_granted
from elf.families.graph.store.empty import EmptyMemory
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.owner_locks import Owners
from elf.families.graph.store.statements import Change, OwnerKey, Snapshot, Viewer

T = TypeVar("T")


class MemoryFolders:
    """Knows which paths may be named in a memory, also while its file cannot be used."""

    def __init__(self, layout: Layout, residence: Residence) -> None:
        self.layout = layout
        self.viewer: Viewer | None = None
        self._residence = residence

    def seen_by(self, viewer: Viewer | None) -> Self:
        """Return the same as a user may see it; with None all of it."""
        seen = copy(self)
        seen.viewer = viewer
        return seen

    @property
    def key(self) -> OwnerKey:
        return self._residence.key

    def is_granted(self, path: str) -> bool:
        """Tell whether the file of a path lies in a folder of the orchestrator or granted to it today. Blocks."""
        return is_granted(path, real=os.path.realpath(path), folders=self._folders())

    def shared_folders(self) -> Sequence[str]:
        """Return the real paths of the shared folders that are granted to the orchestrator today. Blocks."""
        return [os.path.realpath(folder) for folder in self._residence.shared]

    def check_path(self, path: str, *, at: str) -> None:
        """Raise InvalidRequest for a path that names no file, and ScopeDenied for one that may not be named. Blocks."""
        check_path(path, real=_real(path), folders=self._folders(), at=at)

    def _folders(self) -> list[str]:
        return [os.path.realpath(folder) for folder in (*self._residence.workspaces, self.layout.memory)]


class MemoryPlace(MemoryFolders):
    """Reads and writes a file, and knows which paths may be named in it."""

    is_there = True

    def __init__(self, file: MemoryFile, residence: Residence) -> None:
        super().__init__(file.layout, residence)
        self.file = file

    async def read(self, look: Callable[[Snapshot], T]) -> T:
        """Look at one state of the memory, in a thread, and return what was seen."""
        return await self.file.read(look, viewer=self.viewer)

    async def write(
        self,
        change: Callable[[Change], T],
        *,
        actor: str | None = None,
        owners: Owners | None = None,
        adds: bool = True,
    ) -> T:
        """Make a change, in a thread, and return what it returned once it is on the disk.

        One that `adds` nothing of anybody's is made while its owners are being erased, too.
        """
        return await self.file.write(change, actor=actor, viewer=self.viewer, owners=owners, adds=adds)

    def nearest(self, snapshot: Snapshot, version: str, vector: Vector) -> Iterator[str]:
        """Return the ids of the memories that have vectors of a version, by cosine and id. Blocks."""
        return self.file.vectors.nearest(snapshot, version, vector)


class EmptyPlace(MemoryFolders):
    """Where an orchestrator has no memory yet: nothing is found, and a change is tried and thrown away.

    It touches no disk. Both raise what they would raise of an empty memory.
    """

    is_there = False

    def __init__(self, residence: Residence, empty: EmptyMemory, kit: FileKit) -> None:
        super().__init__(Layout(residence.runtime_root / "memory"), residence)
        self._empty = empty
        self._kit = kit

    async def read(self, look: Callable[[Snapshot], T]) -> T:
        """Look at an empty memory, in a thread, and return what was seen."""

        def seen() -> T:
            with self._empty.change(
                self.key, self.layout.database, actor=None, viewer=self.viewer
            ) as snapshot:
                return look(snapshot)

        return await to_thread.run_sync(seen, limiter=self._kit.read_threads)

    async def write(
        self, change: Callable[[Change], T], *, actor: str | None = None, owners: Owners | None = None
    ) -> T:
        """Try a change on an empty memory, in a thread, and return what it returned."""

        def tried() -> T:
            with self._empty.change(self.key, self.layout.database, actor=actor, viewer=self.viewer) as at:
                return change(at)

        return await to_thread.run_sync(tried, limiter=self._kit.write_threads)

    def nearest(self, snapshot: Snapshot, version: str, vector: Vector) -> Iterator[str]:
        """Return no ids: there are no vectors."""
        return iter(())


def _real(path: str) -> str | None:
    """Return what a path resolves to; None where there is no file, such as for a name that no file can have."""
    return os.path.realpath(path) if os.path.exists(path) else None  # where Path.exists would raise
