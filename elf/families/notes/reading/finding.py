"""What of the candidates for a query is so: rows that Postgres vouches for, and the references of their notes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from elf.db.database import Database
from elf.families.notes.keeping.space import NOTES
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.reading.ask import NoteAsk
from elf.families.notes.reading.ranking import FoundChunk
from elf.families.notes.reading.revalidation import Revalidation
from elf.index.port import IndexQuery, QueryResult
from elf.indexing.fresh import FreshWrites
from elf.search.retrieve import Ask, CandidateRetrieval, Retrieved
from elf.search.stages import Stages
from elf.search.trace import DroppedCandidate, dropped

Exactly = Callable[[Sequence[IndexQuery], NoteAsk], Awaitable[list[QueryResult]]]
"""Answers queries as the index would, from Postgres."""


class NoteFinding:
    """Finds chunks of notes. `reads` may be a replica of `database`."""

    def __init__(
        self,
        *,
        database: Database,
        reads: Database,
        store: NoteStore,
        retrieval: CandidateRetrieval,
        exactly: Exactly,
        fresh: FreshWrites,
    ) -> None:
        self._database = database
        self._revalidation = Revalidation(database=database, reads=reads, store=store)
        self._store = store
        self.retrieval = retrieval
        self._exactly = exactly
        self._fresh = fresh

    def candidates(self, ask: NoteAsk) -> Ask:
        """Return what is asked of the retrieval."""
        project = (ask.context.tenant_id, ask.context.project_id)
        return Ask(
            query=ask.query,
            where=ask.where,
            limit=ask.candidate_k,
            settled=partial(self._fresh.settled, NOTES.name, project),
            exactly=lambda queries: self._exactly(queries, ask),
        )

    async def vouched(
        self, retrieved: Retrieved, ask: NoteAsk, stages: Stages
    ) -> tuple[list[FoundChunk], dict[UUID, DroppedCandidate]]:
        """Return the candidates that Postgres vouches for, by rank, and by chunk those that the filter drops."""
        if not retrieved.candidates:
            return [], {}
        by_id = {candidate.point_id: candidate for candidate in retrieved.candidates}
        with stages.stage("revalidate"):
            rows = await self._revalidation.rows(
                list(by_id), ask, embedding_version=self.retrieval.embedding_version
            )
        unmet = {row["chunk_id"]: row["unmet"] for row in rows if row["unmet"] is not None}
        found = [FoundChunk.of(row, by_id[row["chunk_id"]]) for row in rows if row["unmet"] is None]
        return sorted(found, key=lambda chunk: chunk.candidate.rank), {
            chunk_id: dropped(by_id[chunk_id], "FILTERED", filter=name) for chunk_id, name in unmet.items()
        }

    async def references(self, rows: Iterable[Mapping[str, Any]], stages: Stages) -> Mapping[UUID, str]:
        """Return the references, as JSON text, of the notes of rows.

        That of a note which has just changed or gone is missing. The rows leave large ones out. Those are the
        primary's: a replica may have the reference of a former text.
        """
        references: dict[UUID, str] = {}
        large: dict[UUID, datetime] = {}
        for row in rows:
            if row["source_ref"] is None:
                large[row["note_id"]] = row["updated_at"]
            else:
                references[row["note_id"]] = row["source_ref"]
        if not large:
            return references
        with stages.stage("references"):
            async with self._database.connection() as connection:
                return references | await self._store.references(connection, large)
