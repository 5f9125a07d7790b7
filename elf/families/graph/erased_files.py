"""Removes the files of erased memories: the sources that were taken in, with their manifests, and bulletins."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from elf.core.errors import Unavailable
from elf.families.graph.bulletin_files import user_prefix
from elf.families.graph.ingest.names import MANIFEST_SUFFIX
from elf.families.graph.store.damage import DAMAGED
from elf.families.graph.store.layout import Layout

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def remove_sources(layout: Layout, source_paths: Collection[str], *, everything: bool) -> int:
    """Remove the files in processed/ that memories were from, with their manifests; with `everything` all files there
    and in rejected/. Return how many went. Blocks. Raises Unavailable.
    """
    names = {os.path.basename(path) for path in source_paths if Path(path).parent == layout.processed}
    going = names | {f"{name}{MANIFEST_SUFFIX['processed']}" for name in names}
    removed = _remove(layout.processed, lambda _, name: everything or name in going)
    return removed + (_remove(layout.rejected, lambda _, __: True) if everything else 0)


def remove_damaged(layout: Layout) -> int:
    """Remove what was put aside as damaged, as nobody can say what is in it; return how many files went.

    Blocks. Raises Unavailable.
    """
    return _remove(layout.memory, lambda _, name: name.startswith(DAMAGED))


def remove_bulletins(
    layout: Layout, memory_ids: Collection[str], *, everything: bool, user: str | None = None
) -> int:
    """Remove the bulletins that cite memories, those that a user was told, and those of which nobody can say; return
    how many went.

    Blocks. Raises Unavailable.
    """
    told = None if user is None else user_prefix(user)

    def is_going(folder: int, name: str) -> bool:
        is_told = told is not None and name.startswith((told, f".{told}"))
        return everything or is_told or _cites(folder, name, memory_ids)

    return _remove(layout.bulletins, is_going)


def _remove(folder: Path, is_going: Callable[[int, str], bool]) -> int:
    removed = 0
    with _opened(folder) as descriptor:
        for name in os.listdir(descriptor):
            if is_going(descriptor, name):
                with suppress(
                    FileNotFoundError, IsADirectoryError
                ):  # another process was first; folders stay
                    os.unlink(name, dir_fd=descriptor)
                    removed += 1
        os.fsync(descriptor)
    return removed


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, _FOLDER)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unavailable(f"files of erased memories cannot be removed: {error.strerror}") from error


def _cites(folder: int, name: str, memory_ids: Collection[str]) -> bool:
    """Tell whether a bulletin cites a memory, or cannot be read."""
    try:
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
            bulletin: Any = msgspec.json.decode(file.read())
        return any(one["memoryId"] in memory_ids for one in bulletin["citations"])
    except FileNotFoundError:
        return False
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return bool(memory_ids)
