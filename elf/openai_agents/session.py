"""A session of the OpenAI Agents SDK that is kept in ELF."""

from __future__ import annotations

from typing import Any, Final, cast

from agents.items import TResponseInputItem
from agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)

from elf.client import Conflict, InvalidRequest, NotFound
from elf.client.awaited import AnyClient, Awaited
from elf.client.families.conversations import Entry
from elf.client.json_value import encode
from elf.core.batches import batches
from elf.openai_agents.items import entry_of, item_of

PAGE: Final = 200
AT_ONCE: Final = 10_000
BYTES_AT_ONCE: Final = 7 << 20
READINGS: Final = 5


class ElfSession:
    """The items of a conversation by the name that the user who calls has for it.

    `client` is a Client or an AsyncClient, which proves a user and names the client that writes; it stays yours to
    close. Items are kept as they are. What is popped or cleared is shown no more, and stays in ELF until it is erased.
    """

    def __init__(
        self,
        session_id: str,
        client: AnyClient,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._conversations = Awaited(client).conversations

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items, oldest first: `limit` of them, or as many as the settings say, else all."""
        most = resolve_session_limit(limit, self.session_settings)
        for _ in range(READINGS):
            if (items := await self._read(most)) is not None:
                return cast("list[TResponseInputItem]", items)
        raise Conflict(f"session {self.session_id!r} was changed again and again while it was read")

    async def _read(self, most: int | None) -> list[dict[str, Any]] | None:
        """Return the newest items; None when another took entries off between two pages of them."""
        newest_first: list[dict[str, Any]] = []
        before = None
        while most is None or len(newest_first) < most:
            wanted = PAGE if most is None else min(PAGE, most - len(newest_first))
            try:
                page = await self._conversations.session(self.session_id, limit=wanted, before=before)
            except NotFound:
                return []
            except InvalidRequest:
                if before is None:
                    raise
                return None
            newest_first += _items(page.entries[::-1])
            if (before := page.next_cursor) is None:
                break
        return newest_first[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items behind the newest: all or none of them, unless they are more than a request may hold."""
        entries = (entry_of(cast("dict[str, Any]", item)) for item in items)
        for some in batches(entries, lambda one: len(encode(one)), most_size=BYTES_AT_ONCE, most=AT_ONCE):
            await self._conversations.write_session(self.session_id, some)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item off and return it; None when there is none. Two at once take two."""
        while True:
            try:
                written = await self._conversations.write_session(self.session_id, keep="but_newest")
            except NotFound:
                return None
            if written.popped is None:
                return None
            if (item := item_of(written.popped)) is not None:
                return cast("TResponseInputItem", item)

    async def clear_session(self) -> None:
        """Begin anew."""
        try:
            await self._conversations.write_session(self.session_id, keep="none")
        except NotFound:
            return


def _items(entries: list[Entry]) -> list[dict[str, Any]]:
    return [item for entry in entries if (item := item_of(entry)) is not None]
