"""A conversation store of Pydantic AI that is kept in ELF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

from elf.client import Conflict, NotFound
from elf.client.awaited import AnyClient, Awaited
from elf.pydantic_ai.entries import conversation_entry, data_of, entry_of, record_of

PAGE: Final = 200


class ElfConversationStore(ConversationStore):
    """The conversations of the user who calls: each is a session of this user's, by its id.

    `client` is a Client or an AsyncClient, which proves a user and names the client that writes; it stays yours to
    close. A save is one transaction. What a conversation leaves by a branch, and what is deleted, stays in ELF until it
    is erased: only the record goes, and its entries are read no more unless another conversation shares them.
    """

    def __init__(self, client: AnyClient) -> None:
        self._conversations = Awaited(client).conversations

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, or None."""
        try:
            return record_of(await self._conversations.session(conversation_id, limit=1))
        except NotFound:
            return None

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return the records, of a scope where one is given, saved last first."""
        found: list[ConversationRecord] = []
        if limit == 0:
            return found
        async for session in self._conversations.sessions(limit=PAGE):
            record = record_of(session)
            if record is not None and scope in (None, record.scope):
                found.append(record)
                if len(found) == limit:
                    break
        return found

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record with its new entries, all or nothing. Raises ConversationConflict."""
        behind = _behind(record, new_entries)
        place: dict[str, Any] = {"behind": behind}
        if behind is None and expected_revision is not None:
            place = {"keep": "none"}
        try:
            await self._conversations.write_session(
                record.conversation_id,
                [entry_of(one) for one in new_entries],
                data=data_of(record),
                revision=record.revision,
                expected_revision=expected_revision,
                is_new=expected_revision is None,
                **place,
            )
        except (Conflict, NotFound) as error:
            raise ConversationConflict(record.conversation_id) from error

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Forget a conversation; its entries stay in ELF. Raises ConversationConflict."""
        try:
            await self._conversations.delete_session(conversation_id, expected_revision=expected_revision)
        except (Conflict, NotFound) as error:
            raise ConversationConflict(conversation_id) from error

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry. Raises KeyError."""
        found = await self.read_history(entry_id, limit=1)
        if not found or found[-1].id != entry_id:
            raise KeyError(entry_id)
        return found[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to one of them, oldest first, or the last `limit`; what was erased is left out.

        Raises KeyError for an entry that there is not.
        """
        newest_first: list[ConversationEntry] = []
        before: UUID | None = None
        while head_id is not None and (limit is None or len(newest_first) < limit):
            wanted = PAGE if limit is None else min(PAGE, limit - len(newest_first))
            try:
                page = await self._conversations.session_line(head_id, limit=wanted, before=before)
            except NotFound as error:
                raise KeyError(head_id) from error
            read = [conversation_entry(one) for one in reversed(page.entries)]
            newest_first += [one for one in read if one is not None]
            if (before := page.next_cursor) is None:
                break
        return newest_first[::-1]


def _behind(record: ConversationRecord, new_entries: Sequence[ConversationEntry]) -> str | None:
    """Return the entry behind which a record goes on. Raises ValueError for entries that do not lead to its head."""
    if not new_entries:
        return record.head_id
    ids = [one.id for one in new_entries]
    if ids[-1] != record.head_id:
        raise ValueError("new_entries: the last of them should be the record's head_id")
    if [one.parent_id for one in new_entries[1:]] != ids[:-1]:
        raise ValueError("new_entries: each should point at the one before it")
    return new_entries[0].parent_id
