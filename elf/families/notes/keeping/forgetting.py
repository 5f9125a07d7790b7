"""Deleting all notes of a project, or of one agent in it: what an operator does when somebody is to be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.notes.api.admin_requests import FORGET_BATCH, ForgetCount, ForgetRequest, ForgetResponse
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import Note
from elf.families.notes.writing.resolver import deletion

ACTOR: Final = "forget"


class NoteForgetting:
    """Deletes notes by whose they are, whether or not their scope may be written; `ring` is called after each batch.

    They can be restored until they are purged, as any deleted note.
    """

    def __init__(
        self,
        *,
        database: Database,
        queries: Queries,
        store: NoteStore,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        """`queries` are those of the folder sql/notes."""
        self._database = database
        self._sql = queries
        self._store = store
        self._clock = clock
        self._ring = ring

    async def count(self, request: ForgetRequest) -> ForgetCount:
        """Count the notes that are not deleted yet."""
        async with self._database.connection() as connection:
            return ForgetCount(notes=await connection.fetchval(self._sql["count_notes_of"], *_whose(request)))

    async def forget(self, request: ForgetRequest) -> ForgetResponse:
        """Delete some of the notes, or the last of them."""
        deleted = await retrying(lambda: self._delete(request))
        if deleted:
            self._ring()
        return ForgetResponse(deleted=deleted, more=deleted == FORGET_BATCH)

    async def _delete(self, request: ForgetRequest) -> int:
        now = self._clock.now()
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_notes_of"], *_whose(request), FORGET_BATCH)
            changes = [deletion(Note.from_row(row), now=now, reason="forget request") for row in rows]
            await self._store.write(connection, changes, actor=ACTOR)
        return len(changes)


def _whose(request: ForgetRequest) -> tuple[Any, ...]:
    return request.tenant_id, request.project_id, request.agent_id
