"""Identifiers: their types, and the rule that names a chunk."""

from __future__ import annotations

from typing import NewType
from uuid import UUID, uuid4, uuid5

NoteId = NewType("NoteId", UUID)
ChunkId = NewType("ChunkId", UUID)


def new_note_id() -> NoteId:
    """Return a fresh random note id."""
    return NoteId(uuid4())


def chunk_id_for(note_id: NoteId, chunk_index: int) -> ChunkId:
    """Return a chunk's id: UUIDv5 of the note id and the index, so the same place keeps its id."""
    return ChunkId(uuid5(note_id, str(chunk_index)))
