"""How notes end (section 11): expiry, purges, and what the audit need not keep.

An expired or deleted note can still be read in its history and be restored. A purge ends that: nothing of the note
stays but its versions, and those without a word of what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from elf.db.database import Connection, Database
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import FAMILY, Note
from elf.families.notes.writing.resolver import deletion, next_moment

ACTOR: Final = "gc"
EXPIRED: Final = "expired"
DECISIONS_WITHOUT_NOTE_KEPT: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class LifecycleRules:
    """After how many days deleted and deprecated notes are purged; 0 is never."""

    purge_deleted_after_days: int
    purge_deprecated_after_days: int


class NoteLifecycle:
    """The steps of a collection over the notes family; `ring` is called after each batch that left indexing work."""

    def __init__(
        self,
        *,
        database: Database,
        queries: Queries,
        store: NoteStore,
        rules: LifecycleRules,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._sql = queries
        self._store = store
        self._rules = rules
        self._ring = ring

    def steps(self) -> list[GarbageStep]:
        """Return the steps in the order in which they must run: a note that expires may then be purged."""
        steps = [GarbageStep(FAMILY, "expired_notes", self._expire)]
        if self._rules.purge_deleted_after_days:
            steps.append(GarbageStep(FAMILY, "purged_deleted_notes", self._purge_deleted))
        if self._rules.purge_deprecated_after_days:
            steps.append(GarbageStep(FAMILY, "purged_deprecated_notes", self._purge_deprecated))
        return [*steps, GarbageStep(FAMILY, "old_decisions", self._drop_old_decisions)]

    async def _expire(self, now: datetime, limit: int) -> int:
        async with self._database.transaction() as connection:
            notes = await self._locked(connection, "lock_expired_notes", now, limit)
            changes = [deletion(note, now=now, reason=EXPIRED) for note in notes]
            await self._store.write(connection, changes, actor=ACTOR)
        return self._rung(len(notes))

    async def _purge_deleted(self, now: datetime, limit: int) -> int:
        days = self._rules.purge_deleted_after_days
        return await self._purge("lock_long_deleted_notes", days, f"deleted for {days} days", now, limit)

    async def _purge_deprecated(self, now: datetime, limit: int) -> int:
        days = self._rules.purge_deprecated_after_days
        return await self._purge(
            "lock_long_deprecated_notes", days, f"deprecated and not found for {days} days", now, limit
        )

    async def _purge(self, lock: str, days: int, reason: str, now: datetime, limit: int) -> int:
        async with self._database.transaction() as connection:
            notes = await self._locked(connection, lock, now - timedelta(days=days), limit)
            if notes:
                await connection.execute(
                    self._sql["purge_notes"],
                    [note.note_id for note in notes],
                    [next_moment(note, now) for note in notes],
                    [note.snapshot() for note in notes],
                    [note.embedding_version for note in notes],
                    {"text": "", "key": None, "source_ref": {}},  # what the writer wrote
                    reason,
                    ACTOR,
                )
        return self._rung(len(notes))

    async def _locked(
        self, connection: Connection, query: str, before: datetime, limit: int
    ) -> Sequence[Note]:
        return [Note.from_row(row) for row in await connection.fetch(self._sql[query], before, limit)]

    def _rung(self, notes: int) -> int:
        if notes:
            self._ring()
        return notes

    async def _drop_old_decisions(self, now: datetime, limit: int) -> int:
        before = now - DECISIONS_WITHOUT_NOTE_KEPT
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_old_decisions"], before, limit))
