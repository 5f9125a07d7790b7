"""A memory in which nothing is, and which is on no disk: it is read and changed as a file is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from elf.families.graph.store.connections import connect, failures, transaction
from elf.families.graph.store.file import FileKit, own
from elf.families.graph.store.schema import bring_up
from elf.families.graph.store.statements import Change, OwnerKey, Viewer

_IN_MEMORY: Final = Path(":memory:")


class EmptyMemory:
    """Begins changes of empty memories, each of which is gone afterwards."""

    def __init__(self, kit: FileKit) -> None:
        self._kit = kit
        self._image: bytes | None = None

    @contextmanager
    def change(
        self, key: OwnerKey, path: Path, *, actor: str | None, viewer: Viewer | None = None
    ) -> Iterator[Change]:
        """Begin a change of an empty memory of somebody, for the block. Blocks.

        Failures are told as those of the file at a path, which is not looked at.
        """
        connection = connect(_IN_MEMORY, writes=True)
        try:
            with failures(path):
                connection.deserialize("main", self._schema())
                with transaction(connection):
                    change = Change(
                        connection,
                        self._kit.queries,
                        key,
                        now=self._kit.clock.now(),
                        actor=actor,
                        viewer=viewer,
                    )
                    own(change)
                    yield change
        finally:
            connection.close()

    def _schema(self) -> bytes:
        """Return a database that has the schema and nothing else: to copy it takes a tenth of the time of making it."""
        if self._image is None:
            connection = connect(_IN_MEMORY, writes=True)
            try:
                bring_up(connection, self._kit.steps, whose="nobody")
                self._image = connection.serialize("main")
            finally:
                connection.close()
        return self._image
