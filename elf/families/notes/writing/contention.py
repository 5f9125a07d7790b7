"""What writers compete for: names of things that Postgres lets one transaction write at a time."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from elf.families.notes.model import Context
from elf.families.notes.writing.resolver import Incoming


def places_of(context: Context, incoming: Iterable[Incoming]) -> set[str]:
    """Name what decides about incoming notes: the key of each, or without one the group it is compared within."""
    own = (context.tenant_id, context.project_id, context.agent_id)
    return {"\x00".join((*own, *note.group, *([] if note.key is None else [note.key]))) for note in incoming}


def place_of(note_id: UUID) -> set[str]:
    """Name the row of a stored note."""
    return {str(note_id)}
