"""Entries that were found, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

MOST: Final = 1000
"""How deep a search goes."""


class Hit(NamedTuple):
    """An entry with its score, 0 to 1, and the part of its text that says why, if that is known."""

    entry_id: UUID
    conversation_id: UUID
    said_at: datetime
    score: float
    passage: str | None = None

    @property
    def order(self) -> tuple[float, datetime, UUID]:
        """The greater, the better; equal scores are in favour of what was said later."""
        return self.score, self.said_at, self.entry_id


class Hits(NamedTuple):
    """A page, whether more follow, and the parts of the service that could not help."""

    page: Sequence[Hit]
    has_more: bool
    degraded: Sequence[str] = ()


def best_of_each(hits: Iterable[Hit], *, grouped: bool) -> list[Hit]:
    """Return the best hit of each entry, or of each conversation; `hits` are in their order, the best first."""
    best: dict[UUID, Hit] = {}
    for hit in hits:
        best.setdefault(hit.conversation_id if grouped else hit.entry_id, hit)
    return list(best.values())
