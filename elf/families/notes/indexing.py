"""Bringing the index to what Postgres says: the handler of the indexing outbox.

A job only names a note. The handler looks at the note as it is now: a live note gets its chunks, vectors and points,
any other loses its points. So jobs may be repeated, reordered or merged without harm. The op matters in one case only:
DELETE for a live note says that the index may hold points of it that are no chunks (any more).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from elf.core.clock import Clock
from elf.core.errors import ProviderBroken
from elf.core.ids import ChunkId, NoteId, chunk_id_for
from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.notes.embedding import EmbeddedText, TextEmbedder, Vector
from elf.families.notes.freshness import FreshWrites
from elf.families.notes.model import Note
from elf.families.notes.store import NoteStore
from elf.index.port import IndexPoint, VectorIndex
from elf.outbox.leased import Job
from elf.providers.vectors import has_direction


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """One chunk with its stored vector."""

    chunk_id: ChunkId
    index: int
    start: int
    end: int
    text: str
    vector: Vector


class NoteIndexing:
    """Embeds what has no vectors yet, writes the points, and ends the jobs."""

    def __init__(
        self,
        *,
        database: Database,
        queries: Queries,
        store: NoteStore,
        embedder: TextEmbedder,
        index: VectorIndex,
        fresh: FreshWrites,
        clock: Clock,
    ) -> None:
        self._database = database
        self._fresh = fresh
        self._sql = queries
        self._store = store
        self._embedder = embedder
        self._index = index
        self._clock = clock

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do a batch of leased jobs and mark them done; on an error none of them is."""
        try:
            await self._do(jobs)
        finally:
            self._fresh.indexed([job.subject_id for job in jobs])

    async def _do(self, jobs: Sequence[Job]) -> None:
        notes, stored = await self._read({job.subject_id for job in jobs})
        now = self._clock.now()
        live = {note_id: note for note_id, note in notes.items() if note.is_live(now)}
        chunks = {note_id: found for note_id, found in stored.items() if _covers(found, live.get(note_id))}
        chunks |= await self._embedded([note for note_id, note in live.items() if note_id not in chunks])
        gone = {job.subject_id for job in jobs} - set(chunks)
        strays = {job.subject_id for job in jobs if job.op == "DELETE"}
        await self._bring_index_up_to_date(live, chunks, gone=gone, strays=strays)
        await self._finish(jobs, notes)

    async def _read(self, note_ids: set[UUID]) -> tuple[dict[UUID, Note], dict[UUID, list[IndexedChunk]]]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["read_for_indexing"], list(note_ids), self._embedder.version
            )
        notes: dict[UUID, Note] = {}
        chunks: dict[UUID, list[IndexedChunk]] = {}
        for row in rows:
            notes.setdefault(row["note_id"], Note.from_row(row))
            if row["chunk_id"] is not None:
                chunks.setdefault(row["note_id"], []).append(stored_chunk(row))
        return notes, chunks

    async def _embedded(self, notes: Sequence[Note]) -> dict[UUID, list[IndexedChunk]]:
        """Embed notes and keep their vectors. A note that changed meanwhile is left out: it has a newer job."""
        if not notes:
            return {}
        texts = await self._embedder.embed([note.text for note in notes])
        embedded = [(note, text) for note, text in zip(notes, texts, strict=True) if text is not None]
        unchanged = await retrying(lambda: self._keep(embedded)) if embedded else set()
        if len(embedded) < len(notes):
            raise ProviderBroken(
                f"the embedder gave {len(notes) - len(embedded)} of {len(notes)} notes no vector that counts"
            )
        return {
            note.note_id: _indexed_chunks(note, text) for note, text in embedded if note.note_id in unchanged
        }

    async def _keep(self, embedded: Sequence[tuple[Note, EmbeddedText]]) -> set[NoteId]:
        async with self._database.connection() as connection:
            return await self._store.keep_vectors(
                connection, embedded, embedding_version=self._embedder.version
            )

    async def _bring_index_up_to_date(
        self,
        live: Mapping[UUID, Note],
        chunks: Mapping[UUID, Sequence[IndexedChunk]],
        *,
        gone: set[UUID],
        strays: set[UUID],
    ) -> None:
        points = [
            point_of(live[note_id], chunk, self._embedder.version)
            for note_id, found in chunks.items()
            for chunk in found
        ]
        if points:
            await self._index.upsert(points)
        if gone:
            await self._index.delete_owners(list(gone))
        changed = [
            note_id
            for note_id in chunks
            if note_id in strays or live[note_id].updated_at != live[note_id].created_at
        ]
        if changed:
            # A shorter text has fewer chunks: the points of the former ones go.
            keep = [chunk.chunk_id for note_id in changed for chunk in chunks[note_id]]
            await self._index.delete_owners(changed, keep=keep)

    async def _finish(self, jobs: Sequence[Job], notes: Mapping[UUID, Note]) -> None:
        seen: list[datetime | None] = [
            notes[job.subject_id].updated_at if job.subject_id in notes else None for job in jobs
        ]
        outbox_ids = [job.outbox_id for job in jobs]
        subject_ids = [job.subject_id for job in jobs]

        async def finish() -> None:
            async with self._database.connection() as connection:
                await connection.execute(self._sql["finish_jobs"], outbox_ids, subject_ids, seen)

        await retrying(finish)  # workers with jobs of the same notes meet in these rows


def _covers(chunks: Sequence[IndexedChunk], note: Note | None) -> bool:
    # Chunks are removed together with the text they were cut from, so their texts need no second look.
    return (
        note is not None
        and chunks[0].start == 0
        and chunks[-1].end == len(note.text)
        and all(has_direction(chunk.vector) for chunk in chunks)
    )


def stored_chunk(row: Mapping[str, Any]) -> IndexedChunk:
    """Build a chunk from a row with the columns of memory_note_chunks (its text as chunk_text) and vec."""
    return IndexedChunk(
        ChunkId(row["chunk_id"]),
        row["chunk_index"],
        row["start_offset"],
        row["end_offset"],
        row["chunk_text"],
        np.asarray(row["vec"].to_numpy(), dtype=np.float32),
    )


def _indexed_chunks(note: Note, text: EmbeddedText) -> list[IndexedChunk]:
    return [
        IndexedChunk(
            chunk_id_for(note.note_id, chunk.index), chunk.index, chunk.start, chunk.end, chunk.text, vector
        )
        for chunk, vector in zip(text.chunks, text.vectors, strict=True)
    ]


def point_of(note: Note, chunk: IndexedChunk, embedding_version: str) -> IndexPoint:
    """Return the index point of a chunk, with the payload of section 6."""
    payload: dict[str, Any] = {
        "note_id": str(note.note_id),
        "chunk_id": str(chunk.chunk_id),
        "chunk_index": chunk.index,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "tenant_id": note.tenant_id,
        "project_id": note.project_id,
        "agent_id": note.agent_id,
        "scope": note.scope,
        "type": note.type,
        "key": note.key,
        "status": note.status,
        "updated_at": note.updated_at.isoformat(),
        "expires_at": None if note.expires_at is None else note.expires_at.isoformat(),
        "importance": note.importance,
        "confidence": note.confidence,
        "embedding_version": embedding_version,
    }
    return IndexPoint(
        point_id=chunk.chunk_id, owner_id=note.note_id, dense=chunk.vector, text=chunk.text, payload=payload
    )
