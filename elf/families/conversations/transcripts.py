"""Keeps what was said as entries of the history of a conversation, which begins with it where there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.api.fields import STANDARD
from elf.families.conversations.entry_counts import EntryCounts
from elf.families.conversations.model import NewEntry
from elf.families.conversations.offers import is_of
from elf.families.conversations.rules.history import CONTENT_TYPE, beginning_of, preview_of, title_of
from elf.families.conversations.service import who_of
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who, named
from elf.offers import Message, Said, Subject

ROLES: Final[Mapping[str, str]] = {"user": "USER", "assistant": "AI", "tool": "AI"}
TOOL_TYPE: Final = f"{CONTENT_TYPE}/tool"


class ConversationTranscripts:
    """Writes an entry a message, which is found by its first `indexed_chars`."""

    def __init__(
        self,
        store: ConversationStore,
        counts: EntryCounts,
        database: Database,
        queries: Queries,
        *,
        indexed_chars: int = STANDARD.indexed_content_chars,
    ) -> None:
        self._indexed_chars = indexed_chars
        self._store = store
        self._counts = counts
        self._database = database
        self._sql = queries

    async def keep(self, connection: Connection, said: Said, caller: Caller) -> Sequence[UUID]:
        """Return the ids of the entries, in the order of the messages.

        Raises Unauthorized without a user, InvalidRequest for what is not the caller's, Missing for a conversation that
        is deleted, and Forbidden for one that the user may not write to.
        """
        who = who_of(caller)
        if not is_of(who, said.subject):
            raise InvalidRequest("conversations are kept for who calls, in the tenant of the call")
        by = replace(who, client=who.client or said.subject.agent_id)
        entries = [_entry(one, by, self._indexed_chars) for one in said.messages]
        written = await self._store.append_with(connection, who, said.conversation_id, entries)

        def count() -> None:
            for _ in written:
                self._counts.written("history")

        connection.after_commit(count)
        return [entry.entry_id for entry in written]

    async def named(self, tenant_id: str, user: str | None, name: str) -> UUID:
        """Return the id of a user's conversation of this name, which may not have begun."""
        async with self._database.connection() as connection:
            return await named(connection, self._sql, tenant_id, user, name)

    async def readable(
        self, conversations: Collection[str], subject: Subject, caller: Caller
    ) -> Collection[str]:
        """Return those that the caller is a member of; none for a subject that is not the caller."""
        ids = {name: id for name in conversations if (id := _id(name)) is not None}
        if not ids or caller.user is None or not is_of(who_of(caller), subject):
            return []
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["readable_conversations"], subject.tenant_id, list(ids.values()), caller.user
            )
        readable = {row["conversation_id"] for row in rows}
        return [name for name, id in ids.items() if id in readable]

    async def owners(self, tenant_id: str, conversations: Collection[str]) -> Mapping[str, str]:
        """Return the owners of those that there are, by the names that were given."""
        ids = {name: id for name in conversations if (id := _id(name)) is not None}
        if not ids:
            return {}
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["owners_of_conversations"], tenant_id, list(ids.values()))
        owners = {row["conversation_id"]: row["owner_user_id"] for row in rows}
        return {name: owners[id] for name, id in ids.items() if id in owners}


def _id(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _entry(message: Message, who: Who, most: int) -> NewEntry:
    content: list[Any] = [{"role": ROLES[message.role], "text": message.text}]
    beginning = beginning_of(content, most)
    return NewEntry(
        channel="history",
        content_type=TOOL_TYPE if message.role == "tool" else CONTENT_TYPE,
        content=content,
        user_id=who.user if message.role == "user" else None,
        client_id=who.client,
        indexed_content=None if beginning is None else beginning.text,
        title=title_of(content),
        preview=preview_of(content),
    )
