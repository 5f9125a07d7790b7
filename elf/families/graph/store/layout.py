"""Where the memory of an orchestrator is on the disk: the folders below its runtime root, made and looked at safely.

<runtime root>/memory/
├── memory.db           the nodes and edges
├── .lock               whoever holds it takes files in and makes vectors
├── .open, .recover     who has memory.db open, and who wants to be alone with it
├── ingest/             files to take in, with processed/ and rejected/ for those that were
├── bulletins/
└── logs/memory.log
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from elf.core.errors import Unavailable
from elf.families.graph.errors import NetworkFileSystem, UnsafeLayout
from elf.families.graph.store.mounts import network_file_system

FOLDERS: Final = ("ingest", "ingest/processed", "ingest/rejected", "bulletins", "logs")
FILES: Final = (
    "memory.db",
    "memory.db-wal",
    "memory.db-shm",
    "memory.db-journal",
    ".lock",
    ".open",
    ".recover",
    "logs/memory.log",
)
MODE: Final = 0o700
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of a memory; `memory` is its folder."""

    memory: Path

    @property
    def database(self) -> Path:
        return self.memory / "memory.db"

    @property
    def whose(self) -> str:
        """The name of the orchestrator's folder, which is told; where it is on the disk is nobody's business."""
        return self.memory.parent.name

    @property
    def lock(self) -> Path:
        return self.memory / ".lock"

    @property
    def presence(self) -> Path:
        return self.memory / ".open"

    @property
    def recovery(self) -> Path:
        return self.memory / ".recover"

    @property
    def ingest(self) -> Path:
        return self.memory / "ingest"

    @property
    def processed(self) -> Path:
        return self.ingest / "processed"

    @property
    def rejected(self) -> Path:
        return self.ingest / "rejected"

    @property
    def bulletins(self) -> Path:
        return self.memory / "bulletins"

    @property
    def log_file(self) -> Path:
        return self.memory / "logs" / "memory.log"


def prepare(runtime_root: Path) -> Layout:
    """Make what is missing of the folders of a memory, and return where they are. Blocks.

    Raises UnsafeLayout when one of them, or a file of the service's own in them, is a link or something else than it
    should be, NetworkFileSystem when files cannot be locked there, and Unavailable when the folders cannot be made.
    """
    try:
        runtime_root.mkdir(mode=MODE, parents=True, exist_ok=True)
        memory = runtime_root.resolve(strict=True) / "memory"
        with _folder_in(None, str(memory), memory) as descriptor:
            _refuse_network(memory, os.fstat(descriptor).st_dev)
            for name in FOLDERS:
                with _folder_in(descriptor, name, memory):
                    pass
            for name in FILES:
                _refuse_odd_file(descriptor, name, memory)
    except OSError as error:
        raise Unavailable(f"the memory in {runtime_root.name} cannot be kept: {error.strerror}") from error
    return Layout(memory)


def holds_memory(runtime_root: Path) -> bool:
    """Tell whether there is a memory.db below a runtime root, be it an empty file. Blocks.

    What stands in its way counts as one: whoever opens that says what it is. Raises Unavailable when nobody can say.
    """
    try:
        os.lstat(runtime_root / "memory" / "memory.db")
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True
    except OSError as error:
        raise Unavailable(f"the memory in {runtime_root.name} cannot be used: {error.strerror}") from error
    return True


def is_empty(runtime_root: Path) -> bool:
    """Tell whether the memory.db below a runtime root is a file in which nothing is. Blocks."""
    try:
        found = os.lstat(runtime_root / "memory" / "memory.db")
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_size


def has_traces(runtime_root: Path) -> bool:
    """Tell whether something beside a memory.db shows that there was a memory. Blocks."""
    layout = Layout(runtime_root / "memory")
    logs = (layout.database.with_name("memory.db-wal"), layout.log_file)
    if any(path.is_file() and path.stat().st_size for path in logs):
        return True
    folders = (layout.processed, layout.rejected, layout.bulletins)
    return any(folder.is_dir() and next(folder.iterdir(), None) is not None for folder in folders)


def there(runtime_root: Path) -> Layout | None:
    """Return where the files of a memory are that is there; None without one, and for one that is not safe. Blocks."""
    try:
        return prepare(runtime_root) if (runtime_root / "memory").is_dir() else None
    except Unavailable:
        return None


def refuse_replaced_folders(layout: Layout) -> None:
    """Raise UnsafeLayout where a link or something else has come to be in the place of a folder. Blocks.

    Without bulletins/ a memory goes on: they are made, and not kept.
    """
    names = (name for name in FOLDERS if name != "bulletins")
    for path in (layout.memory, *(layout.memory / name for name in names)):
        try:
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
        except OSError:  # it is missing: whoever needs it makes it, or says so
            continue
        if not is_folder:
            told = _told(str(path.relative_to(layout.memory)), layout.memory)
            raise UnsafeLayout(f"{told} is a link, or no folder: the memory stays disabled")


@contextmanager
def _folder_in(parent: int | None, name: str, memory: Path) -> Iterator[int]:
    """Open a folder, after making it where there is none, without following a link."""
    with suppress(FileExistsError):  # opening it tells what it is
        os.mkdir(name, MODE, dir_fd=parent)
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        raise UnsafeLayout(
            f"{_told(name, memory)} is a link, or no folder: the memory stays disabled"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_odd_file(folder: int, name: str, memory: Path) -> None:
    try:
        found = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise UnsafeLayout(f"{_told(name, memory)} is a link, or no plain file: the memory stays disabled")


def _refuse_network(memory: Path, device: int) -> None:
    if kind := network_file_system(device):
        raise NetworkFileSystem(
            f"the memory of {memory.parent.name} is on a network file system ({kind}), where files are not locked "
            "reliably: move it to a local disk"
        )


def _told(name: str, memory: Path) -> str:
    """Return a name as it is told: from the folder of the orchestrator on, not where that is on the disk."""
    return str(Path(memory.parent.name) / "memory" / (name if name != str(memory) else ""))
