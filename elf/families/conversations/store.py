"""Trees of conversations in Postgres: each method is one transaction, and judges who asks in it.

Methods raise Missing for what is not there, is deleted, or is another tenant's, and then Forbidden for one who may not
do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import msgspec

from elf.core.clock import Clock
from elf.core.errors import Conflict
from elf.core.slices import Slices, in_slices
from elf.db.database import Connection, Database
from elf.db.errors import Retryable, UniqueViolation
from elf.db.queries import Queries
from elf.families.conversations.errors import Missing, RuleBroken
from elf.families.conversations.model import (
    LEVELS,
    AccessLevel,
    Conversation,
    Entry,
    ForkPoint,
    NewEntry,
)
from elf.families.conversations.rules.access import allows
from elf.families.conversations.rules.history import role_of
from elf.families.conversations.rules.memory import Change, Epoch, SyncOutcome, change_of, continued
from elf.families.conversations.rules.view import (
    Place,
    Range,
    View,
    before,
    behind,
    last_place,
    shows,
    view_of,
)
from elf.families.conversations.rules.words import spacing
from elf.families.conversations.trees import (
    CONVERSATION,
    Row,
    Who,
    again,
    live,
    lock_conversation,
    lock_tree,
    read_conversation,
    refuse_less,
)

ENTRY: Final = "entry"
WRITERS: Final = [level for level in LEVELS if allows(level, "writer")]


class Shown(NamedTuple):
    """What of a view is listed: the history or not, a client's memory or nobody's, of one epoch or of all."""

    history: bool
    client: str | None
    epoch: int | None


class Synced(NamedTuple):
    """What came of a sync: the epoch that is the latest now, and what was written, if anything."""

    outcome: SyncOutcome
    epoch: int | None
    entry: Entry | None


class ConversationStore:
    """Creates, forks, reads and writes conversations.

    Texts by which entries are found are for an index of `embedding_version`; `ring` wakes who brings them there.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        queries: Queries,
        *,
        embedding_version: str,
        ring: Callable[[], object],
    ) -> None:
        self._database = database
        self._clock = clock
        self._sql = queries
        self._version = embedding_version
        self._ring = ring

    # Conversations

    @again
    async def create(
        self, who: Who, *, title: str | None, metadata: Mapping[str, Any], id: UUID | None = None
    ) -> Conversation:
        """Begin a tree. Raises Conflict for an id that a conversation has, whosever it is, deleted or not."""
        id = id or uuid4()
        async with self._database.transaction() as connection:
            with _meeting_beginners():
                is_new = await self._begin(connection, who, id, title=title, metadata=metadata)
            if not is_new:
                raise Conflict(f"there is a conversation of the id {id} already")
            return conversation_of(await self._allowed(connection, who, id, "reader"))

    async def get(self, who: Who, id: UUID, *, level: AccessLevel = "reader") -> Conversation:
        """Read a conversation as one of its members of this level sees it."""
        async with self._database.connection() as connection:
            return conversation_of(await self._allowed(connection, who, id, level))

    async def page(
        self, who: Who, *, mode: str, after: UUID | None, query: str | None, limit: int
    ) -> list[Conversation]:
        """List what a user is a member of, changed last first. Raises RuleBroken for a cursor that is none of it."""
        async with self._database.connection() as connection:
            moment, behind_id = datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1)
            if after is not None:
                row = await connection.fetchrow(self._sql["get_conversation"], who.tenant_id, after, who.user)
                if row is None or row["access_level"] is None:
                    raise RuleBroken("after is not a conversation of this listing", fields=["$.after"])
                moment, behind_id = row["updated_at"], after
            rows = await connection.fetch(
                self._sql["list_conversations"],
                who.tenant_id,
                who.user,
                mode,
                moment,
                behind_id,
                query or None,
                limit,
            )
        return [conversation_of(row) for row in rows]

    @again
    async def retitle(self, who: Who, id: UUID, title: str | None) -> Conversation:
        """Give a conversation a title, or none."""
        async with self._database.transaction() as connection:
            await self._locked(connection, who, id)
            await connection.execute(
                self._sql["retitle"], who.tenant_id, id, title, self._clock.now(), who.user
            )
            return conversation_of(await self._allowed(connection, who, id, "reader"))

    @again
    async def delete(self, who: Who, id: UUID) -> None:
        """Delete the whole tree of a conversation."""
        async with self._database.transaction() as connection:
            tree = await lock_tree(connection, self._sql, who, id)
            refuse_less(tree.level, "owner")
            await connection.execute(self._sql["delete_tree"], who.tenant_id, tree.tree_id, self._clock.now())

    async def forks(
        self, who: Who, id: UUID, *, after: UUID | None = None, limit: int | None = None
    ) -> Sequence[Row]:
        """List the conversations of a tree, from behind one of them on. Raises RuleBroken for one of another tree."""
        async with self._database.connection() as connection:
            place = who.tenant_id, (await self._allowed(connection, who, id, "reader"))["tree_id"]
            if after is not None and not await connection.fetchval(self._sql["is_in_tree"], *place, after):
                raise RuleBroken("after is not a conversation of this listing", fields=["$.after"])
            return await connection.fetch(self._sql["list_forks"], *place, after, limit)

    @again
    async def fork(self, who: Who, id: UUID, entry_id: UUID, *, title: str | None = None) -> Conversation:
        """Fork a conversation at an entry that it shows: the fork has all that comes before it."""
        async with self._database.transaction() as connection:
            row = await self._allowed(connection, who, id, "writer")
            view = view_of_row(row)
            place = await self._visible(connection, who, view, entry_id)
            fork = await self.fork_with(connection, who, row, before(view, place), title=title)
            return conversation_of(await self._allowed(connection, who, fork, "reader"))

    async def begin_with(self, connection: Connection, who: Who, id: UUID) -> None:
        """Begin a tree whose first conversation has an id that none has, with a transaction of the caller's."""
        await self._begin(connection, who, id, title=None, metadata={})

    async def fork_with(
        self,
        connection: Connection,
        who: Who,
        parent: Row,
        ranges: Sequence[Range],
        *,
        title: str | None = None,
    ) -> UUID:
        """Add a fork that has these ranges of its parent with a transaction of the caller's; returns its id."""
        fork = uuid4()
        await self._branch(connection, who, parent, fork, ranges, title=title)
        return fork

    # Entries

    @again
    async def append(self, who: Who, id: UUID, entry: NewEntry, *, at: ForkPoint | None = None) -> Entry:
        """Write an entry; a conversation that is not there yet begins with it, forked at `at` where that is given."""
        with _meeting_beginners():
            return await self._append_at_once(who, id, entry) or await self._append_once(who, id, entry, at)

    async def append_with(
        self, connection: Connection, who: Who, id: UUID, entries: Sequence[NewEntry]
    ) -> list[Entry]:
        """Write entries of a history with a transaction of the caller's, which is to be run again on Retryable."""
        with _meeting_beginners():
            row = await connection.fetchrow(self._sql["lock_conversation"], who.tenant_id, id, who.user)
            if row is None:
                row = await self._begun(connection, who, id, None)
            refuse_less(row["access_level"], "writer")
            return [await self._write(connection, who, row, entry, None) for entry in entries]

    async def _append_at_once(self, who: Who, id: UUID, entry: NewEntry) -> Entry | None:
        """Write an entry by one statement, as most can be; None for one that takes more, or is refused."""
        if entry.channel == "memory":
            return None
        async with self._database.connection() as connection:
            written = await self._written(connection, who, id, entry, None)
        if written is not None and entry.indexed_content is not None:
            self._ring()
        return written

    async def _append_once(self, who: Who, id: UUID, entry: NewEntry, at: ForkPoint | None) -> Entry:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_conversation"], who.tenant_id, id, who.user)
            if row is None:
                row = await self._begun(connection, who, id, at)
            refuse_less(row["access_level"], "writer")
            epoch = None
            if entry.channel == "memory":
                latest = await self._latest(connection, who, view_of_row(row))
                number = 1 if latest is None else latest.number
                epoch = continued(latest, number, entry.content_type, entry.content)
            return await self._write(connection, who, row, entry, epoch)

    async def _begun(self, connection: Connection, who: Who, id: UUID, at: ForkPoint | None) -> Row:
        """Begin a conversation of an id that has none, and return it locked. Raises as `_locked` where there is one.

        Raises Retryable when another began it meanwhile.
        """
        there = await connection.fetchrow(self._sql["get_conversation"], who.tenant_id, id, who.user)
        if there is not None:
            refuse_less(live(there, id)["access_level"], "writer")
            raise Retryable("it was changed at this moment")
        if at is None:
            is_new = await self._begin(connection, who, id, title=None, metadata={})
        else:
            is_new = await self._begin_fork(connection, who, id, at)
        row = await connection.fetchrow(self._sql["lock_conversation"], who.tenant_id, id, who.user)
        if not is_new or row is None:
            raise Retryable("another began this conversation at this moment")
        return row

    async def _begin(
        self, connection: Connection, who: Who, id: UUID, *, title: str | None, metadata: Mapping[str, Any]
    ) -> bool:
        made = await connection.fetchval(
            self._sql["insert_tree"], who.tenant_id, uuid4(), id, who.user, title, dict(metadata), self._clock.now()
        )  # fmt: skip
        return made is not None

    async def _begin_fork(self, connection: Connection, who: Who, id: UUID, at: ForkPoint) -> bool:
        parent = await self._allowed(connection, who, at.conversation_id, "writer")
        ranges: Sequence[Range] = []
        if at.entry_id is not None:
            view = view_of_row(parent)
            ranges = before(view, await self._visible(connection, who, view, at.entry_id))
        return await self._branch(connection, who, parent, id, ranges)

    async def _branch(
        self,
        connection: Connection,
        who: Who,
        parent: Row,
        id: UUID,
        ranges: Sequence[Range],
        *,
        title: str | None = None,
    ) -> bool:
        """Add a fork that has these ranges, and the title of its parent where none is given.

        Raises Missing when its tree is deleted meanwhile.
        """
        last = last_place(ranges)
        entry_id = None
        if last is not None:
            entry_id = await connection.fetchval(self._sql["entry_at"], who.tenant_id, *last)
        made = await connection.fetchval(
            self._sql["insert_fork"], who.tenant_id, parent["tree_id"], id, title, parent["conversation_id"], entry_id,
            [one.conversation_id for one in ranges], [one.end for one in ranges], self._clock.now(), who.user,
        )  # fmt: skip
        if (
            made is None
            and await connection.fetchrow(self._sql["get_conversation"], who.tenant_id, id, who.user) is None
        ):
            raise Missing(CONVERSATION, parent["conversation_id"])
        return made is not None

    @again
    async def sync(
        self, who: Who, id: UUID, content_type: str, items: Sequence[Any], user: str | None
    ) -> Synced:
        """Make the memory of a client what it says it is: see `change_of`."""
        assert who.client is not None, "memory is a client's"
        async with self._database.transaction() as connection:
            row = await self._locked(connection, who, id)
            latest = await self._latest(connection, who, view_of_row(row))
            change = change_of(latest, content_type, items)
            if change is None:
                return Synced("noop", None if latest is None else latest.number, None)
            written = await self._remember(connection, who, row, latest, change, content_type, user)
            return Synced(change.outcome, change.epoch, written)

    async def _remember(
        self,
        connection: Connection,
        who: Who,
        row: Row,
        latest: Epoch | None,
        change: Change,
        content_type: str,
        user: str | None,
    ) -> Entry:
        items = list(change.items)
        entry = NewEntry(
            channel="memory", content_type=content_type, content=items, user_id=user, client_id=who.client
        )
        epoch = continued(latest, change.epoch, content_type, items)
        return await self._write(connection, who, row, entry, epoch)

    async def _write(
        self, connection: Connection, who: Who, row: Row, entry: NewEntry, epoch: Epoch | None
    ) -> Entry:
        """Add an entry to a conversation that is locked. Raises Retryable when who asks may write to it no more."""
        written = await self._written(connection, who, row["conversation_id"], entry, epoch)
        if written is None:
            raise Retryable("what one may do was changed at this moment")
        if entry.indexed_content is not None:
            connection.after_commit(self._ring)
        return written

    async def _written(
        self, connection: Connection, who: Who, id: UUID, entry: NewEntry, epoch: Epoch | None
    ) -> Entry | None:
        """Add an entry to a conversation, and return it; None where there is none that one may write to."""
        entry_id, number = uuid4(), None if epoch is None else epoch.number
        content = msgspec.json.encode(entry.content).decode()
        found_by = await in_slices(self._found_by(entry))
        moment = await connection.fetchval(
            self._sql["write_entry"], who.tenant_id, id, who.user, WRITERS, entry_id, entry.user_id, entry.client_id,
            entry.channel, number, entry.content_type, content,
            *((None, None, None) if epoch is None else (epoch.count, epoch.digest, epoch.content_type)),
            self._clock.now(), entry.title, entry.preview, *found_by, entry.session_key,
        )  # fmt: skip
        if moment is None:
            return None
        return Entry(
            entry_id=entry_id, conversation_id=id, user_id=entry.user_id, client_id=entry.client_id,
            channel=entry.channel, epoch=number, content_type=entry.content_type, content=content, created_at=moment,
        )  # fmt: skip

    def _found_by(self, entry: NewEntry) -> Slices[tuple[str | None, ...]]:
        """Return who speaks, the text by which an entry is found, its words, and the version of the index."""
        text = entry.indexed_content
        words = None if text is None else (yield from spacing(text))
        return role_of(entry.content), text, words, self._version

    async def entries(
        self, who: Who, id: UUID, *, shown: Shown, is_latest: bool, after: UUID | None, limit: int
    ) -> EntryPage:
        """List a view from behind an entry on. `is_latest`: of the memory, the latest epoch instead of `shown.epoch`.

        Raises RuleBroken for an entry that is not shown there.
        """
        async with self._database.connection() as connection:
            row = await self._allowed(connection, who, id, "reader")
            view = view_of_row(row)
            parts = [(one, 0) for one in view]
            if after is not None:
                parts = behind(view, await self._cursor(connection, who, view, after))
            epoch = shown.epoch
            if is_latest and shown.client is not None:
                latest = await self._latest(connection, who, view)
                epoch = None if latest is None else latest.number
            rows = await connection.fetch(
                self._sql["list_view"], who.tenant_id, [one.conversation_id for one, _ in parts],
                [beginning for _, beginning in parts], [one.end for one, _ in parts],
                shown.history, shown.client, epoch, limit + 1,
            )  # fmt: skip
        return page_of(rows, limit)

    async def tree_entries(
        self, who: Who, id: UUID, *, shown: Shown, after: UUID | None, limit: int
    ) -> EntryPage:
        """List all entries of a tree by their moments. Raises RuleBroken for a cursor that is no entry of it."""
        async with self._database.connection() as connection:
            row = await self._allowed(connection, who, id, "reader")
            moment, behind_id = datetime.min.replace(tzinfo=UTC), UUID(int=0)
            if after is not None:
                found = await connection.fetchrow(
                    self._sql["moment_of_entry"], who.tenant_id, row["tree_id"], after, who.client
                )
                if found is None:
                    raise RuleBroken("after is not an entry of this listing", fields=["$.after"])
                moment, behind_id = found["created_at"], after
            rows = await connection.fetch(
                self._sql["list_tree_entries"], who.tenant_id, row["tree_id"], limit + 1, shown.history, shown.client,
                shown.epoch, moment, behind_id,
            )  # fmt: skip
        return page_of(rows, limit)

    # Who may, and where things are

    async def _allowed(self, connection: Connection, who: Who, id: UUID, least: AccessLevel) -> Row:
        return await read_conversation(connection, self._sql, who, id, least)

    async def _locked(self, connection: Connection, who: Who, id: UUID) -> Row:
        """Return a conversation that nobody else writes to until the transaction ends, to one who may write."""
        return await lock_conversation(connection, self._sql, who, id)

    async def _visible(self, connection: Connection, who: Who, view: View, entry_id: UUID) -> Place:
        """Return where an entry is that a caller sees in a view. Raises Missing."""
        found = await connection.fetchrow(self._sql["locate_entry"], who.tenant_id, entry_id)
        if found is None or not _may_see(who, found):
            raise Missing(ENTRY, entry_id)
        place = Place(found["conversation_id"], found["seq"])
        if not shows(view, place):
            raise Missing(ENTRY, entry_id)
        return place

    async def _cursor(self, connection: Connection, who: Who, view: View, after: UUID) -> Place:
        try:
            return await self._visible(connection, who, view, after)
        except Missing:
            raise RuleBroken("after is not an entry of this listing", fields=["$.after"]) from None

    async def _latest(self, connection: Connection, who: Who, view: View) -> Epoch | None:
        row = await connection.fetchrow(
            self._sql["latest_memory"], who.tenant_id, who.client, [one.conversation_id for one in view],
            [one.end for one in view],
        )  # fmt: skip
        if row is None:
            return None
        return Epoch(
            number=row["epoch"],
            count=row["memory_count"],
            digest=row["memory_digest"],
            content_type=row["memory_type"],
        )


