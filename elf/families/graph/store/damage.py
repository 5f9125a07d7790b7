"""Damaged files: how they are known, and how a new one of their sound rows takes their place, so that nothing is lost.

The new file is made beside the damaged one (memory.db.recovering), and ready (memory.db.recovered) before that is put
aside. Who dies in between leaves one or the other, and a repeat goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

import apsw

from elf.core.errors import Unavailable
from elf.families.graph.errors import MemoryDbCorrupt
from elf.families.graph.store.connections import connect, failures, transaction
from elf.families.graph.store.file import FileKit, own
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.salvage import Salvage, kept_of, salvaged, write_kept
from elf.families.graph.store.schema import bring_up
from elf.families.graph.store.statements import Change, OwnerKey, moment_of

_FLAGS: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
_ENDS: Final = ("-wal", "-shm", "")
DAMAGED: Final = "memory.db.damaged-"
"""How the names of files that were put aside begin; when that was is next."""
RECOVERING: Final = "memory.db.recovering"
RECOVERED: Final = "memory.db.recovered"
LEFT_OVERS: Final = (DAMAGED, RECOVERING, RECOVERED)
"""How the names of files begin of which nobody can say what is in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What the parts of a damaged file are called by now, and how many rows were kept of it, and lost, by kind.

    One that `is_resumed` was broken off when all but its last step was done.
    """

    put_aside: Sequence[str] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    is_resumed: bool = False


def repair(layout: Layout, key: OwnerKey, kit: FileKit) -> Repaired:
    """Put a damaged memory.db aside, under a name that says when, and a new one with its sound rows in its place.

    Nobody else may have it open. A file that is sound stays. Blocks. Raises Unavailable when it cannot be read or
    renamed.
    """
    try:
        return _repair(layout, key, kit)
    except OSError as error:
        raise Unavailable(f"the memory of {layout.whose} cannot be put aside: {error.strerror}") from error


def _repair(layout: Layout, key: OwnerKey, kit: FileKit) -> Repaired:
    path = layout.database
    log = path.with_name(f"{path.name}-wal")
    if not path.exists() and (layout.memory / RECOVERED).exists():  # a repair was broken off at its end
        _rename(layout, RECOVERED, path.name)
        return Repaired(is_resumed=True)
    _remove_unfinished(layout)
    if not path.exists() and not log.exists():
        return Repaired()
    found = salvaged(_bytes(path), _bytes(log), key)
    kept = kept_of(found)
    if path.exists() and path.stat().st_size and kept.is_sound and not is_damaged(path):
        return Repaired()
    _make(layout, found, kit)
    names = _put_aside(layout, kit.clock.now())
    _rename(layout, RECOVERED, path.name)
    return Repaired(put_aside=names, kept=kept.counts, lost=kept.lost)


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


def _make(layout: Layout, found: Salvage, kit: FileKit) -> None:
    """Make a new file of what is sound, whole and on the disk before it has its name."""
    path = layout.memory / RECOVERING
    connection = connect(path, writes=True)
    try:
        with failures(layout.database):
            bring_up(connection, kit.steps, whose=found.key.orchestrator_id)
            with transaction(connection):
                now = kit.clock.now() if found.created_at is None else moment_of(found.created_at)
                change = Change(connection, kit.queries, found.key, now=now, actor=None)
                own(change)
                write_kept(connection, change, found, kept_of(found))
    finally:
        connection.close()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _rename(layout, RECOVERING, RECOVERED)


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
    _sync(layout)
    return sorted(renamed)


def _rename(layout: Layout, name: str, new_name: str) -> None:
    (layout.memory / name).rename(layout.memory / new_name)
    _sync(layout)


def _remove_unfinished(layout: Layout) -> None:
    for name in (RECOVERING, RECOVERED):
        for end in _ENDS:
            with suppress(FileNotFoundError):
                (layout.memory / f"{name}{end}").unlink()


def _sync(layout: Layout) -> None:
    folder = os.open(layout.memory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
