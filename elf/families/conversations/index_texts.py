"""Gives entries the texts by which they are found, and lists those that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_OLDEST, decode_cursor, encode_cursor
from elf.api.operation import Handler, Operation
from elf.core.blank_text import is_blank
from elf.core.clock import Clock
from elf.core.slices import in_slices
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import indexing as i
from elf.families.conversations.errors import Missing, RuleBroken
from elf.families.conversations.rules.words import spacing
from elf.families.conversations.service import who_of
from elf.families.conversations.store import ENTRY, entry_of
from elf.families.conversations.trees import again
from elf.indexing.writes import CorpusWrites


class GivenText(NamedTuple):
    """A text for an entry."""

    conversation_id: UUID
    entry_id: UUID
    text: str


class IndexTexts:
    """Carries out what indexers ask for: in all conversations of their tenant, whoever is a member."""

    def __init__(self, database: Database, clock: Clock, queries: Queries, writes: CorpusWrites) -> None:
        self._database = database
        self._clock = clock
        self._sql = queries
        self._writes = writes

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {i.INDEX: self.index, i.UNINDEXED: self.unindexed}

    async def index(self, request: i.IndexEntries, caller: Caller) -> i.Indexed:
        given = [_given(place, one) for place, one in enumerate(request.entries)]
        if not given:
            raise RuleBroken("At least one entry is required")
        await self._index(who_of(caller).tenant_id, given)
        return i.Indexed(indexed=len(given))

    @again
    async def _index(self, tenant_id: str, given: Sequence[GivenText]) -> None:
        """Give all entries their texts, the last one given where there are several; or none of them."""
        texts = {one.entry_id: one.text for one in given}
        words = [await in_slices(spacing(text)) for text in texts.values()]
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_entries"], tenant_id, list(texts))
            found = {row["entry_id"]: row for row in rows}
            for one in given:
                row = found.get(one.entry_id)
                if row is None or row["conversation_id"] != one.conversation_id:
                    raise Missing(ENTRY, one.entry_id)
                if row["channel"] != "history":
                    raise RuleBroken("Only entries of the history channel are indexed")
            await connection.execute(
                self._sql["index_entries"], tenant_id, list(texts), list(texts.values()),
                words, self._writes.embedding_version, self._clock.now(),
            )  # fmt: skip
            await self._writes.wrote(connection, (tenant_id,), list(texts))

    async def unindexed(self, request: i.ListUnindexed, caller: Caller) -> a.UnindexedAnswer:
        tenant_id = who_of(caller).tenant_id
        listing = ("unindexed_entries", tenant_id)
        start = BEFORE_THE_OLDEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_unindexed"], tenant_id, start.moment, start.id, request.limit + 1
            )
        page = rows[: request.limit]
        more = bool(rows) and rows[0]["found"] > len(page)
        return a.UnindexedAnswer(
            data=[a.UnindexedEntryAnswer(row["conversation_id"], a.entry(entry_of(row))) for row in page],
            cursor=encode_cursor(page[-1]["created_at"], page[-1]["entry_id"], *listing) if more else None,
        )


def _given(place: int, entry: i.IndexedEntry) -> GivenText:
    """Return what is given for an entry. Raises RuleBroken for what is left out or blank."""
    conversation_id, entry_id, text = entry.conversationId, entry.entryId, entry.indexedContent
    if conversation_id is None:
        raise RuleBroken(f"conversationId is required for entry {place}")
    if entry_id is None:
        raise RuleBroken(f"entryId is required for entry {place}")
    if text is None or is_blank(text):
        raise RuleBroken(f"indexedContent is required for entry {place}")
    return GivenText(conversation_id, entry_id, text)
