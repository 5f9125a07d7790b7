"""What the next call of an agent's model needs of a conversation: what the agent remembers, else what was said last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import context as c
from elf.families.conversations.model import Entry
from elf.families.conversations.rules.view import Place, View, before
from elf.families.conversations.service import who_of
from elf.families.conversations.store import entry_of, view_of_row
from elf.families.conversations.trees import Who, read_conversation

PAGE: Final = 50


class Newest(NamedTuple):
    """The newest entries of a view, in their order; `is_cut` when there are older ones. `epoch` is of a memory."""

    entries: list[Entry]
    is_cut: bool
    epoch: int | None


class ContextReader:
    """Reads a view from its end on, `page` entries at a time, and no more of it than fits."""

    def __init__(self, database: Database, queries: Queries, *, page: int = PAGE) -> None:
        self._database = database
        self._sql = queries
        self._page = page

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {c.CONTEXT: self.context}

    async def context(self, request: c.ReadContext, caller: Caller) -> a.ContextAnswer:
        found = await self.newest(who_of(caller), request.conversationId, max_chars=request.maxChars)
        return a.ContextAnswer(
            source="history" if found.epoch is None else "memory",
            epoch=found.epoch,
            entries=[a.entry(one) for one in found.entries],
            truncated=found.is_cut,
        )

    async def newest(self, who: Who, id: UUID, *, max_chars: int) -> Newest:
        """Return the memory of a client, of its latest epoch, or where it has none the history.

        As many entries of it as fit into `max_chars` characters of content, and the newest in any case. Raises Missing,
        and Forbidden for one who is no member.
        """
        async with self._database.connection() as connection:
            view = view_of_row(await read_conversation(connection, self._sql, who, id, "reader"))
            epoch = await self._epoch(connection, who, view)
            entries, is_cut = await self._back(connection, who, view, epoch, max_chars)
        return Newest(entries[::-1], is_cut, epoch)

    async def _epoch(self, connection: Connection, who: Who, view: View) -> int | None:
        """Return the latest epoch of a client's memory, None where it has none."""
        if who.client is None:
            return None
        ids, ends = [one.conversation_id for one in view], [one.end for one in view]
        row = await connection.fetchrow(self._sql["latest_memory"], who.tenant_id, who.client, ids, ends)
        return None if row is None else int(row["epoch"])

    async def _back(
        self, connection: Connection, who: Who, view: View, epoch: int | None, max_chars: int
    ) -> tuple[list[Entry], bool]:
        """Return what fits, newest first, and whether there is more."""
        taken: list[Entry] = []
        left, older = max_chars, view
        while older:
            rows = await connection.fetch(
                self._sql["list_view_backwards"], who.tenant_id, [one.conversation_id for one in older],
                [one.end for one in older], epoch is None, who.client, epoch, self._page, left, not taken,
            )  # fmt: skip
            for row in rows:
                if row["content"] is None:
                    return taken, True
                taken.append(entry_of(row))
                left -= row["chars"]
            older = _older(view, rows[-1]) if len(rows) == self._page else []
        return taken, False


def _older(view: View, row: Mapping[str, Any]) -> View:
    return before(view, Place(row["conversation_id"], row["seq"]))
