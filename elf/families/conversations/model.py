"""The words of the conversations family: levels of access, channels and bounds, as they are stored and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args
from uuid import UUID

FAMILY: Final = "conversations"

AccessLevel: TypeAlias = Literal["reader", "writer", "manager", "owner"]
Channel: TypeAlias = Literal["history", "memory"]

LEVELS: Final[tuple[AccessLevel, ...]] = get_args(AccessLevel)
"""From the least to the most."""

TITLE_CHARS: Final = 40
"""How much of a first text becomes the title of a conversation."""

PREVIEW_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as one of its members sees it. `deleted_at` is that of its tree."""

    conversation_id: UUID
    tree_id: UUID
    title: str | None
    metadata: Mapping[str, Any]
    owner_user_id: str
    access_level: AccessLevel
    forked_at_conversation_id: UUID | None
    forked_at_entry_id: UUID | None
    last_message_preview: str | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry; `conversation_id` is where it was written. `content` is JSON as it came, a list."""

    entry_id: UUID
    conversation_id: UUID
    user_id: str | None
    client_id: str | None
    channel: Channel
    epoch: int | None
    content_type: str
    content: Any
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """An entry to be written; `content` is a list of JSON values. `title` is for a conversation that has none.

    What agents remember gives neither title nor preview: these are seen by every member. `session_key` is what the
    program of a session calls it. `indexed_chars` is how much of its text it is found by, where that is not all.
    """

    channel: Channel
    content_type: str
    content: list[Any]
    user_id: str | None = None
    client_id: str | None = None
    indexed_content: str | None = None
    indexed_chars: int | None = None
    title: str | None = None
    preview: str | None = None
    session_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPoint:
    """Where a conversation forks from that is written to for the first time.

    It has what its parent shows before the entry, and nothing of it without one.
    """

    conversation_id: UUID
    entry_id: UUID | None
