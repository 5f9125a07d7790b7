"""Taking in notes that were exported, with their ids, history and times; they are indexed as new ones are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, TypeVar
from uuid import UUID, uuid5

from elf.core.clock import Clock
from elf.core.ids import NoteId
from elf.db.database import Connection, Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import Note
from elf.families.notes.reading.reference import thread_of
from elf.families.notes.subjects import exported as x
from elf.families.notes.writing.resolver import deletion
from elf.indexing.writes import CorpusWrites
from elf.taking_in import Given, by_tenant

ACTOR: Final = "import"
KEY_IS_HELD: Final = "another note holds the key"

P = TypeVar("P", bound=x.Exported)


class Intake:
    """Adds pieces, `step` a transaction or fewer large ones: notes, then their versions, then the decisions about them,
    then where else they were said.

    A piece whose note is not there is left out, and a note that is there, or was until it was purged, stays as it is.
    A note whose key another active note has comes in deleted, and its history says why. `ring` is called after each
    commit that left indexing work.
    """

    def __init__(
        self,
        database: Database,
        queries: Queries,
        store: NoteStore,
        writes: CorpusWrites,
        *,
        clock: Clock,
        ring: Callable[[], None],
        step: int,
    ) -> None:
        self._database = database
        self._sql = queries
        self._store = store
        self._writes = writes
        self._clock = clock
        self._ring = ring
        self._step = step

    async def take_in(self, given: Sequence[Given[x.Exported]]) -> int:
        """Keep pieces of whatever tenants; returns how many of them are new."""
        new = 0
        for tenant_id, some in by_tenant(given, most=self._step):
            new += await retrying(partial(self._take_in_some, tenant_id, some))
        return new

    async def _take_in_some(self, tenant_id: str, pieces: Sequence[x.Exported]) -> int:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_intake"])
            ids = NoteIds(tenant_id, await self._of_others(connection, tenant_id, pieces))
            new = await self._notes(connection, [self._note(one, ids) for one in _of(x.ExportedNote, pieces)])
            new += await self._versions(connection, tenant_id, _of(x.ExportedVersion, pieces), ids)
            new += await self._decisions(connection, tenant_id, _of(x.ExportedDecision, pieces), ids)
            return new + await self._sources(connection, tenant_id, _of(x.ExportedSource, pieces), ids)

    async def _of_others(
        self, connection: Connection, tenant_id: str, pieces: Sequence[x.Exported]
    ) -> Collection[UUID]:
        named = {one.note_id for one in pieces}
        named |= {one.matched_note_id for one in _of(x.ExportedDecision, pieces) if one.matched_note_id}
        rows = await connection.fetch(self._sql["notes_of_others"], tenant_id, list(named))
        return {row["note_id"] for row in rows}

    def _note(self, one: x.ExportedNote, ids: NoteIds) -> tuple[Note, x.ExportedNote]:
        version = self._writes.embedding_version
        return one.as_note(note_id=ids(one.note_id), embedding_version=version), one

    async def _notes(self, connection: Connection, given: Sequence[tuple[Note, x.ExportedNote]]) -> int:
        rows = await connection.fetch(self._sql["known_notes"], [note.note_id for note, _ in given])
        known = {row["note_id"] for row in rows}
        fresh = {note.note_id: (note, one) for note, one in given if note.note_id not in known}
        if not fresh:
            return 0
        columns = zip(*(_columns(note, one) for note, one in fresh.values()), strict=True)
        rows = await connection.fetch(self._sql["take_in_notes"], *map(list, columns))
        added = {row["note_id"] for row in rows}
        await self._have_indexed(connection, [note for note, _ in fresh.values() if note.note_id in added])
        await self._add_deleted(connection, [note for note, _ in fresh.values() if note.note_id not in added])
        return len(fresh)

    async def _have_indexed(self, connection: Connection, notes: Iterable[Note]) -> None:
        active = sorted((note for note in notes if note.status == "active"), key=_project)
        for place, group in groupby(active, _project):
            await self._writes.wrote(connection, place, [note.note_id for note in group])

    async def _add_deleted(self, connection: Connection, notes: Sequence[Note]) -> None:
        """Add notes that may not be active here."""
        if not notes:
            return
        now = self._clock.now()
        changes = [deletion(note, now=now, reason=KEY_IS_HELD) for note in notes]
        await self._store.write(connection, changes, actor=ACTOR)
        connection.after_commit(self._ring)

    async def _versions(
        self, connection: Connection, tenant_id: str, versions: Sequence[x.ExportedVersion], ids: NoteIds
    ) -> int:
        if not versions:
            return 0
        columns = zip(*(_version(one, ids) for one in versions), strict=True)
        return len(await connection.fetch(self._sql["take_in_versions"], tenant_id, *map(list, columns)))

    async def _decisions(
        self, connection: Connection, tenant_id: str, decisions: Sequence[x.ExportedDecision], ids: NoteIds
    ) -> int:
        if not decisions:
            return 0
        columns = zip(*(_decision(one, ids) for one in decisions), strict=True)
        return len(await connection.fetch(self._sql["take_in_decisions"], tenant_id, *map(list, columns)))

    async def _sources(
        self, connection: Connection, tenant_id: str, sources: Sequence[x.ExportedSource], ids: NoteIds
    ) -> int:
        if not sources:
            return 0
        columns = zip(
            *(
                (ids(one.note_id), thread_of(one.source_ref), one.source_ref, one.created_at)
                for one in sources
            ),
            strict=True,
        )
        return len(await connection.fetch(self._sql["take_in_note_sources"], tenant_id, *map(list, columns)))


class NoteIds:
    """The ids that notes get here: their own, or others where another tenant has them, the same each time."""

    def __init__(self, tenant_id: str, of_others: Collection[UUID]) -> None:
        self._tenant_id = tenant_id
        self._of_others = of_others

    def __call__(self, note_id: UUID) -> NoteId:
        return NoteId(uuid5(note_id, self._tenant_id) if note_id in self._of_others else note_id)

    def version(self, one: x.ExportedVersion) -> UUID:
        """Return the id of a version."""
        is_other = one.note_id in self._of_others
        return uuid5(one.version_id, self._tenant_id) if is_other else one.version_id


def _of(kind: type[P], pieces: Iterable[x.Exported]) -> list[P]:
    return [one for one in pieces if isinstance(one, kind)]


def _project(note: Note) -> tuple[str, str]:
    return note.tenant_id, note.project_id


def _columns(note: Note, one: x.ExportedNote) -> Sequence[Any]:
    return (
        note.note_id, note.tenant_id, note.project_id, note.agent_id, note.scope, note.type, note.key, note.text,
        note.importance, note.confidence, note.status, note.created_at, note.updated_at, note.expires_at,
        note.requested_ttl_days, note.embedding_version, note.source_ref, one.hit_count, one.last_hit_at,
    )  # fmt: skip


def _version(one: x.ExportedVersion, ids: NoteIds) -> Sequence[Any]:
    note_id = ids(one.note_id)
    snapshots = {name: {**snapshot, "note_id": str(note_id)} for name, snapshot in one.snapshots.items()}
    return (
        ids.version(one), note_id, one.op, snapshots.get("prev_snapshot"), snapshots.get("new_snapshot"), one.reason,
        one.actor, one.ts,
    )  # fmt: skip


def _decision(one: x.ExportedDecision, ids: NoteIds) -> Sequence[Any]:
    matched = None if one.matched_note_id is None else ids(one.matched_note_id)
    return (
        ids(one.note_id), one.ts, one.actor, one.nth, one.policy, one.scope, one.type, one.keyed, one.text_chars,
        one.op, one.reason_code, one.reason, one.similarity, matched, one.dropped_text,
    )  # fmt: skip
