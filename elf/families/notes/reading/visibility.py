"""Which notes a request may see and change. A note outside the context given is not found, never forbidden."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from elf.core.errors import NotFound, ScopeDenied
from elf.core.scopes import AGENT_PRIVATE, Readable, ScopeRules, is_readable
from elf.families.notes.api.requests import GetNoteRequest
from elf.families.notes.model import Context, Note
from elf.families.notes.reading.shown import ShownNote

Shown = TypeVar("Shown", Note, ShownNote)


def check_readable(note: Shown | None, request: GetNoteRequest, readable: Readable) -> Shown:
    """Return the note. Raises NotFound when there is none, or it is not within the context or the readable scopes."""
    if note is None or not _may_read(note, request, readable):
        raise not_found(request.note_id)
    return note


def check_visible(note: Shown | None, note_id: UUID, context: Context, readable: Readable) -> Shown:
    """Return the note. Raises NotFound when there is none, or the speaker of the context does not see it."""
    if note is None or not is_within(note, context, readable):
        raise not_found(note_id)
    return note


def check_writable(
    note: Note | None, note_id: UUID, context: Context, scopes: ScopeRules, readable: Readable
) -> Note:
    """Return the note. Raises NotFound as `check_readable` does, ScopeDenied when its scope may not be written."""
    found = check_visible(note, note_id, context, readable)
    if not scopes.is_writable(found.scope):
        raise ScopeDenied(f"the scope {found.scope} may not be written")
    return found


def is_within(note: Note | ShownNote, context: Context, readable: Readable) -> bool:
    """Tell whether the speaker of a context, who may read these scopes, sees the note at all."""
    if not is_readable(note.scope, readable):
        return False
    same_project = (note.tenant_id, note.project_id) == (context.tenant_id, context.project_id)
    return same_project and (note.scope != AGENT_PRIVATE or note.agent_id == context.agent_id)


def not_found(note_id: UUID) -> NotFound:
    return NotFound(f"there is no note {note_id} in this context", fields=["$.note_id"])


def _may_read(note: Note | ShownNote, request: GetNoteRequest, readable: Readable) -> bool:
    if not is_readable(note.scope, readable):
        return False
    asked = (request.tenant_id, request.project_id, request.agent_id)
    if note.scope == AGENT_PRIVATE:
        return asked == (note.tenant_id, note.project_id, note.agent_id)
    # The id of a shared note is the capability; what is said of its place must be right.
    return asked[0] in (None, note.tenant_id) and asked[1] in (None, note.project_id)
