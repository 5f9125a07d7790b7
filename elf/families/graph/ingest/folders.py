"""The folders of ingestion, held by descriptors: what happens in them happens there, wherever their names may lead."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from elf.families.graph.errors import UnsafeLayout
from elf.families.graph.ingest.names import Ending

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER: Final = frozenset({errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFolders:
    """The descriptors of ingest/, ingest/processed/, ingest/rejected/ and logs/, and the path of ingest/."""

    path: str
    ingest: int
    processed: int
    rejected: int
    logs: int

    def ending(self, ending: Ending) -> int:
        """Return the descriptor of the folder in which files end."""
        return self.processed if ending == "processed" else self.rejected

    def dropped_path(self, name: str) -> str:
        """Return the canonical path of a file that was dropped."""
        return f"{self.path}/{name}"

    def final_path(self, ending: Ending, name: str) -> str:
        """Return the canonical path of a file where it ends."""
        return f"{self.path}/{ending}/{name}"


@contextmanager
def open_folders(memory: str) -> Iterator[IngestFolders]:
    """Open the folders of ingestion below a memory's own folder for the block; make those that are missing.

    `memory` is the real path of a folder that is there. Raises UnsafeLayout where it is not, or where one of the
    folders is a link, a file, or on another file system, so that files could not be moved there at once.
    """
    if os.path.realpath(memory) != memory:
        raise UnsafeLayout("the folder of the memory is reached over a link")
    with ExitStack() as opened:
        root = _opened(opened, memory, None, shown="memory")
        ingest = _opened(opened, "ingest", root, shown="ingest")
        yield IngestFolders(
            path=f"{memory}/ingest",
            ingest=ingest,
            processed=_opened(opened, "processed", ingest, shown="ingest/processed"),
            rejected=_opened(opened, "rejected", ingest, shown="ingest/rejected"),
            logs=_opened(opened, "logs", root, shown="logs"),
        )


def _opened(opened: ExitStack, name: str, parent: int | None, *, shown: str) -> int:
    if parent is not None:
        _make(name, parent)
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            raise UnsafeLayout(f"{shown} is no folder") from None
        raise
    opened.callback(os.close, descriptor)
    if parent is not None and os.fstat(descriptor).st_dev != os.fstat(parent).st_dev:
        raise UnsafeLayout(f"{shown} is on another file system than the folder it is in")
    return descriptor


def _make(name: str, parent: int) -> None:
    """Make a folder unless something of its name is there, of which opening it tells what it is."""
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)
