"""Which models wrote vectors here: each is recorded with the first vector that it writes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pgvector import Vector

from elf.db.database import Connection
from elf.db.queries import Queries


class EmbeddingVersions:
    """Remembers what is recorded, so that a writer asks Postgres once."""

    def __init__(self) -> None:
        self._recorded: set[str] = set()

    async def record(
        self,
        connection: Connection,
        queries: Queries,
        version: str,
        vectors: Iterable[Vector | None],
        now: datetime,
    ) -> None:
        """Record the model of vectors, `provider:model:dimensions`, with the transaction that writes them."""
        if version in self._recorded or all(vector is None for vector in vectors):
            return
        provider, _, rest = version.partition(":")
        model, _, dimensions = rest.rpartition(":")
        await connection.execute(
            queries["record_embedding_version"], version, provider, model, int(dimensions), now
        )
        connection.after_commit(lambda: self._recorded.add(version))
