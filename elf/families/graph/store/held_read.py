"""A read that goes on for long, in many threads one after the other, and sees one state of the memory all the while."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

import apsw

from elf.core.errors import Unavailable
from elf.db.queries import Queries
from elf.families.graph.store.connections import connect, failures
from elf.families.graph.store.statements import OwnerKey, Snapshot

T = TypeVar("T")


class HeldRead(Generic[T]):
    """Reads by a connection of its own until `close`, which may come from another thread. Its methods block."""

    def __init__(
        self, path: Path, queries: Queries, key: OwnerKey, look: Callable[[Snapshot], Generator[T]]
    ) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._connection: apsw.Connection | None = connect(path, writes=False)
        self._connection.execute("BEGIN")
        self._found = look(Snapshot(self._connection, queries, key))

    def some(self, count: int) -> list[T]:
        """Return the next of what is found, at most so many; none when that was all.

        Raises Unavailable when it is closed, and as `failures` says.
        """
        with self._guard, failures(self._path):
            if self._connection is None:
                raise Unavailable("the memory is being closed: try again")
            return list(islice(self._found, count))

    def close(self) -> None:
        """Let go of the state that is seen, and of the file."""
        with self._guard:
            if self._connection is not None:
                self._found.close()
                self._connection.close()
                self._connection = None
