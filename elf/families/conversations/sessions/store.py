"""Sessions in Postgres: each method is one transaction, and judges who asks in it.

A session is a row that names a place in a tree. Going back moves the place: nothing is deleted, and as whoever writes
has the row locked, two that take the newest entry off at once take two different ones. What is added behind the last
entry of the conversation is written to it, and what is added elsewhere begins a fork there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import msgspec

from elf.core.clock import Clock
from elf.core.errors import Conflict
from elf.db.database import Connection, Database
from elf.db.errors import Retryable, UniqueViolation
from elf.db.queries import Queries
from elf.families.conversations.errors import Missing, RuleBroken
from elf.families.conversations.model import Entry, NewEntry
from elf.families.conversations.rules.view import Place, Range, before, last_place, through
from elf.families.conversations.sessions.lines import newest_rows, place_of, read_line
from elf.families.conversations.sessions.model import SESSION, Change, Line, Session, Written
from elf.families.conversations.store import ENTRY, ConversationStore, entry_of, view_of_row
from elf.families.conversations.trees import Row, Who, again, lock_conversation, read_conversation

KEYS: Final = "idx_conversation_entries_session_key"


class _Line(NamedTuple):
    """Where a session ends: a conversation, and the last entry of it that is shown, None for none."""

    conversation_id: UUID
    end: Place | None


class SessionStore:
    """Reads and writes the sessions of users, over the conversations of a store."""

    def __init__(
        self, conversations: ConversationStore, database: Database, clock: Clock, queries: Queries
    ) -> None:
        self._conversations = conversations
        self._database = database
        self._clock = clock
        self._sql = queries

    async def page(self, who: Who, *, after: str | None, limit: int) -> tuple[list[Session], bool]:
        """List the sessions of a user, written last first, and tell whether there are more: a page may end early.

        Raises RuleBroken for a cursor that is none of them.
        """
        async with self._database.connection() as connection:
            moment, behind = datetime.max.replace(tzinfo=UTC), ""
            if after is not None:
                row = await self._row(connection, "get_session", who, after)
                if row is None:
                    raise RuleBroken("after is not a session of this listing", fields=["$.after"])
                moment, behind = row["updated_at"], after
            rows = await connection.fetch(
                self._sql["list_sessions"], who.tenant_id, who.user, moment, behind, limit + 1
            )
        page = rows[:limit]
        return [_session(row) for row in page], bool(rows) and rows[0]["found"] > len(page)

    async def read(
        self, who: Who, session_id: str, *, older_than: UUID | None, limit: int
    ) -> tuple[Session, Line]:
        """Read a session with its newest entries, or with the newest before one. Raises Missing."""
        async with self._database.connection() as connection:
            row = await self._row(connection, "get_session", who, session_id)
            if row is None:
                raise Missing(SESSION, session_id)
            conversation = await read_conversation(
                connection, self._sql, who, row["conversation_id"], "reader"
            )
            line = await self._shown(connection, who, row)
            ranges = _ranges(conversation, line.end)
            found = await read_line(connection, self._sql, who, ranges, older_than=older_than, limit=limit)
        return _session(row), found

    async def line(self, who: Who, key: str, *, older_than: UUID | None, limit: int) -> Line:
        """Read the entries up to the one of a key, this one included. Raises Missing."""
        async with self._database.connection() as connection:
            line = await self._found(connection, who, key)
            conversation = await read_conversation(connection, self._sql, who, line.conversation_id, "reader")
            ranges = _ranges(conversation, line.end)
            return await read_line(connection, self._sql, who, ranges, older_than=older_than, limit=limit)

    @again
    async def write(self, who: Who, session_id: str, change: Change) -> Written:
        """Change a session, or begin one.

        Raises Missing for a key that there is not, and to go back in a session that there is not; Conflict, Forbidden.
        """
        with _keys_apart():
            return await self._write(who, session_id, change)

    async def _write(self, who: Who, session_id: str, change: Change) -> Written:
        async with self._database.transaction() as connection:
            row = await self._row(connection, "lock_session", who, session_id)
            _refuse_unexpected(row, change)
            line, popped = await self._kept(connection, who, session_id, row, change)
            entries: Sequence[Entry] = ()
            if change.entries:
                line, entries = await self._add(connection, who, line, change.entries)
            entry_id = entries[-1].entry_id if entries else await self._id_at(connection, who, line.end)
            session = await self._moved(
                connection, who, session_id, row, line.conversation_id, entry_id, change
            )
        return Written(session, popped, [one.entry_id for one in entries])

    @again
    async def drop(self, who: Who, session_id: str, *, expected: str | None) -> None:
        """Forget a session; its conversation stays. Raises Missing and Conflict."""
        async with self._database.transaction() as connection:
            row = await self._row(connection, "lock_session", who, session_id)
            if row is None:
                raise Missing(SESSION, session_id)
            if expected is not None and row["revision"] != expected:
                raise _changed()
            await connection.execute(self._sql["drop_session"], who.tenant_id, who.user, session_id)

    async def _row(self, connection: Connection, query: str, who: Who, session_id: str) -> Row | None:
        return await connection.fetchrow(self._sql[query], who.tenant_id, who.user, session_id)

    async def _kept(
        self, connection: Connection, who: Who, session_id: str, row: Row | None, change: Change
    ) -> tuple[_Line, Entry | None]:
        """Return where a session ends before anything is added, and the entry that it loses where one is to go."""
        if change.behind is not None:
            return await self._found(connection, who, change.behind), None
        if row is None:
            if change.keep != "all" and not change.entries:
                raise Missing(SESSION, session_id)
            return await self._begun(connection, who), None
        line = await self._shown(connection, who, row)
        if change.keep == "none" or line.end is None:
            return _Line(line.conversation_id, None), None
        if change.keep == "all":
            return line, None
        return await self._without_newest(connection, who, line)

    async def _begun(self, connection: Connection, who: Who) -> _Line:
        """Begin a tree for a session."""
        id = uuid4()
        await self._conversations.begin_with(connection, who, id)
        return _Line(id, None)

    async def _shown(self, connection: Connection, who: Who, row: Row) -> _Line:
        id, entry_id = row["conversation_id"], row["entry_id"]
        return _Line(id, None if entry_id is None else await place_of(connection, self._sql, who, entry_id))

    async def _found(self, connection: Connection, who: Who, key: str) -> _Line:
        row = await connection.fetchrow(self._sql["find_session_key"], who.tenant_id, who.user, key)
        if row is None:
            raise Missing(ENTRY, key)
        return _Line(row["conversation_id"], Place(row["conversation_id"], row["seq"]))

    async def _without_newest(self, connection: Connection, who: Who, line: _Line) -> tuple[_Line, Entry]:
        id = line.conversation_id
        conversation = await read_conversation(connection, self._sql, who, id, "writer")
        ranges = _ranges(conversation, line.end)
        (newest,) = await newest_rows(connection, self._sql, who, ranges, 1)
        older = before(ranges, Place(newest["conversation_id"], newest["seq"]))
        rows = await newest_rows(connection, self._sql, who, older, 1) if older else []
        end = Place(rows[0]["conversation_id"], rows[0]["seq"]) if rows else None
        return _Line(id, end), entry_of(newest)

    async def _add(
        self, connection: Connection, who: Who, line: _Line, entries: Sequence[NewEntry]
    ) -> tuple[_Line, Sequence[Entry]]:
        """Write entries behind the end of a line: to its conversation, or to a fork where that goes on otherwise."""
        row = await lock_conversation(connection, self._sql, who, line.conversation_id)
        id = line.conversation_id
        if _end(row) != line.end:
            id = await self._conversations.fork_with(connection, who, row, _ranges(row, line.end))
        written = await self._conversations.append_with(connection, who, id, entries)
        return _Line(id, None), written

    async def _id_at(self, connection: Connection, who: Who, place: Place | None) -> UUID | None:
        if place is None:
            return None
        id: UUID = await connection.fetchval(self._sql["entry_at"], who.tenant_id, *place)
        return id

    async def _moved(
        self,
        connection: Connection,
        who: Who,
        session_id: str,
        row: Row | None,
        conversation_id: UUID,
        entry_id: UUID | None,
        change: Change,
    ) -> Session:
        """Say where a session is. Raises Retryable when another began one of this name at this moment."""
        data = _data(change.data) if row is not None or change.data is not None else "{}"
        moved = await connection.fetchrow(
            self._sql["begin_session" if row is None else "move_session"], who.tenant_id, who.user, session_id,
            conversation_id, entry_id, data, change.revision or str(uuid4()), self._clock.now(),
        )  # fmt: skip
        if moved is None:
            raise Retryable("another began this session at this moment")
        return _session(moved)


def _refuse_unexpected(row: Row | None, change: Change) -> None:
    """Raise Conflict for a session that another wrote since who asks has read it."""
    if change.is_new and row is not None:
        raise Conflict("a session of this name is there already")
    if change.expected is not None and (row is None or row["revision"] != change.expected):
        raise _changed()


def _changed() -> Conflict:
    return Conflict("the session has another revision, or is gone: read it again")


def _data(data: Mapping[str, Any] | None) -> str | None:
    return None if data is None else msgspec.json.encode(data).decode()


def _ranges(conversation: Row, end: Place | None) -> list[Range]:
    """Return what of a conversation is shown up to an entry."""
    return [] if end is None else through(view_of_row(conversation), end)


def _end(conversation: Row) -> Place | None:
    """Return the last entry that a conversation shows."""
    if conversation["last_seq"]:
        return Place(conversation["conversation_id"], conversation["last_seq"])
    return last_place(view_of_row(conversation)[:-1])


def _session(row: Row) -> Session:
    return Session(**{name: row[name] for name in Session.__dataclass_fields__})


@contextmanager
def _keys_apart() -> Iterator[None]:
    """Raise Conflict for an entry whose key another entry of the tree has."""
    try:
        yield
    except UniqueViolation as error:
        if error.constraint != KEYS:
            raise
        raise Conflict("an entry of this key is there already") from error
