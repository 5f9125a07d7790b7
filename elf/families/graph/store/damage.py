"""Damaged files: how they are known, and how they are put aside so that nothing of them is lost."""

from __future__ import annotations

import os
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

import apsw

from elf.core.errors import Unavailable
from elf.families.graph.errors import MemoryDbCorrupt
from elf.families.graph.store.connections import failures
from elf.families.graph.store.layout import Layout

_FLAGS: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
_ENDS: Final = ("-wal", "-shm", "")
DAMAGED: Final = "memory.db.damaged-"
"""How the names of files that were put aside begin; when that was is next."""


def put_aside_if_damaged(layout: Layout, now: datetime) -> list[str]:
    """Give a damaged memory.db, with what belongs to it, a name that says when; return the new names.

    Nobody else may have it open. A file that is sound stays: then there are none. What is left of one that is gone,
    which SQLite would remove, is put aside, too. Blocks. Raises Unavailable when it cannot be read or renamed.
    """
    try:
        path = layout.database
        return _put_aside(layout, now) if is_damaged(path) or _is_left_over(path) else []
    except OSError as error:
        raise Unavailable(f"the memory of {layout.whose} cannot be put aside: {error.strerror}") from error


def is_damaged(path: Path) -> bool:
    """Tell whether SQLite finds a file damaged, or no database, when it reads all of it. Blocks.

    The file stays as it is, and so does its write-ahead log. Raises Unavailable when it cannot be read.
    """
    if not path.exists():
        return False
    try:
        with failures(path):
            connection = apsw.Connection(str(path), flags=_FLAGS)
            try:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                return [line for (line,) in connection.execute("PRAGMA integrity_check(1)")] != ["ok"]
            finally:
                connection.close()
    except MemoryDbCorrupt:
        return True


def _is_left_over(path: Path) -> bool:
    """Tell whether there is a write-ahead log of a file that is gone or was emptied. Blocks."""
    is_gone = not path.exists() or not path.stat().st_size
    return is_gone and path.with_name(f"{path.name}-wal").exists()


def _put_aside(layout: Layout, now: datetime) -> list[str]:
    """Rename a file: its log first, without which it is no less damaged if this is all that comes to pass."""
    path = layout.database
    when = f"{DAMAGED}{now:%Y%m%dT%H%M%SZ}"
    names = (f"{when}.{number}" if number else when for number in count())
    name = next(one for one in names if not any((layout.memory / f"{one}{end}").exists() for end in _ENDS))
    renamed = []
    for suffix in _ENDS:
        here = path.with_name(path.name + suffix)
        if here.exists():
            here.rename(path.with_name(name + suffix))
            renamed.append(name + suffix)
    folder = os.open(layout.memory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return sorted(renamed)
