"""The notes in Postgres. Every method works on the caller's connection, so the caller owns the transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

import blake3
import msgspec
from pgvector import Vector  # asyncpg would take a numpy array within an array for one more dimension

from elf.api.cursor import BEFORE_THE_NEWEST, Cursor
from elf.core.ids import NoteId
from elf.core.slices import Slices, in_slices
from elf.db.database import Connection
from elf.db.errors import Retryable, UniqueViolation
from elf.db.queries import Queries
from elf.families.notes.keeping.chunk_tokens import NOTE_CHUNK_TOKENS
from elf.families.notes.keeping.space import NOTES
from elf.families.notes.model import Context, Note
from elf.families.notes.reading.note_filter import NoteFilter
from elf.families.notes.reading.reference import thread_of
from elf.families.notes.reading.shown import ShownNote
from elf.families.notes.writing.decisions import DecisionLog
from elf.families.notes.writing.resolver import Change, Incoming, Near
from elf.index.port import Period
from elf.indexing.chunk_vectors import chunk_columns, dimensions_of, kept_values
from elf.indexing.chunks import Subject
from elf.indexing.embedding import EmbeddedText
from elf.indexing.embedding import Vector as FloatVector
from elf.indexing.fresh import FreshWrites
from elf.search.kept_tokens import token_rows
from elf.search.token_store import LONG_WORDS, TokenStore

ACTIVE_KEY_INDEX = "idx_notes_active_key"
# A page of notes or versions ends before the one whose free JSON makes it more than this, but for the first.
MAX_PAGE_BYTES = 1024 * 1024
# Without one of these tables no note is found, read or listed.
NEEDED_TO_READ = ("memory_notes", "memory_note_chunks", "note_chunk_embeddings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """Which notes a page shows: the scopes to look in, who reads, a status, and optionally a type, how the key begins,
    when they last changed and in which conversation they were said.
    """

    scopes: Sequence[str]
    reader_agent_id: str | None
    status: str
    type: str | None
    key_prefix: str | None
    updated: Period
    thread: str | None = None


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
    """The named queries of the family behind plain methods. Without `tokens`, no token vectors are kept."""

    def __init__(self, queries: Queries, fresh: FreshWrites, tokens: TokenStore | None = None) -> None:
        self._sql = queries
        self._fresh = fresh
        self._tokens = tokens

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
        limit: int,
    ) -> list[Near]:
        """Return the live notes of the group closest to the vector with their cosine similarity, the nearest first.

        Notes in `but_not` are passed over.
        """
        rows = await connection.fetch(
            self._sql["nearest_in_group"],
            context.tenant_id, context.project_id, context.agent_id, incoming.scope, incoming.type,
            embedding_version, vector, now, list(but_not), limit,
        )  # fmt: skip
        return [_near(row) for row in rows]

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

    async def get(self, connection: Connection, note_id: UUID) -> ShownNote | None:
        """Read one note."""
        row = await connection.fetchrow(self._sql["get_note"], note_id)
        return None if row is None else ShownNote.of(row)

    async def threads(self, connection: Connection, note_id: UUID) -> Sequence[str]:
        """Return the conversations in which a note was said, too."""
        return await connection.fetchval(self._sql["threads_of_note"], note_id) or ()

    async def add_sources(
        self, connection: Connection, sources: Sequence[tuple[UUID, dict[str, Any]]], now: datetime
    ) -> None:
        """Keep that notes were said elsewhere, too: the references that notes of their own would have."""
        if sources:
            await connection.execute(
                self._sql["add_note_sources"],
                [note_id for note_id, _ in sources],
                [thread_of(reference) for _, reference in sources],
                [reference for _, reference in sources],
                now,
            )

    async def drop_source(self, connection: Connection, note_id: UUID, thread: str) -> bool:
        """Remove a source of a note that is locked; tell whether it was one beside that of its reference."""
        return await connection.fetchval(self._sql["drop_note_source"], note_id, thread) is not None

    async def take_source(self, connection: Connection, note_id: UUID) -> dict[str, Any] | None:
        """Remove another source of a note that is locked, and return the reference; None where there is none."""
        found: dict[str, Any] | None = await connection.fetchval(self._sql["take_note_source"], note_id)
        return found

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
    ) -> tuple[list[ShownNote], bool]:
        """Return up to `limit` notes behind the cursor, newest first, and whether there are more behind them.

        They are fewer, too, when their references are MAX_PAGE_BYTES in all.
        """
        start = BEFORE_THE_NEWEST if after is None else after
        rows = await connection.fetch(
            self._sql["list_notes"],
            tenant_id, project_id, list(filter.scopes), filter.reader_agent_id, filter.status, filter.type,
            start.moment, start.id, now, limit, MAX_PAGE_BYTES, filter.key_prefix, filter.updated.since,
            filter.updated.before, filter.thread,
        )  # fmt: skip
        return [ShownNote.of(row) for row in rows], bool(rows) and rows[-1]["has_next"]

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
        jobs = final.values()  # in the order of the request, as they are to be done
        self._tell_of(connection, notes)
        references = _References()
        await connection.execute(
            self._sql["write_notes"],
            *await in_slices(_note_columns(notes, references)),
            *await in_slices(_version_columns(changes, actor, references)),
            [note.note_id for note in jobs],
            ["UPSERT" if note.status == "active" else "DELETE" for note in jobs],
            list(_lost_their_text(changes)),
            [note.embedding_version for note in jobs],
            *_decision_columns(log, actor),
        )

    def _tell_of(self, connection: Connection, notes: Sequence[Note]) -> None:
        for place, group in groupby(notes, lambda note: (note.tenant_id, note.project_id)):
            note_ids = [note.note_id for note in group]
            connection.after_commit(partial(self._fresh.wrote, NOTES.name, place, note_ids))

    async def write_chunks(
        self,
        connection: Connection,
        embedded: Mapping[NoteId, EmbeddedText],
        *,
        embedding_version: str,
        chunking: str,
    ) -> None:
        """Store the chunks, chunk vectors and pooled vectors of notes; where there is no pooled one, none."""
        if not embedded:
            return
        await connection.execute(
            self._sql["write_chunks"],
            *chunk_columns(embedded.items()),
            embedding_version,
            dimensions_of(embedded.values()),
            list(embedded),
            _pooled_column(embedded.values()),
            chunking,
        )
        await self._put_tokens(connection, embedded.items())

    async def keep_vectors(
        self,
        connection: Connection,
        embedded: Sequence[tuple[Subject, EmbeddedText]],
        *,
        embedding_version: str,
        chunking: str,
    ) -> dict[UUID, bool]:
        """Do as KeepsVectors says, and keep the pooled vectors and token vectors of the notes, too."""
        rows = await connection.fetch(
            self._sql["keep_vectors"],
            *kept_values(embedded, embedding_version=embedding_version, chunking=chunking),
            _pooled_column(text for _, text in embedded),
        )
        kept: dict[UUID, bool] = {row["subject_id"]: row["had_more"] for row in rows}
        await self._put_tokens(
            connection, ((NoteId(one.subject_id), text) for one, text in embedded if one.subject_id in kept)
        )
        return kept

    async def _put_tokens(
        self, connection: Connection, embedded: Iterable[tuple[NoteId, EmbeddedText]]
    ) -> None:
        if self._tokens is not None:
            await self._tokens.put(connection, NOTE_CHUNK_TOKENS, list(token_rows(embedded)))

    async def candidates(
        self,
        connection: Connection,
        *,
        chunk_ids: Sequence[UUID],
        embedding_version: str,
        context: Context,
        scopes: Sequence[str],
        now: datetime,
        filter: NoteFilter,
    ) -> list[Mapping[str, Any]]:
        """Return the rows of `read_candidates`, in no particular order."""
        version, max_words = (
            (None, 0) if self._tokens is None else (self._tokens.version, self._tokens.max_words)
        )
        return await connection.fetch(
            self._sql["read_candidates"],
            list(chunk_ids), embedding_version, context.tenant_id, context.project_id, context.agent_id,
            list(scopes), now, *filter.arguments(), version, max_words, LONG_WORDS,
        )  # fmt: skip

    async def unchanged(
        self, connection: Connection, versions: Mapping[UUID, datetime], *, now: datetime
    ) -> set[UUID]:
        """Return those of the notes that are live and were last changed at the moments given."""
        rows = await connection.fetch(
            self._sql["unchanged_notes"], list(versions), list(versions.values()), now
        )
        return {row["note_id"] for row in rows}

    async def references(self, connection: Connection, versions: Mapping[UUID, datetime]) -> dict[UUID, str]:
        """Return the references, as JSON text, of those of the notes that were last changed at the moments given."""
        rows = await connection.fetch(self._sql["read_references"], list(versions), list(versions.values()))
        return {row["note_id"]: row["source_ref"] for row in rows}

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
    return Near(NoteId(row["note_id"]), row["updated_at"], row["text"], float(row["similarity"]))


def _lock_key(context: Context, group: tuple[str, str]) -> int:
    material = "\x00".join((context.tenant_id, context.project_id, context.agent_id, *group))
    return int.from_bytes(blake3.blake3(material.encode()).digest(8), "big", signed=True)


def _write_order(note: Note) -> tuple[bool, str, str, str, UUID]:
    # Retired notes first: they make room in the unique index for the note that takes over their key.
    return (note.status == "active", note.scope, note.type, note.key or "", note.note_id)


def _pooled_column(texts: Iterable[EmbeddedText]) -> list[Vector | None]:
    return [None if (pooled := text.pooled) is None else Vector(pooled) for text in texts]


class _References:
    """References as JSON, each written once: a change has the same one up to three times."""

    def __init__(self) -> None:
        self._written: dict[int, tuple[dict[str, Any], msgspec.Raw]] = {}

    def written(self, reference: dict[str, Any]) -> msgspec.Raw:
        if id(reference) not in self._written:
            self._written[id(reference)] = (reference, msgspec.Raw(msgspec.json.encode(reference)))
        return self._written[id(reference)][1]


def _note_columns(notes: Sequence[Note], references: _References) -> Slices[list[list[Any]]]:
    names = (
        "note_id", "tenant_id", "project_id", "agent_id", "scope", "type", "key", "text", "importance", "confidence",
        "status", "created_at", "updated_at", "expires_at", "requested_ttl_days", "embedding_version",
    )  # fmt: skip
    written = []
    for note in notes:
        written.append(references.written(note.source_ref))
        yield
    return [*([getattr(note, name) for note in notes] for name in names), written]


def _version_columns(
    changes: Sequence[Change], actor: str, references: _References
) -> Slices[list[list[Any]]]:
    before, after = [], []
    for change in changes:
        before.append(None if change.before is None else _snapshot(change.before, references))
        yield
        after.append(_snapshot(change.after, references))
        yield
    return [
        [uuid4() for _ in changes],
        [change.after.note_id for change in changes],
        [change.op for change in changes],
        before,
        after,
        [change.reason for change in changes],
        [actor for _ in changes],
        [change.after.updated_at for change in changes],
    ]


def _snapshot(note: Note, references: _References) -> dict[str, Any]:
    return note.snapshot() | {"source_ref": references.written(note.source_ref)}


def _decision_columns(log: DecisionLog | None, actor: str) -> list[Any]:
    names = (
        "scope", "type", "keyed", "text_chars", "note_id", "op", "reason_code", "reason", "similarity",
        "matched_note_id", "dropped_text",
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
