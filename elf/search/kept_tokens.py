"""Keeping the token vectors that were made with the vectors of chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from elf.core.ids import chunk_id_for
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.indexing.chunk_vectors import ChunkVectors
from elf.indexing.chunks import Subject
from elf.indexing.embedding import EmbeddedText
from elf.search.token_store import TokenRow, TokenStore, TokenTable


def token_rows(embedded: Iterable[tuple[UUID, EmbeddedText]]) -> Iterator[TokenRow]:
    """Yield the token vectors of the chunks of subjects that were embedded just now."""
    for subject_id, text in embedded:
        for place, vectors in text.tokens.items():
            chunk = text.chunks[place]
            yield TokenRow(chunk_id_for(subject_id, chunk.index), chunk.text, vectors)


class ChunkVectorsAndTokens:
    """Keeps chunks and their vectors by the queries of a corpus, and their token vectors in a table."""

    def __init__(self, queries: Queries, tokens: TokenStore, table: TokenTable) -> None:
        self._vectors = ChunkVectors(queries)
        self._tokens = tokens
        self._table = table

    async def keep_vectors(
        self,
        connection: Connection,
        embedded: Sequence[tuple[Subject, EmbeddedText]],
        *,
        embedding_version: str,
        chunking: str,
    ) -> dict[UUID, bool]:
        """Do as KeepsVectors says."""
        kept = await self._vectors.keep_vectors(
            connection, embedded, embedding_version=embedding_version, chunking=chunking
        )
        rows = token_rows((one.subject_id, text) for one, text in embedded if one.subject_id in kept)
        await self._tokens.put(connection, self._table, list(rows))
        return kept
