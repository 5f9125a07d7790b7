"""Reading a line of entries from its end on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.model import Entry
from elf.families.conversations.rules.view import Place, Range, before, shows
from elf.families.conversations.sessions.model import Line
from elf.families.conversations.store import entry_of
from elf.families.conversations.trees import Row, Who

PAGE_CHARS: Final = 16 << 20
"""How many characters of content a page has at most; its newest entry it has always."""


async def place_of(connection: Connection, sql: Queries, who: Who, entry_id: UUID) -> Place | None:
    """Return where an entry was written."""
    row = await connection.fetchrow(sql["locate_entry"], who.tenant_id, entry_id)
    return None if row is None else Place(row["conversation_id"], row["seq"])


async def newest_rows(
    connection: Connection, sql: Queries, who: Who, ranges: Sequence[Range], limit: int
) -> Sequence[Row]:
    """Return the newest entries of a history, newest first; the content of those that are too much is None."""
    return await connection.fetch(
        sql["list_view_backwards"], who.tenant_id, [one.conversation_id for one in ranges],
        [one.end for one in ranges], True, None, None, limit, PAGE_CHARS, True,
    )  # fmt: skip


async def read_line(
    connection: Connection,
    sql: Queries,
    who: Who,
    ranges: Sequence[Range],
    *,
    older_than: UUID | None,
    limit: int,
) -> Line:
    """Return the newest entries of closed ranges, or the newest before one of them.

    Raises RuleBroken for one that is none of them.
    """
    if older_than is not None:
        place = await place_of(connection, sql, who, older_than)
        if place is None or not shows(ranges, place):
            raise RuleBroken("before is not an entry of this line", fields=["$.before"])
        ranges = before(ranges, place)
    if not ranges:
        return Line([], None)
    rows = await newest_rows(connection, sql, who, ranges, limit + 1)
    fitting = [row for row in rows[:limit] if row["content"] is not None]
    entries: list[Entry] = [entry_of(row) for row in reversed(fitting)]
    return Line(entries, entries[0].entry_id if len(rows) > len(fitting) else None)
