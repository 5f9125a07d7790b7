"""What Postgres says of candidates: step 9 of section 13, by which nothing is shown that is not so now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from elf.db.database import Connection, Database
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.reading.ask import NoteAsk

Row = Mapping[str, Any]


class Revalidation:
    """Reads the authoritative rows behind candidate chunks.

    They are read from `reads`. When that is a replica, the primary (`database`) is asked which of these notes it still
    has just so; what it has no more, or otherwise, and what the replica does not have, is read from the primary itself.
    So the rows are the primary's, however far the replica is behind, while it mostly reads a few index entries.
    """

    def __init__(self, *, database: Database, reads: Database, store: NoteStore) -> None:
        self._database = database
        self._reads = reads
        self._store = store

    async def rows(self, chunk_ids: Sequence[UUID], ask: NoteAsk, *, embedding_version: str) -> list[Row]:
        """Return the rows of `read_candidates` as of now, in no particular order. Raises DatabaseUnavailable.

        The rows of notes that the filter of `ask` does not let through say in `unmet` what they fail.

        Without the primary there are none: nobody could tell whether they are still true.
        """

        async def candidates(connection: Connection, wanted: Sequence[UUID]) -> list[Row]:
            return await self._store.candidates(
                connection,
                chunk_ids=wanted,
                embedding_version=embedding_version,
                context=ask.context,
                scopes=ask.scopes,
                now=ask.now,
                filter=ask.filter,
            )

        async with self._reads.connection() as connection:
            rows = await candidates(connection, chunk_ids)
        if self._reads is self._database:
            return rows
        async with self._database.connection() as connection:
            versions = {row["note_id"]: row["updated_at"] for row in rows}
            current = await self._store.unchanged(connection, versions, now=ask.now)
            rows = [row for row in rows if row["note_id"] in current]
            confirmed = {row["chunk_id"] for row in rows}
            if others := [chunk_id for chunk_id in chunk_ids if chunk_id not in confirmed]:
                rows += await candidates(connection, others)
        return rows
