"""Removes the folder of a memory that is erased whole, with all that is in it, whoever put it there.

The folder is renamed first: nobody finds a part of it, and what was broken off is seen and ended by a repeat.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

import apsw

from elf.core.errors import Unavailable
from elf.families.graph.store.layout import Layout, holds_memory

ERASED: Final = ".erased-"
_COUNTED: Final[Mapping[str, str]] = {
    "memories": "SELECT count(*) FROM memories",
    "edges": "SELECT count(*) FROM memory_edges",
    "spans": "SELECT count(*) FROM memory_spans",
    "vectors": "SELECT count(*) FROM memory_embeddings WHERE vector IS NOT NULL",
    "versions": "SELECT count(*) FROM memory_versions",
    "quotes": "SELECT count(*) FROM memory_quotes",
    "ingests": "SELECT count(*) FROM memory_ingests",
}


def set_aside(layout: Layout) -> Mapping[str, int]:
    """Rename the folder of a memory with which nobody is at work; return how much of each kind was in it.

    Blocks. Raises Unavailable.
    """
    counts = {
        **_counts(layout),
        "files": _files_in(layout.ingest),
        "bulletins": _files_in(layout.bulletins),
    }
    try:
        os.rename(layout.memory, layout.memory.with_name(f"{ERASED}{uuid4().hex}"))
    except OSError as error:
        raise _unremovable(error) from error
    return counts


def remove_set_aside(memory: Path, root: Path) -> None:
    """Remove what was set aside beside the folder of a memory, and the folders above it in which nothing is left.

    These are those below `root`, which are named after the tenant and the orchestrator. Blocks. Raises Unavailable.
    """
    try:
        with suppress(FileNotFoundError):
            for name in os.listdir(memory.parent):
                if name.startswith(ERASED):
                    shutil.rmtree(memory.parent / name)
        for folder in (memory.parent, memory.parent.parent):
            if folder != root and root in folder.parents:
                with suppress(FileNotFoundError):
                    if not os.listdir(folder):
                        os.rmdir(folder)
    except OSError as error:
        raise _unremovable(error) from error


def _counts(layout: Layout) -> Mapping[str, int]:
    """Count what is in a file; of a damaged one nobody can say."""
    if not holds_memory(layout.memory.parent):
        return {}
    try:
        connection = apsw.Connection(str(layout.database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return {kind: connection.execute(query).get for kind, query in _COUNTED.items()}
        finally:
            connection.close()
    except apsw.Error:
        return {}


def _files_in(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))


def _unremovable(error: OSError) -> Unavailable:
    return Unavailable(f"an erased memory cannot be removed: {error.strerror}")
