"""Sessions: a user's names for where lines of entries end. Requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.blank_text import NOT_BLANK
from elf.core.errors import Conflict, Forbidden, NotFound
from elf.families.conversations.api import fields as f
from elf.families.conversations.api.conversations import TAG
from elf.families.conversations.api.entries import Entry
from elf.families.conversations.errors import STYLE

SESSIONS_ROOT: Final = "/v1/sessions"
ONE_SESSION: Final = f"{SESSIONS_ROOT}/one"
"""Names are any text, and stand in no path."""

NAME_CHARS: Final = 255
ENTRIES_AT_ONCE: Final = 10_000

SessionId = Annotated[
    str,
    Field(min_length=1, max_length=NAME_CHARS, pattern=NOT_BLANK, description="What the user calls it."),
]
Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=NAME_CHARS,
        pattern=NOT_BLANK,
        description="What the program that writes an entry calls it.",
    ),
]
Revision = Annotated[str, Field(min_length=1, max_length=NAME_CHARS, pattern=NOT_BLANK)]
Before = Annotated[UUID, Field(description="The nextCursor of the page before, which was of newer entries.")]


class ListSessions(Request):
    """Which of one's sessions."""

    limit: f.Limit = 50
    after: SessionId | None = Field(default=None, description="The nextCursor of the page before.")


class OneSession(Request):
    """Which session."""

    sessionId: SessionId


class ReadSession(OneSession):
    """Which session, and which of its entries: the newest that are before one."""

    limit: f.Limit = 50
    before: Before | None = None


class ReadLine(Request):
    """Which entries: the newest up to one, that one included, or before another of them."""

    key: Key
    limit: f.Limit = 50
    before: Before | None = None


class SessionEntry(Request):
    """What is written: one object, as an entry of a history has."""

    key: Key | None = None
    contentType: f.ContentType = "history"
    content: f.Content
    indexedContent: f.IndexedContent | None = None


class WriteSession(OneSession):
    """What of a session is kept, and what comes behind that. One that is not there yet begins with it."""

    keep: Literal["all", "but_newest", "none"] = Field(
        default="all", description="Of what it shows: all, all but its newest entry, or nothing."
    )
    behind: Key | None = Field(
        default=None,
        description="Instead of what it shows all that comes before the entry of this key, and this entry: one of any "
        "conversation in which the user has a session.",
    )
    entries: Annotated[list[SessionEntry], Field(max_length=ENTRIES_AT_ONCE)] = Field(default_factory=list)
    data: f.Metadata | None = Field(
        default=None,
        description="What the program keeps beside the entries; what it kept stays where it is left out.",
    )
    revision: Revision | None = Field(default=None, description="That of the session from now on.")
    expectedRevision: Revision | None = Field(
        default=None, description="Which it has to have, so that nothing is lost that another wrote."
    )
    isNew: bool = Field(default=False, description="It must not be there yet.")


class DropSession(OneSession):
    """Which session, and which revision it has to have."""

    expectedRevision: Revision | None = None


class Session(Response):
    """A session. What it does not have is left out."""

    id: str
    conversationId: UUID = Field(description="The conversation that shows it; it may show more.")
    newestEntryId: UUID | None = None
    data: dict[str, Any]
    revision: str
    createdAt: datetime
    updatedAt: datetime


class SessionPage(Response):
    """Sessions, written last first. `nextCursor` is null at the end."""

    data: list[Session]
    nextCursor: str | None


class ShownSession(Session):
    """A session with its newest entries, oldest first. `nextCursor` leads to older ones, else null."""

    entries: list[Entry]
    nextCursor: UUID | None


class Line(Response):
    """Entries, oldest first. `nextCursor` leads to older ones, and is null at the beginning."""

    entries: list[Entry]
    nextCursor: UUID | None


class WrittenSession(Session):
    """A session as it is now: the entry that it lost where one was not kept, and the ids of those it has got."""

    popped: Entry | None
    entryIds: list[UUID]


LIST_SESSIONS: Final = Operation(
    "list_sessions", "GET", SESSIONS_ROOT, "List sessions", ListSessions, SessionPage,
    tag=TAG, text="any", needs_user=True, error_style=STYLE,
)  # fmt: skip
READ_SESSION: Final = Operation(
    "read_session", "GET", ONE_SESSION, "Read a session from its end on", ReadSession,
    ShownSession, tag=TAG, errors=(Forbidden, NotFound), text="any", needs_user=True, error_style=STYLE,
)  # fmt: skip
WRITE_SESSION: Final = Operation(
    "write_session", "POST", ONE_SESSION, "Add to a session, or go back in it", WriteSession,
    WrittenSession, tag=TAG, errors=(Forbidden, NotFound, Conflict), text="any", needs_user=True, error_style=STYLE,
    max_body_bytes=f.STANDARD.entry_body_bytes, json_bounds=f.content_of(f.STANDARD),
)  # fmt: skip
DROP_SESSION: Final = Operation(
    "delete_session", "DELETE", ONE_SESSION, "Forget the name; the conversation stays",
    DropSession, None, tag=TAG, errors=(NotFound, Conflict), text="any", status=204, needs_user=True,
    error_style=STYLE,
)  # fmt: skip
READ_LINE: Final = Operation(
    "read_session_line", "GET", f"{SESSIONS_ROOT}/line", "Read the entries up to one", ReadLine, Line,
    tag=TAG, errors=(Forbidden, NotFound), text="any", needs_user=True, error_style=STYLE,
)  # fmt: skip

SESSIONS: Final = (LIST_SESSIONS, READ_SESSION, WRITE_SESSION, DROP_SESSION, READ_LINE)
