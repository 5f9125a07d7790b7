"""The opaque cursor of a listing: where a page ended, readable by this service only."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from uuid import UUID

from elf.core.errors import InvalidRequest
from elf.families.notes.keeping.store import Cursor
from elf.families.notes.reading.shown import ShownNote


def encode_cursor(note: ShownNote) -> str:
    """Return the cursor behind a note."""
    return encode_place(note.updated_at, note.note_id)


def encode_place(moment: datetime, id: UUID) -> str:
    """Return the cursor behind what has this moment and id, in a listing in the order of both."""
    text = f"{moment.isoformat()}|{id}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(text: str) -> Cursor:
    """Read a cursor. Raises InvalidRequest naming the field when it is not one of ours."""
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        moment, _, note_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition("|")
        updated_at = datetime.fromisoformat(moment)
        if updated_at.tzinfo is None:
            raise ValueError("the moment has no time zone")
        return Cursor(updated_at.astimezone(UTC), UUID(note_id))
    except (ValueError, OverflowError) as error:  # OverflowError: outside of the years 1 to 9999 in UTC
        raise InvalidRequest("the cursor is not one that a listing returned", fields=["$.cursor"]) from error
