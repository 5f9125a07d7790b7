"""Keeping the chunks and vectors of subjects in Postgres, from where they get into the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

from pgvector import Vector  # asyncpg would take a numpy array within an array for one more dimension

from elf.core.ids import chunk_id_for
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.indexing.chunks import Subject
from elf.indexing.embedding import EmbeddedText

MANY_CHUNKS: Final = 2**31 - 1  # more than a text has


class KeepsVectors(Protocol):
    """Keeps what was made of subjects: for a family that keeps more of it than chunks and their vectors."""

    async def keep_vectors(
        self,
        connection: Connection,
        embedded: Sequence[tuple[Subject, EmbeddedText]],
        *,
        embedding_version: str,
        chunking: str,
    ) -> dict[UUID, bool]:
        """Store the chunks and vectors of those subjects that are still as given, and make them of that version.

        A subject whose text is whole loses the chunks it had beyond these. Returns the ids, each with whether there
        were such chunks.
        """
        ...


class ChunkVectors:
    """Keeps chunks and their vectors by the queries of a corpus."""

    def __init__(self, queries: Queries) -> None:
        self._sql = queries

    async def keep_vectors(
        self,
        connection: Connection,
        embedded: Sequence[tuple[Subject, EmbeddedText]],
        *,
        embedding_version: str,
        chunking: str,
    ) -> dict[UUID, bool]:
        """Do as KeepsVectors says."""
        values = kept_values(embedded, embedding_version=embedding_version, chunking=chunking)
        rows = await connection.fetch(self._sql["keep_vectors"], *values)
        return {row["subject_id"]: row["had_more"] for row in rows}


def kept_values(
    embedded: Sequence[tuple[Subject, EmbeddedText]], *, embedding_version: str, chunking: str
) -> list[Any]:
    """Return the values of keep_vectors."""
    return [
        [subject.subject_id for subject, _ in embedded],
        [subject.changed_at for subject, _ in embedded],
        [subject.embedding_version for subject, _ in embedded],
        [len(text.chunks) if text.is_whole else MANY_CHUNKS for _, text in embedded],
        *chunk_columns((subject.subject_id, text) for subject, text in embedded),
        embedding_version,
        dimensions_of(text for _, text in embedded),
        chunking,
    ]


def chunk_columns(embedded: Iterable[tuple[UUID, EmbeddedText]]) -> list[list[Any]]:
    """Return the columns of tables of chunks and of their vectors, for the texts of these subjects."""
    flat = [
        (chunk_id_for(subject_id, chunk.index), subject_id, chunk, vector)
        for subject_id, text in embedded
        for chunk, vector in zip(text.chunks, text.vectors, strict=True)
    ]
    return [
        [row[0] for row in flat],
        [row[1] for row in flat],
        [row[2].index for row in flat],
        [row[2].start for row in flat],
        [row[2].end for row in flat],
        [row[2].text for row in flat],
        [Vector(row[3]) for row in flat],
    ]


def dimensions_of(texts: Iterable[EmbeddedText]) -> int:
    """Return the length of the vectors of some texts, of which there is one at least."""
    return int(next(iter(texts)).vectors.shape[1])
