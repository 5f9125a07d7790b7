"""Identifiers: their types, the rule that names a chunk, and how an id stands in a path."""

from __future__ import annotations

from typing import NewType
from uuid import UUID, uuid4, uuid5

from elf.core.errors import InvalidRequest

NoteId = NewType("NoteId", UUID)
ChunkId = NewType("ChunkId", UUID)


def new_note_id() -> NoteId:
    """Return a fresh random note id."""
    return NoteId(uuid4())


def chunk_id_for(subject_id: UUID, chunk_index: int) -> ChunkId:
    """Return a chunk's id: UUIDv5 of the id of what it is cut from and the index, so the same place keeps its id."""
    return ChunkId(uuid5(subject_id, str(chunk_index)))


def id_in_path(value: object, *, name: str) -> str:
    """Return an id as a part of a path: hex digits and hyphens, so that the path leads where it is meant to.

    Servers decode a path before they look where it leads, so no encoding would make other text harmless. Raises
    InvalidRequest, naming the field `name`, for what is no id.
    """
    try:
        return str(value if isinstance(value, UUID) else UUID(str(value)))
    except ValueError:
        raise InvalidRequest(f"$.{name}: should be a valid UUID", fields=[f"$.{name}"]) from None
