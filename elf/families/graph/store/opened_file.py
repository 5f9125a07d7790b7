"""Whether a memory.db that is open is still there and whole, as far as a glance can tell.

SQLite keeps pages in memory. It goes on with a file that somebody has overwritten, cut, moved away or removed, and what
it then says it has written is lost.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import apsw

from elf.core.errors import Unavailable
from elf.families.graph.errors import MemoryDbCorrupt, MemoryDbLost

BEGINNING: Final = b"SQLite format 3\0"


class OpenedFile:
    """A file as it was when it was opened; it may have grown since. The methods block."""

    def __init__(self, path: Path) -> None:
        found = os.stat(path)
        self._path = path
        self._whose = path.parent.parent.name
        self._file = found.st_dev, found.st_ino
        self._size = found.st_size

    def check(self, connection: apsw.Connection) -> None:
        """Raise MemoryDbCorrupt for a file that is another one now, or shorter, or begins as no database does.

        Raises MemoryDbLost for one that is gone, and Unavailable where nobody can say.
        """
        self.check_place()
        _, beginning = connection.read("main", 0, 0, len(BEGINNING))
        if beginning != BEGINNING:
            raise self._damaged("was overwritten")

    def check_place(self) -> None:
        """Raise MemoryDbCorrupt for a file that is another one now, or shorter, and as `check`."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            raise MemoryDbLost(self._whose) from None
        except OSError as error:
            raise Unavailable(f"the memory.db of {self._whose} cannot be used: {error.strerror}") from error
        if (found.st_dev, found.st_ino) != self._file:
            raise self._damaged("was replaced")
        if found.st_size < self._size:
            raise self._damaged("was cut")
        self._size = found.st_size

    def _damaged(self, what: str) -> MemoryDbCorrupt:
        return MemoryDbCorrupt(f"the memory.db of {self._whose} {what} while it was open")
