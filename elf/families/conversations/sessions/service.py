"""Carries out what is asked of sessions: who asks, by which rules, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.errors import Forbidden
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import sessions as s
from elf.families.conversations.entry_counts import EntryCounts
from elf.families.conversations.model import NewEntry
from elf.families.conversations.rules.history import check_history, role_of
from elf.families.conversations.service import of_history, who_of
from elf.families.conversations.sessions.model import Change
from elf.families.conversations.sessions.store import SessionStore
from elf.families.conversations.trees import Who


class SessionService:
    """Lines of entries by the names that users have for them."""

    def __init__(self, store: SessionStore, counts: EntryCounts) -> None:
        self._store = store
        self._counts = counts

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {
            s.LIST_SESSIONS: self.listed, s.READ_SESSION: self.read, s.WRITE_SESSION: self.write,
            s.DROP_SESSION: self.drop, s.READ_LINE: self.line,
        }  # fmt: skip

    async def listed(self, request: s.ListSessions, caller: Caller) -> a.SessionsAnswer:
        page, more = await self._store.page(who_of(caller), after=request.after, limit=request.limit)
        return a.SessionsAnswer(
            data=[a.session(one) for one in page], nextCursor=page[-1].session_id if more else None
        )

    async def read(self, request: s.ReadSession, caller: Caller) -> a.ShownSessionAnswer:
        session, line = await self._store.read(
            who_of(caller), request.sessionId, older_than=request.before, limit=request.limit
        )
        return a.shown_session(session, line)

    async def line(self, request: s.ReadLine, caller: Caller) -> a.LineAnswer:
        found = await self._store.line(
            who_of(caller), request.key, older_than=request.before, limit=request.limit
        )
        return a.line(found)

    async def write(self, request: s.WriteSession, caller: Caller) -> a.WrittenSessionAnswer:
        who = who_of(caller)
        if who.client is None:
            raise Forbidden("a session is written by a client: say which")
        change = Change(
            keep=request.keep,
            behind=request.behind,
            entries=[_entry(one, who) for one in request.entries],
            data=request.data,
            revision=request.revision,
            expected=request.expectedRevision,
            is_new=request.isNew,
        )
        written = await self._store.write(who, request.sessionId, change)
        for entry in change.entries:
            self._counts.written(entry.channel)
        return a.written_session(written)

    async def drop(self, request: s.DropSession, caller: Caller) -> None:
        await self._store.drop(who_of(caller), request.sessionId, expected=request.expectedRevision)


def _entry(one: s.SessionEntry, who: Who) -> NewEntry:
    """Return an entry, which is its user's where that speaks. Raises RuleBroken for what no history takes."""
    check_history(one.contentType, one.content)
    user = who.user if role_of(one.content) == "USER" else None
    return replace(
        of_history(one.contentType, one.content, user, one.indexedContent, who), session_key=one.key
    )
