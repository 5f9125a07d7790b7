"""What the family offers to whoever stands above all families: candidates for an answer, and items.

Items are of two kinds: a conversation, and an entry of one. Who asks is the caller; a subject's agent is the client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from elf.api.caller import Caller
from elf.core.conversation_names import is_id
from elf.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from elf.core.slices import Slices, in_slices
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.errors import Missing
from elf.families.conversations.finding.bare import BareSearch
from elf.families.conversations.finding.ranking import Found
from elf.families.conversations.finding.reach import Reach
from elf.families.conversations.model import Conversation, Entry
from elf.families.conversations.rules.history import text_of
from elf.families.conversations.service import who_of
from elf.families.conversations.store import ConversationStore, entry_of
from elf.families.conversations.trees import Who, named
from elf.offers import Item, Question, Subject
from elf.search.token_store import TokenPlace, TokenReader

CONVERSATION: Final = "conversation"
ENTRY: Final = "entry"
MOST_FOUND: Final = 200
QUERY_CHARS: Final = 1000


class ConversationItems:
    """Reads and forgets conversations and entries for their members. What they may not see is not there."""

    def __init__(self, store: ConversationStore, database: Database, queries: Queries) -> None:
        self._store = store
        self._database = database
        self._sql = queries

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a conversation, or an entry that the caller sees. Raises NotFound."""
        who = _who(subject, caller)
        id = await self._id(who, kind, item_id)
        if kind == ENTRY:
            return await in_slices(_entry(await self._entry(who, id)))
        try:
            return _conversation(await self._store.get(who, id))
        except Forbidden:
            raise Missing(kind, item_id) from None

    async def forget(
        self, kind: str, item_id: str, subject: Subject, caller: Caller, conversation: str | None = None
    ) -> None:
        """Delete the whole tree of a conversation, which its owner may. Raises NotFound, and Forbidden for a member.

        An entry is part of what others have read and forked: it does not go alone. Raises Conflict.
        """
        await self.read(kind, item_id, subject, caller)
        if kind == ENTRY:
            raise Conflict("an entry is not forgotten alone: forget its conversation, with all its forks")
        who = _who(subject, caller)
        await self._store.delete(who, await self._id(who, kind, item_id))

    async def _id(self, who: Who, kind: str, item_id: str) -> UUID:
        """Return the id of an item; that of a conversation may be the user's name for it. Raises NotFound."""
        if kind not in (CONVERSATION, ENTRY):
            raise InvalidRequest(f"$.kind: should be {CONVERSATION} or {ENTRY}", fields=["$.kind"])
        if is_id(item_id):
            return UUID(item_id)
        if kind == ENTRY:
            raise Missing(kind, item_id)
        async with self._database.connection() as connection:
            return await named(connection, self._sql, who.tenant_id, who.user, item_id)

    async def _entry(self, who: Who, id: UUID) -> Entry:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["read_entry"], who.tenant_id, id, who.user, who.client)
        if row is None:
            raise Missing(ENTRY, id)
        return entry_of(row)


class ConversationRecall:
    """Finds entries for an answer, of what the caller is a member of: each by the passage that was found best."""

    def __init__(
        self, search: BareSearch, tokens: TokenReader | None, database: Database, queries: Queries
    ) -> None:
        self._database = database
        self._sql = queries
        self._search = search
        self._tokens = tokens

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best entries; none when there is nothing to look for."""
        asked = question.text[:QUERY_CHARS].replace("\0", " ")
        if not asked.strip() or caller.user is None:
            return []
        who = who_of(caller)
        if not is_of(who, question.subject) or (question.kinds is not None and ENTRY not in question.kinds):
            return []
        reach = Reach(tenant_id=who.tenant_id, user=who.user, since=question.since, until=question.until)
        most = min(question.limit, MOST_FOUND)
        found = await self._search.best(reach, asked, question.embedded, limit=most)
        agents = await self._agents(who, found) if question.only_agent else {}
        return [self._candidate(one, agents.get(one.row["entry_id"])) for one in found]

    async def _agents(self, who: Who, found: Sequence[Found]) -> Mapping[UUID, str]:
        """Return the agents that entries are of, of those that are of any."""
        ids = [one.row["entry_id"] for one in found]
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["clients_of_entries"], who.tenant_id, ids)
        return {row["entry_id"]: row["client_id"] for row in rows}

    def _place(self, found: Found) -> TokenPlace | None:
        # What the index does not know is no chunk, and stands for its entry.
        is_chunk = found.point_id != found.row["entry_id"]
        return TokenPlace(self._tokens, found.point_id) if is_chunk and self._tokens is not None else None

    def _candidate(self, found: Found, agent_id: str | None) -> Item:
        row = found.row
        return Item(
            kind=ENTRY,
            id=str(row["entry_id"]),
            text=row["text"],
            terms={"retrieval": found.retrieval},
            provenance=_provenance(row["entry_id"], row["conversation_id"]),
            at=row["said_at"],
            tokens=self._place(found),
            whole_chars=row["chars"],
            agent_id=agent_id,
        )


def _conversation(found: Conversation) -> Item:
    return Item(
        kind=CONVERSATION,
        id=str(found.conversation_id),
        text=found.title or found.last_message_preview or "",
        provenance=[f"{CONVERSATION}:{found.conversation_id}"],
        at=found.updated_at,
    )


def _entry(entry: Entry) -> Slices[Item]:
    content = msgspec.json.decode(entry.content)
    return Item(
        kind=ENTRY,
        id=str(entry.entry_id),
        text=(yield from text_of(content)) or entry.content,
        provenance=_provenance(entry.entry_id, entry.conversation_id),
        at=entry.created_at,
        agent_id=entry.client_id or None,
    )


def _provenance(entry_id: UUID, conversation_id: UUID) -> list[str]:
    return [f"{ENTRY}:{entry_id}", f"{CONVERSATION}:{conversation_id}"]


def _who(subject: Subject, caller: Caller) -> Who:
    """Return for whom it is done. Raises NotFound for a subject that is not the caller."""
    who = who_of(caller)
    if not is_of(who, subject):
        raise NotFound("there is no such item")
    return who


def is_of(who: Who, subject: Subject) -> bool:
    """Tell whether a subject is whoever asks, or leaves open who it is; without a client any agent may be it."""
    return (
        subject.tenant_id == who.tenant_id
        and subject.user in (None, who.user)
        and (who.client is None or subject.agent_id in (None, who.client))
    )
