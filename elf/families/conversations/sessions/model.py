"""A session: a user's name for where a line of entries ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from uuid import UUID

from elf.families.conversations.model import Entry, NewEntry

SESSION: Final = "session"

Keep: TypeAlias = Literal["all", "but_newest", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """It shows what `conversation_id` shows up to `entry_id`, and nothing where that is None. `data` is JSON."""

    session_id: str
    conversation_id: UUID
    entry_id: UUID | None
    data: str
    revision: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What of a session is kept, or behind which entry it goes on instead, and what comes then.

    `expected` is the revision that it has to have; one that `is_new` must not be there. None of `data` leaves it.
    """

    keep: Keep
    behind: str | None
    entries: Sequence[NewEntry]
    data: Mapping[str, Any] | None
    revision: str | None
    expected: str | None
    is_new: bool


class Written(NamedTuple):
    """A session as it was written, the entry that it lost if one was to go, and those it has got."""

    session: Session
    popped: Entry | None
    entry_ids: Sequence[UUID]


class Line(NamedTuple):
    """Entries, oldest first; `older` is the first of them when there are more before."""

    entries: Sequence[Entry]
    older: UUID | None
