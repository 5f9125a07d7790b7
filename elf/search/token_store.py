"""Token vectors in Postgres: made once for a text, read by every process that searches.

They belong to a text and to what made them. Whoever asks for those of another text, or of another version, finds none,
so that nothing need be deleted when a text or the model changes; what is written next takes the place. A search reads
them in the statement that reads their chunks, in one round trip for both; whoever compares a few of many candidates
reads those of the few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from blake3 import blake3

from elf.core.batches import batches
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.providers.token_vectors import TokenVectors

# Texts of more words are read and compared after the others: for the time of one, many short ones are.
LONG_WORDS: Final = 128

_BYTES_AT_ONCE: Final = 2 << 20
_DIGEST_BYTES: Final = 16
_CHARS_A_WORD: Final = 6


class TokenTable(NamedTuple):
    """A family's table of token vectors, with the columns of `note_chunk_tokens`, and that of its chunks."""

    tokens: str
    chunks: str


class TokenRow(NamedTuple):
    """The token vectors of a chunk with this text."""

    chunk_id: UUID
    text: str
    vectors: TokenVectors


class TokenPut(NamedTuple):
    """Token vectors to be kept in a table."""

    table: TokenTable
    rows: Sequence[TokenRow]


class TokenStore:
    """Reads and writes the token vectors of one version; `queries` are those of the folder sql/search.

    A search reads those of its candidates of up to LONG_WORDS words and then those of longer ones, each from the best
    on, until they are those of `max_words` words.
    """

    def __init__(self, queries: Queries, *, version: str, max_words: int) -> None:
        self._sql = queries
        self.version = version
        self.max_words = max_words

    async def put(self, connection: Connection, table: TokenTable, rows: Sequence[TokenRow]) -> None:
        """Keep token vectors, each of another chunk; those of a chunk that is gone are left out.

        Those of a long text are megabytes: they are sent a part after the other, so that the event loop goes on.
        """
        in_order = sorted(rows, key=lambda row: row.chunk_id)
        for some in batches(in_order, lambda row: len(row.vectors.content), most_size=_BYTES_AT_ONCE):
            await connection.execute(
                self._statement("write_tokens", table),
                [row.chunk_id for row in some],
                self.version,
                [_digest(row.text) for row in some],
                [len(row.vectors) for row in some],
                [row.vectors.content for row in some],
            )

    async def of_chunks(
        self, connection: Connection, table: TokenTable, texts: Mapping[UUID, str]
    ) -> dict[UUID, TokenVectors]:
        """Return the token vectors of those chunks, which have these texts, that have some."""
        rows = await connection.fetch(self._statement("read_tokens", table), list(texts), self.version)
        found = ((row["chunk_id"], self.read(row, texts[row["chunk_id"]])) for row in rows)
        return {chunk_id: vectors for chunk_id, vectors in found if vectors is not None}

    def read(self, row: Mapping[str, Any], text: str) -> TokenVectors | None:
        """Return the token vectors of a chunk with this text, or None when the row has none of them.

        The row is the chunk's, joined with the digest, tokens and vectors that its table of token vectors has of
        `version`.
        """
        if row["vectors"] is None or row["digest"] != _digest(text):
            return None
        return TokenVectors(row["vectors"], row["tokens"])

    def words(self, row: Mapping[str, Any], text: str) -> int:
        """Return how many words a chunk has: what its row, as above, tells, or else about as many as its text has."""
        return max(1, len(text) // _CHARS_A_WORD) if row["tokens"] is None else int(row["tokens"])

    def _statement(self, name: str, table: TokenTable) -> str:
        return self._sql[name].replace("<tokens>", table.tokens).replace("<chunks>", table.chunks)


class TokenReader:
    """Reads the token vectors of a family's chunks, for whoever compares texts of all families."""

    def __init__(self, database: Database, store: TokenStore, table: TokenTable) -> None:
        self._database = database
        self._store = store
        self._table = table

    async def read(self, texts: Mapping[UUID, str]) -> Mapping[UUID, TokenVectors]:
        """Return the token vectors of those chunks, which have these texts, that have some.

        Raises DatabaseUnavailable.
        """
        async with self._database.connection() as connection:
            return await self._store.of_chunks(connection, self._table, texts)


class TokenPlace(NamedTuple):
    """Where the token vectors of a text are kept, if they are: as those of a chunk."""

    reader: TokenReader
    chunk_id: UUID


def _digest(text: str) -> bytes:
    return blake3(text.encode()).digest(length=_DIGEST_BYTES)
