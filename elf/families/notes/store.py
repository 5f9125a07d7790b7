"""The notes in Postgres. Every method works on the caller's connection, so the caller owns the transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

import blake3
from pgvector import Vector  # asyncpg would take a numpy array within an array for one more dimension

from elf.core.ids import NoteId, chunk_id_for
from elf.db.database import Connection
from elf.db.errors import Retryable, UniqueViolation
from elf.db.queries import Queries
from elf.families.notes.decisions import DecisionLog
from elf.families.notes.embedding import EmbeddedText
from elf.families.notes.embedding import Vector as FloatVector
from elf.families.notes.freshness import FreshWrites, Project
from elf.families.notes.model import Context, Note
from elf.families.notes.resolver import Change, Incoming

ACTIVE_KEY_INDEX = "idx_notes_active_key"
# Without one of these tables no note is found, read or listed.
NEEDED_TO_READ = ("memory_notes", "memory_note_chunks", "note_chunk_embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """Which notes a page shows: the scopes to look in, who reads, a status, and optionally a type."""

    scopes: Sequence[str]
    reader_agent_id: str | None
    status: str
    type: str | None


@dataclass(frozen=True, slots=True)
class Near:
    """A stored note close to an incoming one, as it was when they were compared."""

    note_id: NoteId
    updated_at: datetime
    similarity: float


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended."""

    updated_at: datetime
    note_id: UUID


