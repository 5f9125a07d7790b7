"""Bringing the index to what Postgres says: the handler of the indexing outbox.

A job only names a note. The handler looks at the note as it is now: a live note gets its chunks, vectors and points,
any other loses its points. So jobs may be repeated, reordered or merged without harm. The op matters in one case only:
DELETE for a live note says that the index may hold points of it that are no chunks (any more).

What needs no model is done first. A note that belongs to processes with another embedding model is left to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import structlog

from elf.core.clock import Clock
from elf.core.errors import ServiceError
from elf.core.ids import ChunkId, NoteId, chunk_id_for
from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.notes.embedding import EmbeddedText, TextEmbedder, Vector
from elf.families.notes.fleet import Fleet
from elf.families.notes.model import Note
from elf.families.notes.patient_embedding import Done, Waiting, embed_patiently
from elf.families.notes.source_fields import tags_of
from elf.families.notes.store import NoteStore
from elf.index.port import IndexPoint, VectorIndex
from elf.indexing.fresh import FreshWrites
from elf.outbox.leased import Job, JobsFailed
from elf.providers.portions import CALL_BYTES
from elf.providers.vectors import has_direction

# The text of the notes of one lease. With what their chunks repeat of each other it makes one call of the model, so
# notes are done in their order, and little work is lost when it is cut off.
LEASE_BYTES: Final = CALL_BYTES * 3 // 4

log = structlog.get_logger()


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


class _Batch(NamedTuple):
    """Leased jobs, the notes they name as they are now, and what is stored for them: chunks that have their vectors.

    `tags` are those of the notes, for their points.
    """

    jobs: Sequence[Job]
    notes: Mapping[UUID, Note]
    stored: Mapping[UUID, Sequence[IndexedChunk]]
    tags: Mapping[UUID, Sequence[UUID]]

    def of(self, note_ids: Iterable[UUID]) -> _Batch:
        """Return the part of the batch that is about these notes."""
        wanted = set(note_ids)
        return self._replace(jobs=[job for job in self.jobs if job.subject_id in wanted])

    @property
    def subjects(self) -> set[UUID]:
        return {job.subject_id for job in self.jobs}


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
        fleet: Fleet,
        fresh: FreshWrites,
        clock: Clock,
    ) -> None:
        self._database = database
        self._fresh = fresh
        self._sql = queries
        self._store = store
        self._embedder = embedder
        self._index = index
        self._fleet = fleet
        self._clock = clock

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do a batch of leased jobs and mark them done. Raises JobsFailed for those whose notes cannot be embedded.

        On any other error some may be done.
        """
        try:
            failed = await self._do(jobs)
        finally:
            self._fresh.indexed([job.subject_id for job in jobs])
        if failed:
            raise JobsFailed([(job, failed[job.subject_id]) for job in jobs if job.subject_id in failed])

    async def _do(self, jobs: Sequence[Job]) -> Mapping[UUID, ServiceError]:
        batch = await self._read(jobs)
        now = self._clock.now()
        live = {note_id: note for note_id, note in batch.notes.items() if note.is_live(now)}
        foreign = {
            note_id for note_id, note in live.items() if not self._fleet.may_take(note.embedding_version)
        }
        ready = {
            note_id for note_id, note in live.items() if self._is_ready(note, batch.stored.get(note_id, ()))
        }
        lacking = live.keys() - foreign - ready
        await self._readdress(batch.of(foreign))
        await self._write(
            batch.of(batch.subjects - foreign - lacking),
            {note_id: batch.stored[note_id] for note_id in ready},
        )
        return await self._embed(batch.of(lacking))

    async def _read(self, jobs: Sequence[Job]) -> _Batch:
        note_ids = list({job.subject_id for job in jobs})
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_for_indexing"], note_ids, self._embedder.version)
        notes: dict[UUID, Note] = {}
        chunks: dict[UUID, list[IndexedChunk]] = {}
        tags: dict[UUID, Sequence[UUID]] = {}
        for row in rows:
            if row["note_id"] not in notes:
                notes[row["note_id"]] = Note.from_row(row)
                tags[row["note_id"]] = tags_of(row["source"])
            if row["chunk_id"] is not None:
                chunks.setdefault(row["note_id"], []).append(stored_chunk(row))
        return _Batch(jobs, notes, chunks, tags)

    def _is_ready(self, note: Note, chunks: Sequence[IndexedChunk]) -> bool:
        return (
            note.embedding_version == self._embedder.version
            and is_whole(chunks, note.text)
            and all(self._fleet.keeps(chunk.chunking) and has_direction(chunk.vector) for chunk in chunks)
        )

    async def _readdress(self, batch: _Batch) -> None:
        """Give jobs to those whose notes they are about."""
        if not batch.jobs:
            return
        log.info("jobs_of_another_model", jobs=len(batch.jobs))
        async with self._database.connection() as connection:
            await connection.execute(self._sql["readdress_jobs"], [job.outbox_id for job in batch.jobs])

    # Embedding

    async def _embed(self, batch: _Batch) -> Mapping[UUID, ServiceError]:
        """Embed notes, keep their vectors and do their jobs; returns why others could not be embedded."""
        failures: dict[UUID, int] = {}
        for job in batch.jobs:
            failures[job.subject_id] = max(failures.get(job.subject_id, 0), job.attempts)
        vectors = {
            chunk.text: chunk.vector
            for note_id in failures
            for chunk in batch.stored.get(note_id, ())
            if has_direction(chunk.vector)
        }
        stored = len(vectors)

        async def embed(notes: Sequence[Note]) -> Sequence[EmbeddedText | None]:
            return await self._embedder.embed_in_turn([note.text for note in notes], vectors)

        async def keep(done: Done) -> None:
            await self._keep_and_write(batch.of(note.note_id for note, _ in done), done)

        waiting = [Waiting(batch.notes[note_id], count) for note_id, count in failures.items()]
        failed = await embed_patiently(waiting, embed, keep)
        if failed and len(vectors) > stored:
            await self._keep_begun(batch.of(failed), vectors)
        return failed

    async def _keep_begun(self, batch: _Batch, vectors: Mapping[str, Vector]) -> None:
        """Keep what came of notes that failed, so that the next try goes on from there.

        Chunks that already reach as far stay, though they were cut by another rule.
        """
        begun: Done = []
        for note_id in batch.subjects:
            note = batch.notes[note_id]
            text = self._embedder.beginning(note.text, vectors)
            reach = max((chunk.end for chunk in batch.stored.get(note_id, ())), default=0)
            if text.chunks and (text.is_whole or text.chunks[-1].end > reach):
                begun.append((note, text))
        if begun:
            await retrying(lambda: self._keep(begun))

    async def _keep_and_write(self, batch: _Batch, done: Done) -> None:
        """Keep vectors and write the points. A note that changed meanwhile has a newer job."""
        kept = await retrying(lambda: self._keep(done)) if done else {}
        chunks: dict[UUID, Sequence[IndexedChunk]] = {
            note.note_id: _indexed_chunks(note, text, self._embedder.chunking)
            for note, text in done
            if note.note_id in kept
        }
        had_more = {note_id for note_id, more in kept.items() if more}
        await self._write(batch, chunks, strays=had_more, untouched=batch.subjects - chunks.keys())

    async def _keep(self, done: Done) -> dict[NoteId, bool]:
        async with self._database.connection() as connection:
            return await self._store.keep_vectors(
                connection,
                done,
                embedding_version=self._embedder.version,
                chunking=self._embedder.chunking,
            )

    # Writing

    async def _write(
        self,
        batch: _Batch,
        chunks: Mapping[UUID, Sequence[IndexedChunk]],
        *,
        strays: Iterable[UUID] = (),
        untouched: Iterable[UUID] = (),
    ) -> None:
        """Bring the index to these chunks, take all other points of the batch's notes away, and end the jobs.

        strays: notes that may have points which are no chunks. untouched: notes whose points stay as they are.
        """
        if not batch.jobs:
            return
        points = [
            point_of(batch.notes[note_id], chunk, self._embedder.version, batch.tags[note_id])
            for note_id, found in chunks.items()
            for chunk in found
        ]
        if points:
            await self._index.upsert(points)
        if gone := batch.subjects - chunks.keys() - set(untouched):
            await self._index.delete_owners(list(gone))
        doubtful = {*strays, *(job.subject_id for job in batch.jobs if job.op == "DELETE")}
        if changed := [
            note_id for note_id in chunks if note_id in doubtful or _was_changed(batch.notes[note_id])
        ]:
            # A shorter text has fewer chunks: the points of the former ones go.
            keep = [chunk.chunk_id for note_id in changed for chunk in chunks[note_id]]
            await self._index.delete_owners(changed, keep=keep)
        await self._finish(batch, indexed=chunks.keys())

    async def _finish(self, batch: _Batch, *, indexed: Iterable[UUID]) -> None:
        own = dict.fromkeys(indexed, self._embedder.version)
        seen: list[tuple[datetime | None, str | None]] = []
        for job in batch.jobs:
            note = batch.notes.get(job.subject_id)
            version = None if note is None else own.get(job.subject_id, note.embedding_version)
            seen.append((None if note is None else note.updated_at, version))
        outbox_ids = [job.outbox_id for job in batch.jobs]
        subject_ids = [job.subject_id for job in batch.jobs]

        async def finish() -> None:
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["finish_jobs"],
                    outbox_ids, subject_ids, [moment for moment, _ in seen], [version for _, version in seen],
                )  # fmt: skip

        await retrying(finish)  # workers with jobs of the same notes meet in these rows


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


