"""What can be done with one connection within a transaction: the family's statements, by name, for one owner."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import apsw
import msgspec

from elf.db.queries import Queries

Row: TypeAlias = tuple[Any, ...]
UNKNOWN: Final = ""
"""Whose a memory is, as it is stored, that is from a conversation of which nobody knows whose it is."""

SEES_MEMORY: Final = "(:viewer IS NULL OR m.user_id IS NULL OR m.shared OR m.user_id IN (:viewer, :unknown))"
"""Whether the memory `m` is there for the viewer: that user's, everybody's, or shared."""

SEES_EDGE: Final = """(:viewer IS NULL OR NOT EXISTS (
  SELECT 1
  FROM memories u
  WHERE u.tenant_id = e.tenant_id AND u.orchestrator_id = e.orchestrator_id
    AND u.memory_id IN (e.from_memory_id, e.to_memory_id)
    AND u.user_id NOT IN (:viewer, :unknown)
))"""
"""Whether the edge `e` is there for the viewer: both its ends are that user's or everybody's."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class OwnerKey:
    """Whose memory it is."""

    tenant_id: str
    orchestrator_id: str


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user for whom a memory is read and changed: what is another user's is not there, unless it is shared.

    With `sees_unknown` there is what is from a conversation of which nobody knows whose it is.
    """

    user: str
    sees_unknown: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Whose memories are there, as they are stored."""
        return (self.user, UNKNOWN) if self.sees_unknown else (self.user,)


def file_queries(folder: Path) -> Queries:
    """Read the statements of a file. Raises StartupError when one cannot be read."""
    return Queries.load(folder, values={"sees_memory": SEES_MEMORY, "sees_edge": SEES_EDGE})


def stored_moment(moment: datetime) -> int:
    """Return a moment as it is stored: microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(stored: int) -> datetime:
    """Return a stored moment. Raises OverflowError for one outside of the years that there are."""
    return _EPOCH + timedelta(microseconds=stored)


class Moment(NamedTuple):
    """When a connection looked at a file: how often others have changed it since it was opened, and it itself."""

    connection: apsw.Connection
    changes_of_others: int
    own_changes: int


class Snapshot:
    """What a memory is at one moment: every statement of a read sees the same.

    With a `viewer`, it is what that one may see of it.
    """

    def __init__(
        self, connection: apsw.Connection, queries: Queries, key: OwnerKey, *, viewer: Viewer | None = None
    ) -> None:
        self.key = key
        self.viewer = viewer
        self._connection = connection
        self._queries = queries
        self._own: Mapping[str, Any] = {
            "tenant_id": key.tenant_id,
            "orchestrator_id": key.orchestrator_id,
            "viewer": None if viewer is None else viewer.names[0],
            "unknown": None if viewer is None else viewer.names[-1],
        }

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Return all rows of a statement."""
        return self._run(statement, values).fetchall()

    def each(self, statement: str, **values: Any) -> Generator[Row]:
        """Yield the rows of a statement as they are found; close it where not all of them are wanted."""
        cursor = self._run(statement, values)
        try:
            yield from cursor
        finally:
            cursor.close(force=True)

    def row(self, statement: str, **values: Any) -> Row | None:
        """Return the first row of a statement, or None."""
        row: Row | None = self._run(statement, values).fetchone()
        return row

    def moment(self) -> Moment:
        """Return what two snapshots have in common only where they see the same state."""
        connection = self._connection
        return Moment(connection, connection.pragma("data_version"), connection.total_changes())

    def _run(self, statement: str, values: Mapping[str, Any]) -> apsw.Cursor:
        return self._connection.execute(self._queries[statement], {**self._own, **values})


def texts_in(connection: apsw.Connection) -> Generator[tuple[str, str | bytes]]:
    """Yield the name of the table and the content of each cell of a file that may hold text, also of the indexes."""
    tables: list[tuple[str]] = connection.execute(
        "SELECT name FROM pragma_table_list WHERE type IN ('table', 'shadow') AND schema = 'main' "
        "AND name NOT GLOB 'sqlite_*'"
    ).fetchall()  # type: ignore[assignment]
    for (table,) in tables:
        quoted = '"' + table.replace('"', '""') + '"'
        for row in connection.execute(f"SELECT * FROM {quoted}"):
            yield from ((table, cell) for cell in row if isinstance(cell, str | bytes))


class Change(Snapshot):
    """A change on its way: what its statements write is there after the commit, or not at all.

    `now` is when it happens, `actor` who does it.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        queries: Queries,
        key: OwnerKey,
        *,
        now: datetime,
        actor: str | None,
        viewer: Viewer | None = None,
    ) -> None:
        super().__init__(connection, queries, key, viewer=viewer)
        self.now = now
        self.actor = actor
        self.events: list[Mapping[str, Any]] = []

    def run(self, statement: str, **values: Any) -> int:
        """Carry a statement out, and return how many rows it changed."""
        self._run(statement, values)
        return self._connection.changes()

    def run_all(self, statement: str, rows: Iterable[Any], **values: Any) -> None:
        """Carry a statement out once for many rows, which it reads from a JSON list.

        A statement for each of them would wait for the interpreter as often.
        """
        if told := [*rows]:
            self._run(statement, {"rows": msgspec.json.encode(told).decode(), **values})

    def log(self, event: str, **detail: Any) -> None:
        """Say what was done: in the table of what was done, and after the commit in the log file."""
        self.run(
            "insert_audit", event=event, actor=self.actor, detail=json.dumps(detail, ensure_ascii=False),
            created_at=stored_moment(self.now),
        )  # fmt: skip
        self.events.append({"timestamp": self.now.isoformat(), "event": event, **detail})


Look: TypeAlias = Callable[[Snapshot], Any]
"""Reads something of a snapshot, in a thread."""
