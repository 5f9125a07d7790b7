"""The opaque cursor of a listing: where a page ended, readable by this service only, and good for that listing only."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import blake3
import msgspec

from elf.core.errors import InvalidRequest

MARK_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended: the moment that its last item is listed by, and its id."""

    moment: datetime
    id: UUID


BEFORE_THE_OLDEST: Final = Cursor(datetime.min.replace(tzinfo=UTC), UUID(int=0))
BEFORE_THE_NEWEST: Final = Cursor(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


def encode_cursor(moment: datetime, id: UUID, *of: str | None) -> str:
    """Return the cursor behind what has this moment and id, in a listing in the order of both.

    `of` says which listing it is, such as its name and whose it is; it cannot be read from the cursor.
    """
    return sealed(f"{moment.isoformat()}|{id}", *of)


def decode_cursor(text: str, *of: str | None) -> Cursor:
    """Read a cursor of a listing. Raises InvalidRequest naming the field when it is not one of ours, or of another."""
    try:
        text_of_moment, id = unsealed(text, *of).split("|")
        moment = datetime.fromisoformat(text_of_moment)
        if moment.tzinfo is None:
            raise ValueError("the moment has no time zone")
        return Cursor(moment.astimezone(UTC), UUID(id))
    except (ValueError, OverflowError) as error:  # OverflowError: outside of the years 1 to 9999 in UTC
        raise InvalidRequest(
            "the cursor is not one that this listing returned in this context", fields=["$.cursor"]
        ) from error


def sealed(place: str, *of: object) -> str:
    """Return the cursor behind a place in a listing, of which `of` says, in JSON's values, which it is."""
    return base64.urlsafe_b64encode(f"{place}|{_mark(of)}".encode()).decode().rstrip("=")


def unsealed(text: str, *of: object) -> str:
    """Return the place in a cursor. Raises ValueError when it is not one of ours, or of another listing."""
    padded = text.encode("ascii") + b"=" * (-len(text) % 4)
    place, _, mark = base64.b64decode(padded, altchars=b"-_", validate=True).decode().rpartition("|")
    if mark != _mark(of):
        raise ValueError("it is of another listing")
    return place


def _mark(of: tuple[object, ...]) -> str:
    return blake3.blake3(msgspec.json.encode(of)).hexdigest(MARK_BYTES)