BEFORE_THE_NEWEST = Cursor(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


@contextmanager
def meeting_writers() -> Iterator[None]:
    """Make the loser of a race for a new key run again: then it finds the winner's note."""
    try:
        yield
    except UniqueViolation as error:
        if error.constraint != ACTIVE_KEY_INDEX:
            raise
        raise Retryable("another writer stored a note with this key at the same moment") from error


class NoteStore:
    """The named queries of the family behind plain methods."""

    def __init__(self, queries: Queries, fresh: FreshWrites) -> None:
        self._sql = queries
        self._fresh = fresh

    async def lock_groups(
        self, connection: Connection, context: Context, groups: Iterable[tuple[str, str]]
    ) -> None:
        """Serialise writers of these (scope, type) groups of one agent until the transaction ends."""
        keys = sorted({_lock_key(context, group) for group in groups})
        if keys:
            await connection.execute(self._sql["lock_groups"], keys)

    async def lock_by_key(
        self, connection: Connection, context: Context, keys: Iterable[tuple[str, str, str]]
    ) -> list[Note]:
        """Lock the active notes that hold these (scope, type, key) triples of one agent."""
        wanted = sorted(set(keys))
        if not wanted:
            return []
        scopes, types, names = zip(*wanted, strict=True)
        rows = await connection.fetch(
            self._sql["lock_notes_by_key"],
            context.tenant_id, context.project_id, context.agent_id, list(scopes), list(types), list(names),
        )  # fmt: skip
        return [Note.from_row(row) for row in rows]

    async def nearest(
        self,
        connection: Connection,
        context: Context,
        incoming: Incoming,
        *,
        vector: FloatVector,
        embedding_version: str,
        now: datetime,
        but_not: Iterable[NoteId],
    ) -> Near | None:
        """Return the live note of the group closest to the vector with its cosine similarity, or None.

        Notes in `but_not` are passed over.
        """
        row = await connection.fetchrow(
            self._sql["nearest_in_group"],
            context.tenant_id, context.project_id, context.agent_id, incoming.scope, incoming.type,
            embedding_version, vector, now, list(but_not),
        )  # fmt: skip
        return None if row is None else _near(row)

    async def same_text(
        self,
        connection: Connection,
        context: Context,
        incoming: Incoming,
        *,
        now: datetime,
        but_not: Iterable[NoteId],
    ) -> Near | None:
        """Return a live note of the group with exactly the incoming text, or None; as `nearest` otherwise."""
        row = await connection.fetchrow(
            self._sql["same_text_in_group"],
            context.tenant_id, context.project_id, context.agent_id, incoming.scope, incoming.type,
            incoming.text, now, list(but_not),
        )  # fmt: skip
        return None if row is None else _near(row)

    async def lock(self, connection: Connection, note_id: UUID) -> Note | None:
        """Read and lock one note."""
        row = await connection.fetchrow(self._sql["lock_note"], note_id)
        return None if row is None else Note.from_row(row)

    async def get(self, connection: Connection, note_id: UUID) -> Note | None:
        """Read one note."""
        row = await connection.fetchrow(self._sql["get_note"], note_id)
        return None if row is None else Note.from_row(row)

    async def page(
        self,
        connection: Connection,
        *,
        tenant_id: str,
        project_id: str,
        filter: ListFilter,
        after: Cursor | None,
        now: datetime,
        limit: int,
    ) -> list[Note]:
        """Return up to `limit` notes behind the cursor, newest first."""
        start = BEFORE_THE_NEWEST if after is None else after
        rows = await connection.fetch(
            self._sql["list_notes"],
            tenant_id, project_id, list(filter.scopes), filter.reader_agent_id, filter.status, filter.type,
            start.updated_at, start.note_id, now, limit,
        )  # fmt: skip
        return [Note.from_row(row) for row in rows]

    async def write(
        self,
        connection: Connection,
        changes: Sequence[Change],
        *,
        actor: str,
        log: DecisionLog | None = None,
    ) -> None:
        """Store the outcome of changes: final notes, one version a change, one indexing job a note; and decisions."""
        if not changes and log is None:
            return
        final = {change.after.note_id: change.after for change in changes}
        notes = sorted(final.values(), key=_write_order)
        jobs = [(note.note_id, "UPSERT" if note.status == "active" else "DELETE") for note in notes]
        for project, group in groupby(notes, lambda note: Project(note.tenant_id, note.project_id)):
            self._fresh.wrote(project, [note.note_id for note in group])
        await connection.execute(
            self._sql["write_notes"],
            *_note_columns(notes),
            *_version_columns(changes, actor),
            [job[0] for job in jobs],
            [job[1] for job in jobs],
            list(_lost_their_text(changes)),
            [note.embedding_version for note in notes],
            *_decision_columns(log, actor),
        )

    async def write_chunks(
        self, connection: Connection, embedded: Mapping[NoteId, EmbeddedText], *, embedding_version: str
    ) -> None:
        """Store the chunks, chunk vectors and pooled vectors of notes."""
        if not embedded:
            return
        await connection.execute(
            self._sql["write_chunks"],
            *_chunk_columns(embedded.items()),
            embedding_version,
            _dimensions(embedded.values()),
            list(embedded),
            [Vector(text.pooled) for text in embedded.values()],
        )

    async def keep_vectors(
        self,
        connection: Connection,
        embedded: Sequence[tuple[Note, EmbeddedText]],
        *,
        embedding_version: str,
    ) -> set[NoteId]:
        """Store the chunks and vectors of those notes that are still as given, and return their ids."""
        rows = await connection.fetch(
            self._sql["keep_vectors"],
            [note.note_id for note, _ in embedded],
            [note.updated_at for note, _ in embedded],
            [len(text.chunks) for _, text in embedded],
            *_chunk_columns((note.note_id, text) for note, text in embedded),
            [Vector(text.pooled) for _, text in embedded],
            embedding_version,
            _dimensions(text for _, text in embedded),
        )
        return {NoteId(row["note_id"]) for row in rows}

    async def candidates(
        self,
        connection: Connection,
        *,
        chunk_ids: Sequence[UUID],
        embedding_version: str,
        context: Context,
        scopes: Sequence[str],
        now: datetime,
    ) -> list[Mapping[str, Any]]:
        """Return the rows of `read_candidates`, in no particular order."""
        return await connection.fetch(
            self._sql["read_candidates"],
            list(chunk_ids), embedding_version, context.tenant_id, context.project_id, context.agent_id,
            list(scopes), now,
        )  # fmt: skip

    async def record_hits(
        self,
        connection: Connection,
        hits: Sequence[tuple[UUID, UUID, int, float]],
        *,
        query_hash: str,
        now: datetime,
    ) -> None:
        """Count one hit for each (note_id, chunk_id, rank, final_score)."""
        columns: list[list[Any]] = [list(column) for column in zip(*hits, strict=True)]
        await connection.execute(self._sql["record_hits"], *columns, query_hash, now)


def _near(row: Mapping[str, Any]) -> Near:
    return Near(NoteId(row["note_id"]), row["updated_at"], float(row["similarity"]))


def _lock_key(context: Context, group: tuple[str, str]) -> int:
    material = "\x00".join((context.tenant_id, context.project_id, context.agent_id, *group))
    return int.from_bytes(blake3.blake3(material.encode()).digest(8), "big", signed=True)


def _write_order(note: Note) -> tuple[bool, str, str, str, UUID]:
    # Retired notes first: they make room in the unique index for the note that takes over their key.
    return (note.status == "active", note.scope, note.type, note.key or "", note.note_id)


def _chunk_columns(embedded: Iterable[tuple[NoteId, EmbeddedText]]) -> list[list[Any]]:
    flat = [
        (chunk_id_for(note_id, chunk.index), note_id, chunk, vector)
        for note_id, text in embedded
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


def _dimensions(texts: Iterable[EmbeddedText]) -> int:
    return int(next(iter(texts)).vectors.shape[1])


def _note_columns(notes: Sequence[Note]) -> list[list[Any]]:
    names = (
        "note_id", "tenant_id", "project_id", "agent_id", "scope", "type", "key", "text", "importance", "confidence",
        "status", "created_at", "updated_at", "expires_at", "requested_ttl_days", "embedding_version", "source_ref",
    )  # fmt: skip
    return [[getattr(note, name) for note in notes] for name in names]


def _version_columns(changes: Sequence[Change], actor: str) -> list[list[Any]]:
    return [
        [uuid4() for _ in changes],
        [change.after.note_id for change in changes],
        [change.op for change in changes],
        [None if change.before is None else change.before.snapshot() for change in changes],
        [change.after.snapshot() for change in changes],
        [change.reason for change in changes],
        [actor for _ in changes],
        [change.after.updated_at for change in changes],
    ]


def _decision_columns(log: DecisionLog | None, actor: str) -> list[Any]:
    names = (
        "scope", "type", "keyed", "text_chars", "note_id", "op", "reason_code", "reason", "similarity",
        "matched_note_id",
    )  # fmt: skip
    if log is None:
        return [None] * 6 + [[] for _ in names]
    context = log.context
    common = [context.tenant_id, context.project_id, context.agent_id, actor, log.now, log.policy]
    return common + [[getattr(decision, name) for decision in log.decisions] for name in names]


def _lost_their_text(changes: Sequence[Change]) -> set[NoteId]:
    return {
        change.after.note_id
        for change in changes
        if change.before is not None
        and (change.before.text != change.after.text or change.after.status != "active")
    }
