"""Bringing the index to what Postgres says: the handler of the outbox of a corpus.

A job only names a subject. The handler looks at it as it is now: a live one gets its chunks, vectors and points, any
other loses its points. So jobs may be repeated, reordered or merged without harm. The op matters in one case only:
DELETE for a live subject says that the index may hold points of it that are no chunks (any more).

What needs no model is done first. What belongs to processes with another embedding model is left to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import structlog

from elf.core.clock import Clock
from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.db.errors import retrying
from elf.index.port import IndexPoint, VectorIndex
from elf.indexing.chunk_vectors import ChunkVectors
from elf.indexing.chunks import IndexedChunk, Subject, embedded_chunks, is_whole, point_of, stored_chunk
from elf.indexing.corpus import Corpus
from elf.indexing.embedding import EmbeddedText, TextEmbedder, Vector
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.indexing.patient_embedding import Done, Waiting, embed_patiently
from elf.outbox.leased import JobsFailed
from elf.outbox.leases import Job
from elf.providers.portions import CALL_BYTES
from elf.providers.vectors import has_direction

# The text of one lease. With what its chunks repeat of each other it makes one call of the model, so subjects are done
# in their order, and little work is lost when it is cut off.
LEASE_BYTES: Final = CALL_BYTES * 3 // 4

log = structlog.get_logger()

Chunks = Mapping[UUID, Sequence[IndexedChunk]]


class _Batch(NamedTuple):
    """Leased jobs, the subjects they name as they are now, and what is stored for them: chunks that have vectors."""

    jobs: Sequence[Job]
    subjects: Mapping[UUID, Subject]
    stored: Chunks

    def of(self, subject_ids: Iterable[UUID]) -> _Batch:
        """Return the part of the batch that is about these subjects."""
        wanted = set(subject_ids)
        return self._replace(jobs=[job for job in self.jobs if job.subject_id in wanted])

    @property
    def subject_ids(self) -> set[UUID]:
        return {job.subject_id for job in self.jobs}


class IndexWorker:
    """Embeds what has no vectors yet, writes the points, and ends the jobs."""

    def __init__(
        self,
        *,
        database: Database,
        corpus: Corpus,
        texts: TextEmbedder,
        index: VectorIndex,
        fleet: Fleet,
        fresh: FreshWrites,
        clock: Clock,
    ) -> None:
        self._database = database
        self._corpus = corpus
        self._sql = corpus.queries
        self._texts = texts
        self._index = index
        self._fleet = fleet
        self._fresh = fresh
        self._clock = clock
        self._keeper = corpus.keeper or ChunkVectors(corpus.queries)

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do a batch of leased jobs and mark them done. Raises JobsFailed for those whose texts cannot be embedded.

        On any other error some may be done.
        """
        try:
            failed = await self._do(jobs)
        finally:
            self._fresh.indexed(self._corpus.name, [job.subject_id for job in jobs])
        if failed:
            raise JobsFailed([(job, failed[job.subject_id]) for job in jobs if job.subject_id in failed])

    async def _do(self, jobs: Sequence[Job]) -> Mapping[UUID, ServiceError]:
        batch = await self._read(jobs)
        now = self._clock.now()
        live = {one.subject_id: one for one in batch.subjects.values() if one.is_live(now)}
        foreign = {one for one, read in live.items() if not self._fleet.may_take(read.embedding_version)}
        ready = {one for one, read in live.items() if self._is_ready(read, batch.stored.get(one, ()))}
        lacking = live.keys() - foreign - ready
        await self._readdress(batch.of(foreign))
        await self._write(
            batch.of(batch.subject_ids - foreign - lacking), {one: batch.stored[one] for one in ready}
        )
        return await self._embed(batch.of(lacking))

    async def _read(self, jobs: Sequence[Job]) -> _Batch:
        wanted = list({job.subject_id for job in jobs})
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_for_indexing"], wanted, self._texts.version)
        subjects: dict[UUID, Subject] = {}
        chunks: dict[UUID, list[IndexedChunk]] = {}
        for row in rows:
            if row["subject_id"] not in subjects:
                subjects[row["subject_id"]] = Subject.from_row(row)
            if row["chunk_id"] is not None:
                chunks.setdefault(row["subject_id"], []).append(stored_chunk(row))
        return _Batch(jobs, subjects, chunks)

    def _is_ready(self, subject: Subject, chunks: Sequence[IndexedChunk]) -> bool:
        return (
            subject.embedding_version == self._texts.version
            and is_whole(chunks, subject.text)
            and all(self._fleet.keeps(chunk.chunking) and has_direction(chunk.vector) for chunk in chunks)
        )

    async def _readdress(self, batch: _Batch) -> None:
        """Give jobs to those whose subjects they are about."""
        if not batch.jobs:
            return
        log.info("jobs_of_another_model", corpus=self._corpus.name, jobs=len(batch.jobs))
        async with self._database.connection() as connection:
            await connection.execute(self._sql["readdress_jobs"], [job.outbox_id for job in batch.jobs])

    # Embedding

    async def _embed(self, batch: _Batch) -> Mapping[UUID, ServiceError]:
        """Embed texts, keep their vectors and do their jobs; returns why others could not be embedded."""
        failures: dict[UUID, int] = {}
        for job in batch.jobs:
            failures[job.subject_id] = max(failures.get(job.subject_id, 0), job.attempts)
        vectors = {
            chunk.text: chunk.vector
            for subject_id in failures
            for chunk in batch.stored.get(subject_id, ())
            if has_direction(chunk.vector)
        }
        stored = len(vectors)

        async def embed(subjects: Sequence[Subject]) -> Sequence[EmbeddedText | None]:
            return await self._texts.embed_in_turn([one.text for one in subjects], vectors)

        async def keep(done: Done) -> None:
            await self._keep_and_write(batch.of(one.subject_id for one, _ in done), done)

        waiting = [Waiting(batch.subjects[one], count) for one, count in failures.items()]
        failed = await embed_patiently(waiting, embed, keep)
        if failed and len(vectors) > stored:
            await self._keep_begun(batch.of(failed), vectors)
        return failed

    async def _keep_begun(self, batch: _Batch, vectors: Mapping[str, Vector]) -> None:
        """Keep what came of texts that failed, so that the next try goes on from there.

        Chunks that already reach as far stay, though they were cut by another rule.
        """
        begun: Done = []
        for subject_id in batch.subject_ids:
            subject = batch.subjects[subject_id]
            text = await self._texts.beginning(subject.text, vectors)
            reach = max((chunk.end for chunk in batch.stored.get(subject_id, ())), default=0)
            if text.chunks and (text.is_whole or text.chunks[-1].end > reach):
                begun.append((subject, text))
        if begun:
            await retrying(lambda: self._keep(begun))

    async def _keep_and_write(self, batch: _Batch, done: Done) -> None:
        """Keep vectors and write the points. What changed meanwhile has a newer job."""
        kept = await retrying(lambda: self._keep(done)) if done else {}
        chunks: dict[UUID, Sequence[IndexedChunk]] = {
            one.subject_id: embedded_chunks(one.subject_id, text, self._texts.chunking)
            for one, text in done
            if one.subject_id in kept
        }
        had_more = {subject_id for subject_id, more in kept.items() if more}
        await self._write(batch, chunks, strays=had_more, untouched=batch.subject_ids - chunks.keys())

    async def _keep(self, done: Done) -> dict[UUID, bool]:
        async with self._database.connection() as connection:
            return await self._keeper.keep_vectors(
                connection, done, embedding_version=self._texts.version, chunking=self._texts.chunking
            )

    # Writing

    async def _write(
        self, batch: _Batch, chunks: Chunks, *, strays: Iterable[UUID] = (), untouched: Iterable[UUID] = ()
    ) -> None:
        """Bring the index to these chunks, take all other points of the batch's subjects away, and end the jobs.

        strays: subjects that may have points which are no chunks. untouched: subjects whose points stay as they are.
        """
        if not batch.jobs:
            return
        if points := [
            point for one, found in chunks.items() for point in self._points(batch.subjects[one], found)
        ]:
            await self._index.upsert(points)
        if gone := batch.subject_ids - chunks.keys() - set(untouched):
            await self._index.delete_owners(list(gone))
        doubtful = {*strays, *(job.subject_id for job in batch.jobs if job.op == "DELETE")}
        if changed := [one for one in chunks if one in doubtful or batch.subjects[one].was_changed]:
            # A shorter text has fewer chunks: the points of the former ones go.
            keep = [chunk.chunk_id for one in changed for chunk in chunks[one]]
            await self._index.delete_owners(changed, keep=keep)
        await self._finish(batch, indexed=chunks.keys())

    def _points(self, subject: Subject, chunks: Sequence[IndexedChunk]) -> list[IndexPoint]:
        document = self._corpus.document(subject.row)
        return [
            point_of(self._corpus.space, subject.row, document, chunk, self._texts.version)
            for chunk in chunks
        ]

    async def _finish(self, batch: _Batch, *, indexed: Iterable[UUID]) -> None:
        own = dict.fromkeys(indexed, self._texts.version)
        seen: list[tuple[datetime | None, str | None]] = []
        for job in batch.jobs:
            subject = batch.subjects.get(job.subject_id)
            version = None if subject is None else own.get(job.subject_id, subject.embedding_version)
            seen.append((None if subject is None else subject.changed_at, version))
        outbox_ids = [job.outbox_id for job in batch.jobs]
        subject_ids = [job.subject_id for job in batch.jobs]

        async def finish() -> None:
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["finish_jobs"],
                    outbox_ids, subject_ids, [moment for moment, _ in seen], [version for _, version in seen],
                )  # fmt: skip

        await retrying(finish)  # workers with jobs of the same subjects meet in these rows
