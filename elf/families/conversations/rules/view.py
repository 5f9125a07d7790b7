"""What a conversation shows of the entries of its tree: ranges of its ancestors' entries, and its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID


class Range(NamedTuple):
    """The entries of a conversation from the first to number `end`; None: to the last, whatever comes."""

    conversation_id: UUID
    end: int | None


class Place(NamedTuple):
    """An entry by where it was written, and its number there, from 1."""

    conversation_id: UUID
    seq: int


View = Sequence[Range]


def view_of(conversation_id: UUID, ancestors: Sequence[UUID], ends: Sequence[int]) -> list[Range]:
    """Return the ranges that a conversation shows, in their order."""
    past = [Range(id, end) for id, end in zip(ancestors, ends, strict=True)]
    return [*past, Range(conversation_id, None)]


def shows(view: View, place: Place) -> bool:
    """Tell whether a view has an entry."""
    return any(
        one.conversation_id == place.conversation_id and (one.end is None or place.seq <= one.end)
        for one in view
    )


def before(view: View, place: Place) -> list[Range]:
    """Return the ranges of a fork at an entry of a view: all that comes before it."""
    return _cut(view, place.conversation_id, place.seq - 1)


def through(view: View, place: Place) -> list[Range]:
    """Return the ranges of a fork behind an entry of a view: all up to it, itself included."""
    return _cut(view, place.conversation_id, place.seq)


def _cut(view: View, conversation_id: UUID, end: int) -> list[Range]:
    index = next(index for index, one in enumerate(view) if one.conversation_id == conversation_id)
    last = [Range(conversation_id, end)] if end > 0 else []
    return [*view[:index], *last]


def last_place(ranges: Sequence[Range]) -> Place | None:
    """Return the last entry of closed ranges, none of which is empty."""
    if not ranges:
        return None
    assert ranges[-1].end is not None, "what is cut has an end"
    return Place(ranges[-1].conversation_id, ranges[-1].end)


def behind(view: View, place: Place) -> list[tuple[Range, int]]:
    """Return the ranges behind an entry of a view, each with the number of the last entry that is not behind it."""
    index = next(index for index, one in enumerate(view) if one.conversation_id == place.conversation_id)
    return [(view[index], place.seq), *((one, 0) for one in view[index + 1 :])]
