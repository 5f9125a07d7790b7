"""Words in entries that something was remembered by: which entries still hold them, and taking them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.api.caller import Caller
from elf.core.blank_text import is_blank
from elf.core.clock import Clock
from elf.core.slices import in_slices
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.offers import is_of
from elf.families.conversations.rules.words import spacing
from elf.families.conversations.service import who_of
from elf.families.conversations.trees import Who, again, named
from elf.indexing.writes import CorpusWrites
from elf.offers import Source, Subject

MARK: Final = "[redacted]"
MOST: Final = 1000
"""Entries of a conversation that are looked at, the newest first."""

Row = Mapping[str, Any]


class EntryRedaction:
    """Finds quotes in the entries that the user may read, and takes them out of those that are the user's."""

    def __init__(self, database: Database, clock: Clock, queries: Queries, writes: CorpusWrites) -> None:
        self._database = database
        self._clock = clock
        self._sql = queries
        self._writes = writes

    async def holding(self, sources: Sequence[Source], subject: Subject, caller: Caller) -> Sequence[UUID]:
        """Return the entries that still hold what something rests on, of those that the caller may read."""
        if caller.user is None or not is_of(who := who_of(caller), subject):
            return []
        async with self._database.connection() as connection:
            return [row["entry_id"] for row, _ in await self._found(connection, who, sources)]

    @again
    async def redact(self, sources: Sequence[Source], subject: Subject, caller: Caller) -> Sequence[UUID]:
        """Take the quotes out of the entries that hold them; returns those of which they are gone.

        The words of others, in conversations that somebody else owns, stay.
        """
        if caller.user is None or not is_of(who := who_of(caller), subject):
            return []
        async with self._database.transaction() as connection:
            found = [
                (row, quotes)
                for row, quotes in await self._found(connection, who, sources)
                if row["may_redact"]
            ]
            ids = [row["entry_id"] for row, _ in found]
            locked = await connection.fetch(self._sql["lock_entries"], who.tenant_id, ids)
            held = {row["entry_id"] for row in locked}
            for row, quotes in found:
                if row["entry_id"] in held:
                    await self._redact(connection, who.tenant_id, row, quotes)
            await self._writes.wrote(connection, (who.tenant_id,), list(held))
        return list(held)

    async def _found(
        self, connection: Connection, who: Who, sources: Sequence[Source]
    ) -> list[tuple[Row, Sequence[str]]]:
        """Return the entries that hold a quote, each with those."""
        entries, conversations = await self._places(connection, who, sources)
        rows = await connection.fetch(
            self._sql["entries_of_sources"], who.tenant_id, who.user, entries, conversations, MOST
        )
        quotes = list(dict.fromkeys(quote for source in sources for quote in source.quotes))
        found: list[tuple[Row, Sequence[str]]] = []
        for row in rows:
            text = _text_of(msgspec.json.decode(row["content"]))
            held = [quote for quote in quotes if quote in text]
            if held:
                found.append((row, held))
        return found

    async def _places(
        self, connection: Connection, who: Who, sources: Sequence[Source]
    ) -> tuple[list[UUID], list[UUID]]:
        """Return the entries and the conversations that sources name."""
        entries: dict[UUID, None] = {}
        conversations: dict[UUID, None] = {}
        for name in dict.fromkeys(name for source in sources for name in source.names):
            kind, _, id = name.partition(":")
            if kind == "thread":
                conversations[await named(connection, self._sql, who.tenant_id, who.user, id)] = None
            elif kind in ("entry", "conversation"):
                try:
                    (entries if kind == "entry" else conversations)[UUID(id)] = None
                except ValueError:  # a name that another program gave
                    continue
        return list(entries), list(conversations)

    async def _redact(self, connection: Connection, tenant_id: str, row: Row, quotes: Sequence[str]) -> None:
        content = _without(msgspec.json.decode(row["content"]), quotes)
        is_empty = is_blank(_text_of(content).replace(MARK, "").strip(" .,;:!?\n"))
        if is_empty:
            content = [{"role": content[0].get("role"), "text": ""}]
        id = row["entry_id"]
        written = msgspec.json.encode(content).decode()
        await connection.execute(self._sql["redact_entry"], tenant_id, id, written, is_empty)
        indexed = _without(row["indexed"], quotes)
        if is_empty:
            await connection.fetch(self._sql["erase_texts"], tenant_id, [id])
        elif indexed is not None:
            words = await in_slices(spacing(indexed))
            await connection.execute(
                self._sql["index_entries"], tenant_id, [id], [indexed], [words],
                self._writes.embedding_version, self._clock.now(),
            )  # fmt: skip
        for quote in quotes:
            await connection.execute(
                self._sql["redact_titles"], tenant_id, row["conversation_id"], quote, MARK
            )


def _text_of(content: Any) -> str:
    texts = (block.get("text") for block in content if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _without(value: Any, quotes: Sequence[str]) -> Any:
    """Return JSON in whose texts a mark stands for each quote."""
    if isinstance(value, str):
        for quote in quotes:
            value = value.replace(quote, MARK)
        return value
    if isinstance(value, dict):
        return {key: _without(item, quotes) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, quotes) for item in value]
    return value
