"""Deleting all notes of a project, or of one agent in it: what an operator does when somebody is to be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic import Field

from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.notes import fields as f
from elf.families.notes.model import Note
from elf.families.notes.requests import Request, Response
from elf.families.notes.resolver import deletion
from elf.families.notes.store import NoteStore

ACTOR: Final = "forget"
BATCH: Final = 200


class ForgetRequest(Request):
    """Whose notes: all of a project, private ones of every agent among them; with an agent, those that it wrote."""

    tenant_id: f.TenantIdGiven
    project_id: f.ProjectIdGiven
    agent_id: f.AgentIdGiven | None = None


class ForgetCount(Response):
    notes: int = Field(description="How many notes there are that are not deleted yet.")


class ForgetResponse(Response):
    """What one request did; whoever wants all to be forgotten asks until there are no more."""

    deleted: int = Field(description=f"How many notes were deleted now, at most {BATCH}.")
    more: bool = Field(description="Whether there may be more of them.")


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
        return ForgetResponse(deleted=deleted, more=deleted == BATCH)

    async def _delete(self, request: ForgetRequest) -> int:
        now = self._clock.now()
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_notes_of"], *_whose(request), BATCH)
            changes = [deletion(Note.from_row(row), now=now, reason="forget request") for row in rows]
            await self._store.write(connection, changes, actor=ACTOR)
        return len(changes)


def _whose(request: ForgetRequest) -> tuple[Any, ...]:
    return request.tenant_id, request.project_id, request.agent_id
