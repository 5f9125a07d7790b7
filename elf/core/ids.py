"""Identifiers: their types, the rule that names a chunk, and how an id stands in a path."""

from __future__ import annotations

import json
from typing import NewType
from urllib.parse import quote
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


def text_in_path(value: object, *, name: str) -> str:
    """Return a value as one part of a path, so that the path leads where it is meant to.

    What is no text is written as JSON, and an id as its text. Raises InvalidRequest, naming the field `name`, for what
    is missing, and for text that would be another part of the path, or none.
    """
    if value is None or value == "":
        raise InvalidRequest(f"$.{name}: is missing", fields=[f"$.{name}"])
    text = str(value) if isinstance(value, str | UUID) else json.dumps(value)
    # Such a part is left out on the way, also where slashes are encoded.
    if not {".", ".."}.isdisjoint(text.split("/")):
        raise InvalidRequest(f"$.{name}: cannot stand in a path", fields=[f"$.{name}"])
    return quote(text, safe="", errors="surrogatepass")
