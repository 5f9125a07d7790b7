"""Token vectors in Postgres: made once for a text, read by every process that searches.

They belong to a text and to what made them. Whoever asks for those of another text, or of another version, finds none,
so that nothing need be deleted when a text or the model changes; what is written next takes the place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from blake3 import blake3

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.providers.token_vectors import TokenVectors

_DIGEST_BYTES = 16


class TokenTable(NamedTuple):
    """A family's table of token vectors, with the columns of `note_chunk_tokens`, and that of its chunks."""

    tokens: str
    chunks: str


class TokenRow(NamedTuple):
    """The token vectors of a chunk with this text."""

    chunk_id: UUID
    text: str
    vectors: TokenVectors


class TokenStore:
    """Reads and writes the token vectors of one version; `queries` are those of the folder sql/search."""

    def __init__(self, queries: Queries, *, version: str) -> None:
        self._sql = queries
        self._version = version

    async def put(self, connection: Connection, table: TokenTable, rows: Sequence[TokenRow]) -> None:
        """Keep token vectors, each of another chunk; those of a chunk that is gone are left out."""
        if not rows:
            return
        await connection.execute(
            self._statement("write_tokens", table),
            [row.chunk_id for row in rows],
            self._version,
            [_digest(row.text) for row in rows],
            [len(row.vectors) for row in rows],
            [row.vectors.to_bytes() for row in rows],
        )

    async def get(
        self, connection: Connection, table: TokenTable, texts: Mapping[UUID, str], *, word_budget: int
    ) -> dict[UUID, TokenVectors]:
        """Return the token vectors of chunks with these texts, by their ids.

        They are read in the order given until they have `word_budget` tokens in all, the last of them perhaps more.
        Those that are not there are left out.
        """
        rows = await connection.fetch(
            self._statement("read_tokens", table),
            list(texts),
            self._version,
            [_digest(text) for text in texts.values()],
            word_budget,
        )
        return {
            row["chunk_id"]: TokenVectors.from_bytes(row["vectors"], tokens=row["tokens"]) for row in rows
        }

    def _statement(self, name: str, table: TokenTable) -> str:
        return self._sql[name].replace("<tokens>", table.tokens).replace("<chunks>", table.chunks)


def _digest(text: str) -> bytes:
    return blake3(text.encode()).digest(length=_DIGEST_BYTES)
