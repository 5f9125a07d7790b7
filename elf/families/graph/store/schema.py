"""The schema of a memory.db: numbered steps, the last of which `user_version` tells, and whose file it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import apsw
import structlog

from elf.db.queries import QUERY_FILES, read_sql
from elf.families.graph.errors import MemoryDbCorrupt, MemoryDbForeign, MemoryDbTooNew
from elf.families.graph.store.connections import transaction

APPLICATION: Final = 0x656C6667  # "elfg"

_ALL: Final = 2**31 - 1
_OF_A_ROW: Final = re.compile(r"CHECK constraint failed in |NULL value in |(non-)?[A-Z]+ value (missing|in) ")
"""What SQLite says of a row that a rule of its table does not allow; the file itself is sound then."""

log = structlog.get_logger()

_READ_WHAT_THE_PLANNER_IS_TO_KNOW: Final = "ANALYZE sqlite_schema"
"""A connection reads it when it opens a file: whoever has just written it there goes by guesses until told."""


def read_steps(folder: Path) -> tuple[str, ...]:
    """Return the scripts of the steps in their order. Raises StartupError for one that cannot be read."""
    return tuple(read_sql(path) for path in sorted(folder.glob("*.sql")) if not path.match(QUERY_FILES))


def bring_up(connection: apsw.Connection, steps: tuple[str, ...], *, whose: str) -> None:
    """Check a file and apply the steps that it has not yet, all or none of them. Blocks.

    The transactions of the connection are to be immediate ones: several processes may bring a file up at once.

    Raises MemoryDbCorrupt when SQLite finds it damaged, MemoryDbForeign when it is a database of something else, and
    MemoryDbTooNew when it has steps that nobody here knows.
    """
    _refuse_damaged(connection, whose)
    with transaction(connection):
        done = connection.pragma("user_version")
        if done > len(steps):
            raise MemoryDbTooNew(f"the memory.db of {whose} was written by a later version of ELF")
        if not done and connection.execute("SELECT 1 FROM sqlite_schema").get is not None:
            raise MemoryDbForeign(f"the memory.db of {whose} is a database of something else")
        if done and connection.pragma("application_id") != APPLICATION:
            raise MemoryDbForeign(f"the memory.db of {whose} is a database of something else")
        for step in steps[done:]:
            connection.execute(step)
        connection.pragma("user_version", len(steps))
        connection.pragma("application_id", APPLICATION)
    if done < len(steps):
        connection.execute(_READ_WHAT_THE_PLANNER_IS_TO_KNOW)


def _refuse_damaged(connection: apsw.Connection, whose: str) -> None:
    """Raise MemoryDbCorrupt for a file that is damaged. A row that breaks a rule is told to whoever meets it."""
    rows = 0
    for (line,) in connection.execute(f"PRAGMA quick_check({_ALL})"):
        if _OF_A_ROW.match(line):
            rows += 1
        elif line != "ok":
            raise MemoryDbCorrupt(f"the memory.db of {whose} is damaged: {line}")
    if rows:
        log.error("memory.rows_invalid", orchestrator_id=whose, rows=rows)
