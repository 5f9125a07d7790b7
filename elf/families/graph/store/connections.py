"""Connections to a memory.db: how they are set up, and what their failures are called.

Only apsw opens such a file in this process: a second SQLite library would drop the first one's locks when it closes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from elf.core.cjk import spaced_cjk
from elf.core.errors import InvalidRequest, StartupError, Unavailable
from elf.families.graph.errors import MemoryDbCorrupt

BUSY_MS: Final = 5_000
_FLAGS: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
_SETTINGS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA trusted_schema = OFF;
"""
_TRANSACTION: Final = {
    "IMMEDIATE": ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"),
    "DEFERRED": ("BEGIN", "COMMIT", "ROLLBACK"),
}
_SAVEPOINT: Final = ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part; RELEASE part")
_SOUND: Final = (3, 51, 3)
"""The first version without the data race in WAL that has jsonb_each, of which the statements make use."""


def refuse_racy_sqlite(version: str | None = None) -> None:
    """Raise StartupError for a version of SQLite in which several connections may corrupt a file that they write."""
    version = version or apsw.sqlite_lib_version()
    if tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < _SOUND:
        raise StartupError(
            f"SQLite {version} may corrupt files that several connections write: install a newer apsw"
        )


def connect(path: Path, *, writes: bool) -> apsw.Connection:
    """Open a file, or make it; one that `writes` has the lock of writers from the begin of each transaction on. Blocks.

    Raises what `failures` says.
    """
    with failures(path):
        connection = apsw.Connection(str(path), flags=_FLAGS)
        try:
            connection.set_busy_timeout(BUSY_MS)
            connection.create_scalar_function(
                "spaced_cjk",
                _spaced_cjk,
                1,
                deterministic=True,
                flags=apsw.SQLITE_INNOCUOUS,
            )
            connection.transaction_mode = "IMMEDIATE" if writes else "DEFERRED"
            for _ in connection.execute(_SETTINGS):
                pass
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turn the failures of SQLite into those of the family.

    Raises MemoryDbCorrupt for a damaged file, InvalidRequest for what the rules of the file do not allow, Unavailable
    for what may pass: another process writes for long, the disk is full or cannot be read.
    """
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise MemoryDbCorrupt(
            f"the memory.db of {_whose(path)} is damaged, or no database: {error}"
        ) from error
    except apsw.ConstraintError as error:
        raise InvalidRequest(f"this breaks a rule of the memory: {error}") from error
    except apsw.BusyError as error:
        raise Unavailable(f"the memory.db of {_whose(path)} is in use by others for too long") from error
    except (
        apsw.FullError,
        apsw.IOError,
        apsw.CantOpenError,
        apsw.ReadOnlyError,
        apsw.PermissionsError,
    ) as error:
        raise Unavailable(
            f"the memory.db of {_whose(path)} cannot be used: {error}", retry_after_s=5
        ) from error


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run the block as one transaction, or within another as a part that is undone alone.

    The connection would do this as a context manager, too, but keeps the interpreter to itself while it waits.
    """
    begin, end, undo = _SAVEPOINT if connection.in_transaction else _TRANSACTION[connection.transaction_mode]
    connection.execute(begin)
    try:
        yield
        connection.execute(end)
    except BaseException:
        if connection.in_transaction:  # SQLite has not undone all of it by itself
            connection.execute(undo)
        raise


def _spaced_cjk(*values: Any) -> str:
    """Do what `spaced_cjk` does, for statements."""
    return spaced_cjk(str(values[0]))


def _whose(path: Path) -> str:
    """Return the name of the orchestrator's folder, which is told; where it is on the disk is nobody's business."""
    return path.parent.parent.name