@contextmanager
def _meeting_beginners() -> Iterator[None]:
    """Make one run again who began a conversation at the same moment as another."""
    try:
        yield
    except UniqueViolation as error:
        if error.constraint != "conversations_pkey":
            raise
        raise Retryable("another began this conversation at this moment") from error


def _may_see(who: Who, entry: Row) -> bool:
    return bool(
        entry["channel"] == "history" or (who.client is not None and entry["client_id"] == who.client)
    )


def view_of_row(row: Row) -> list[Range]:
    """Return what a conversation shows."""
    return view_of(row["conversation_id"], row["ancestors"], row["ancestor_ends"])


def conversation_of(row: Row) -> Conversation:
    """Return a conversation as it is stored."""
    return Conversation(**{name: row[name] for name in Conversation.__dataclass_fields__})


class EntryPage(NamedTuple):
    """A page of entries, and whether there are more behind it: it may be shorter than it was asked for."""

    entries: list[Entry]
    more: bool


def page_of(rows: Sequence[Row], limit: int) -> EntryPage:
    """Return the first rows of a listing that was asked for one more than `limit`."""
    page = rows[:limit]
    return EntryPage([entry_of(row) for row in page], bool(rows) and rows[0]["found"] > len(page))


def entry_of(row: Row) -> Entry:
    """Return an entry as it is stored."""
    return Entry(**{name: row[name] for name in Entry.__dataclass_fields__})
