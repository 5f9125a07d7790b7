"""The chunks that the index names, as far as Postgres vouches for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.finding.ranking import NO_TOKENS
from elf.families.conversations.finding.reach import Reach
from elf.index.port import IndexFilter
from elf.search.token_store import LONG_WORDS, TokenStore


class Passages:
    """Reads chunks with their entries for whoever asks. Methods raise DatabaseUnavailable."""

    def __init__(
        self, database: Database, queries: Queries, tokens: TokenStore | None, *, embedding_version: str
    ) -> None:
        self._database = database
        self._sql = queries
        self._tokens = tokens
        self._version = embedding_version

    async def where(self, reach: Reach) -> IndexFilter:
        """Return what the index is asked for."""
        async with self._database.connection() as connection:
            return await reach.where(connection, self._sql)

    async def read(
        self, reach: Reach, chunk_ids: Sequence[UUID], *, with_tokens: bool = True
    ) -> Mapping[UUID, Mapping[str, Any]]:
        """Return the rows of `read_passages` by chunk, as of now."""
        if not chunk_ids:
            return {}
        tokens = self._tokens if with_tokens else None
        version, max_words = (None, 0) if tokens is None else (tokens.version, tokens.max_words)
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["read_passages"], *reach.arguments, list(chunk_ids), self._version, version, max_words,
                LONG_WORDS, *reach.moments,
            )  # fmt: skip
        return {row["chunk_id"]: row for row in rows}

    async def beginnings(self, reach: Reach, entry_ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
        """Return the rows of `read_beginnings` by entry: how the texts of entries begin that are no chunks."""
        if not entry_ids:
            return {}
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_beginnings"], reach.tenant_id, list(entry_ids))
        return {row["entry_id"]: {**row, **NO_TOKENS} for row in rows}
