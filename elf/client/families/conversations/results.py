"""What the service answers of conversations, as frozen structs. Times are aware datetimes, ids are UUIDs.

What the wire leaves out is None. Fields that a newer service adds are passed over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from msgspec import Struct

from elf.client.json_value import JsonValue
from elf.client.results import Page

AccessLevel: TypeAlias = Literal["reader", "writer", "manager", "owner"]
Channel: TypeAlias = Literal["history", "memory"]


class Conversation(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation; `access_level` is what the caller may do in it.

    A list does not tell where it was forked. `deleted_at` is told to operators alone.
    """

    id: UUID
    title: str | None = None
    owner_user_id: str
    created_at: datetime
    updated_at: datetime
    last_message_preview: str | None = None
    access_level: AccessLevel
    forked_at_entry_id: UUID | None = None
    forked_at_conversation_id: UUID | None = None
    deleted_at: datetime | None = None


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """Something said, or remembered by an agent: then it has an `epoch`. `conversation_id` is where it was written.

    `client_id` is told to operators alone. `indexed_chars` is how many characters of its text it is found by, where it
    was written just now, and these are not all.
    """

    id: UUID
    conversation_id: UUID
    user_id: str | None = None
    client_id: str | None = None
    channel: Channel
    epoch: int | None = None
    content_type: str
    content: list[JsonValue]
    created_at: datetime
    indexed_chars: int | None = None


class Synced(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is remembered now: its epoch, None where nothing ever was. `entry` is what was written, if anything."""

    epoch: int | None = None
    no_op: bool
    epoch_incremented: bool
    entry: Entry | None


class Context(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the next call of an agent's model needs, oldest first; `truncated` when older entries did not fit.

    It is the agent's memory, of the latest `epoch`, or for one that remembers nothing the history.
    """

    source: Literal["memory", "history"]
    epoch: int | None = None
    entries: list[Entry]
    truncated: bool


class Session(Struct, frozen=True, kw_only=True, rename="camel"):
    """A user's name for where a line of entries ends; `data` is what a program keeps beside it.

    `conversation_id` shows the line, and may show more; `newest_entry_id` is None for a line without entries.
    """

    id: str
    conversation_id: UUID
    newest_entry_id: UUID | None = None
    data: dict[str, JsonValue]
    revision: str
    created_at: datetime
    updated_at: datetime


class ShownSession(Session, frozen=True, kw_only=True, rename="camel"):
    """A session with its newest entries, oldest first; `next_cursor` leads to older ones."""

    entries: list[Entry]
    next_cursor: UUID | None


class Line(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some entries of a line, oldest first; `next_cursor` leads to older ones."""

    entries: list[Entry]
    next_cursor: UUID | None


class WrittenSession(Session, frozen=True, kw_only=True, rename="camel"):
    """A session as it was written, the entry that it lost, and the ids of those it has got."""

    popped: Entry | None
    entry_ids: list[UUID]


class Fork(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation of a tree, by where it was forked; the root was not."""

    conversation_id: UUID
    forked_at_entry_id: UUID | None = None
    forked_at_conversation_id: UUID | None = None
    title: str | None = None
    created_at: datetime


class Membership(Struct, frozen=True, rename="camel"):
    """What a user may do in a conversation and its forks."""

    conversation_id: UUID
    user_id: str
    access_level: AccessLevel
    created_at: datetime


class Transfer(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation that is to be another user's."""

    id: UUID
    conversation_id: UUID
    conversation_title: str | None = None
    from_user_id: str
    to_user_id: str
    created_at: datetime


class SearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """An entry that was found. `score` is 0 to 1, to be compared within one page; hits in `highlights` are in **."""

    conversation_id: UUID
    conversation_title: str | None = None
    entry_id: UUID
    score: float
    highlights: str | None = None
    entry: Entry | None = None


class SearchPage(Page[SearchResult], frozen=True):
    """A page of results. `degraded` names what could not help with it, such as the index."""

    degraded: tuple[str, ...] = ()


class UnindexedEntry(Struct, frozen=True, rename="camel"):
    """An entry that has no text to be found by."""

    conversation_id: UUID
    entry: Entry


class Indexed(Struct, frozen=True):
    """How many entries have got their text."""

    indexed: int


class Erased(Struct, frozen=True):
    """How much of each kind was erased; a kind of which there was nothing is left out."""

    erased: dict[str, int]


class EvictionProgress(Struct, frozen=True):
    """How much of what is to vanish has vanished, in percent."""

    progress: int