def _was_changed(note: Note) -> bool:
    return note.updated_at != note.created_at


def stored_chunk(row: Mapping[str, Any]) -> IndexedChunk:
    """Build a chunk from a row with the columns of memory_note_chunks (its text as chunk_text) and vec."""
    return IndexedChunk(
        ChunkId(row["chunk_id"]),
        row["chunk_index"],
        row["start_offset"],
        row["end_offset"],
        row["chunk_text"],
        np.asarray(row["vec"].to_numpy(), dtype=np.float32),
        row["chunking"],
    )


def _indexed_chunks(note: Note, text: EmbeddedText, chunking: str) -> list[IndexedChunk]:
    return [
        IndexedChunk(
            chunk_id_for(note.note_id, chunk.index),
            chunk.index,
            chunk.start,
            chunk.end,
            chunk.text,
            vector,
            chunking,
        )
        for chunk, vector in zip(text.chunks, text.vectors, strict=True)
    ]


def point_of(note: Note, chunk: IndexedChunk, embedding_version: str, tags: Sequence[UUID]) -> IndexPoint:
    """Return the index point of a chunk, with the payload of section 6 and the tags of its note."""
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
        "created_at": note.created_at.isoformat(),
        "updated_at": note.updated_at.isoformat(),
        "expires_at": None if note.expires_at is None else note.expires_at.isoformat(),
        "importance": note.importance,
        "confidence": note.confidence,
        "embedding_version": embedding_version,
    }
    return IndexPoint(
        point_id=chunk.chunk_id,
        owner_id=note.note_id,
        dense=chunk.vector,
        text=chunk.text,
        payload=payload,
        tags=tags,
    )
