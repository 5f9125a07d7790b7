"""Entries of conversations: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import Forbidden, NotFound
from elf.families.conversations.api import fields as f
from elf.families.conversations.api.conversations import ONE, TAG
from elf.families.conversations.errors import STYLE
from elf.families.conversations.model import Channel


class ListEntries(f.OneConversation, f.Paged):
    """Which entries of a conversation: by channel, and of memory by epoch."""

    channel: f.Channel | None = None
    epoch: f.Epoch | None = None
    limit: f.Limit = 50
    forks: Literal["none", "all"] = Field(
        default="none", description="all: of every conversation of the tree, whatever this one shows."
    )


class CreateEntry(f.OneConversation):
    """An entry. A conversation that is not there yet begins with it, maybe as a fork of another."""

    userId: f.UserId | None = None
    channel: f.Channel | None = None
    contentType: f.ContentType
    content: f.Content
    indexedContent: f.IndexedContent | None = None
    forkedAtConversationId: UUID | None = Field(
        default=None,
        description="Begin a new conversation as a fork of this one; ignored if the conversation exists.",
    )
    forkedAtEntryId: UUID | None = Field(
        default=None,
        description="The entry to fork at: the fork has the entries before it, not the entry itself. Without it, the"
        " fork has no entries of the other conversation.",
    )


class SyncEntries(CreateEntry):
    """All that an agent remembers of a conversation."""


class Entry(Response):
    """An entry. What it does not have is left out."""

    id: UUID
    conversationId: UUID = Field(description="Where it was written.")
    userId: str | None = None
    channel: Channel
    epoch: int | None = None
    contentType: str
    content: list[Any]
    createdAt: datetime
    indexedChars: int | None = Field(
        default=None,
        description="How many characters of its text it is found by, from the first on: where it was written just now,"
        " and these are not all.",
    )


class EntryPage(f.Page):
    """Entries in their order, and fewer than were asked for where they are large. `nextCursor` is null at the end."""

    data: list[Entry]
    nextCursor: UUID | None


class Synced(Response):
    """What is remembered now. `entry` is what was written, null when nothing was."""

    epoch: int | None = None
    noOp: bool
    epochIncremented: bool
    entry: Entry | None


LIST_ENTRIES: Final = Operation(
    "list_conversation_entries", "GET", f"{ONE}/entries", "List its entries", ListEntries, EntryPage,
    tag=TAG, errors=(Forbidden, NotFound), text="any", needs_user=True, error_style=STYLE,
)  # fmt: skip
APPEND: Final = Operation(
    "append_entry", "POST", f"{ONE}/entries", "Append an entry", CreateEntry, Entry,
    tag=TAG, errors=(Forbidden, NotFound), text="any", status=201, needs_user=True, error_style=STYLE,
    max_body_bytes=f.STANDARD.entry_body_bytes, json_bounds=f.content_of(f.STANDARD),
)  # fmt: skip
SYNC: Final = Operation(
    "sync_entries", "POST", f"{ONE}/entries/sync", "Say all that an agent remembers", SyncEntries, Synced,
    tag=TAG, errors=(Forbidden, NotFound), text="any", needs_user=True, error_style=STYLE,
    max_body_bytes=f.STANDARD.entry_body_bytes, json_bounds=f.content_of(f.STANDARD),
)  # fmt: skip

ENTRIES: Final = (LIST_ENTRIES, APPEND, SYNC)
