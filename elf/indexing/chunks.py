"""The subjects of a corpus as they are read, their chunks, and the points that are made of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from elf.core.ids import ChunkId, chunk_id_for
from elf.index.port import IndexPoint, PayloadValue
from elf.index.space import Space
from elf.indexing.embedding import EmbeddedText, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What chunks are cut from, as it was read, with moments in UTC. `row` has the fields of its corpus, too."""

    subject_id: UUID
    text: str
    created_at: datetime
    changed_at: datetime
    is_active: bool
    expires_at: datetime | None
    embedding_version: str
    row: Mapping[str, Any]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Subject:
        """Build it from a row of the view of a corpus."""
        return cls(
            subject_id=row["subject_id"],
            text=row["text"],
            created_at=row["created_at"],
            changed_at=row["changed_at"],
            is_active=row["is_active"],
            expires_at=row["expires_at"],
            embedding_version=row["embedding_version"],
            row=row,
        )

    def is_live(self, now: datetime) -> bool:
        """Tell whether it is to be found."""
        return self.is_active and (self.expires_at is None or self.expires_at > now)

    @property
    def was_changed(self) -> bool:
        return self.changed_at != self.created_at


class Document(NamedTuple):
    """What the points of a subject carry beside what all points do: see `point_of`."""

    payload: Mapping[str, PayloadValue]
    tags: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """One chunk with its stored vector; `chunking` is None where it is not known how it was cut."""

    chunk_id: ChunkId
    index: int
    start: int
    end: int
    text: str
    vector: Vector
    chunking: str | None


def stored_chunk(row: Mapping[str, Any]) -> IndexedChunk:
    """Build a chunk from a row with the columns of a table of chunks (its text as chunk_text) and vec."""
    return IndexedChunk(
        ChunkId(row["chunk_id"]),
        row["chunk_index"],
        row["start_offset"],
        row["end_offset"],
        row["chunk_text"],
        np.asarray(row["vec"].to_numpy(), dtype=np.float32),
        row["chunking"],
    )


def embedded_chunks(subject_id: UUID, text: EmbeddedText, chunking: str) -> list[IndexedChunk]:
    """Return the chunks of a text that was embedded just now."""
    return [
        IndexedChunk(
            chunk_id_for(subject_id, chunk.index),
            chunk.index,
            chunk.start,
            chunk.end,
            chunk.text,
            vector,
            chunking,
        )
        for chunk, vector in zip(text.chunks, text.vectors, strict=True)
    ]


def is_whole(chunks: Sequence[IndexedChunk], text: str) -> bool:
    """Tell whether chunks, in order, cover a text without a gap."""
    # Chunks are removed together with the text they were cut from, so their texts need no second look.
    return (
        bool(chunks)
        and chunks[0].start == 0
        and chunks[-1].end == len(text)
        and [chunk.index for chunk in chunks] == list(range(len(chunks)))
        and all(one.end >= other.start for one, other in pairwise(chunks))
    )


def point_of(
    space: Space, row: Mapping[str, Any], document: Document, chunk: IndexedChunk, embedding_version: str
) -> IndexPoint:
    """Return the point of a chunk of the subject of a row: with what its document says, and what all points carry."""
    payload: dict[str, PayloadValue] = {
        space.owner_field: str(row["subject_id"]),
        "chunk_id": str(chunk.chunk_id),
        "chunk_index": chunk.index,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        **document.payload,
        "created_at": row["created_at"].isoformat(),
        "updated_at": row["changed_at"].isoformat(),
        "expires_at": None if row["expires_at"] is None else row["expires_at"].isoformat(),
        "embedding_version": embedding_version,
    }
    return IndexPoint(
        point_id=chunk.chunk_id,
        owner_id=row["subject_id"],
        dense=chunk.vector,
        text=chunk.text,
        payload=payload,
        tags=document.tags,
    )
