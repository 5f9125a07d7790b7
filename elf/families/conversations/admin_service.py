"""Carries out what operators ask of all conversations of their tenant."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime
from typing import assert_never

from elf.api.caller import Caller
from elf.api.operation import Events, Handler, Operation
from elf.core.clock import Clock
from elf.core.errors import Conflict, Forbidden
from elf.families.conversations.api import admin as d
from elf.families.conversations.api import answers as a
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.reach import Reach
from elf.families.conversations.finding.search import ConversationSearch
from elf.families.conversations.justification import justified
from elf.families.conversations.model import Channel
from elf.families.conversations.oversight import Oversight, Wanted
from elf.families.conversations.rules.duration import moment_before
from elf.families.conversations.service import after_of, who_of
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.offers import Subject


class AdminService:
    """Conversations, whoever is a member of them. `asks_why`: operators have to justify what they ask for."""

    def __init__(
        self,
        oversight: Oversight,
        search: ConversationSearch,
        eviction: Eviction,
        subjects: ConversationSubjects,
        clock: Clock,
        *,
        asks_why: bool,
    ) -> None:
        self._oversight = oversight
        self._search = search
        self._eviction = eviction
        self._subjects = subjects
        self._clock = clock
        self._asks_why = asks_why

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        done_by: dict[Operation, Handler] = {
            d.LIST: self.listed, d.GET: self.get, d.DELETE: self.delete, d.RESTORE: self.restore,
            d.ENTRIES: self.entries, d.MEMBERSHIPS: self.memberships, d.FORKS: self.forks, d.SEARCH: self.search,
            d.EVICT: self.evict, d.ERASE: self.erase,
        }  # fmt: skip
        if not self._asks_why:
            return done_by
        return {operation: justified(handle) for operation, handle in done_by.items()}

    async def listed(self, request: d.AnyConversations, caller: Caller) -> a.ConversationsAnswer:
        found = await self._oversight.page(
            _tenant(caller), _wanted(request), after=after_of(request), limit=request.limit + 1
        )
        page = found[: request.limit]
        return a.ConversationsAnswer(
            data=[a.shown_to_admins(a.summary(one), one) for one in page],
            nextCursor=page[-1].conversation_id if len(found) > len(page) else None,
        )

    async def get(self, request: d.AnyConversation, caller: Caller) -> a.ConversationAnswer:
        found = await self._oversight.get(_tenant(caller), request.conversationId)
        return a.shown_to_admins(a.conversation(found), found)

    async def delete(self, request: d.AnyConversation, caller: Caller) -> None:
        await self._oversight.delete(_tenant(caller), request.conversationId)

    async def restore(self, request: d.AnyConversation, caller: Caller) -> a.ConversationAnswer:
        if not await self._oversight.restore(_tenant(caller), request.conversationId):
            raise Conflict("the conversation is not deleted")
        return await self.get(request, caller)

    async def entries(self, request: d.AnyEntries, caller: Caller) -> a.EntriesAnswer:
        whole_tree = request.forks == "all"
        listed = self._oversight.tree_entries if whole_tree else self._oversight.entries
        channels: dict[str | None, Channel] = {"history": "history", "memory": "memory"}
        found = await listed(
            _tenant(caller), request.conversationId, channel=channels.get(request.channel), after=after_of(request),
            limit=request.limit,
        )  # fmt: skip
        return a.EntriesAnswer(
            data=[a.entry_for_admins(one) for one in found.entries],
            nextCursor=found.entries[-1].entry_id if found.more else None,
        )

    async def memberships(self, request: d.AnyConversation, caller: Caller) -> a.MembershipsAnswer:
        members = await self._oversight.members(_tenant(caller), request.conversationId)
        return a.MembershipsAnswer([a.membership(one, request.conversationId) for one in members])

    async def forks(self, request: d.AnyConversation, caller: Caller) -> a.ForksAnswer:
        rows = await self._oversight.forks(_tenant(caller), request.conversationId)
        return a.ForksAnswer([a.fork(row) for row in rows])

    async def search(self, request: d.SearchEverything, caller: Caller) -> a.SearchAnswer:
        reach = Reach(tenant_id=_tenant(caller), owner=request.userId, deleted=request.includeDeleted)
        return await self._search.found(reach, request)

    async def evict(self, request: d.Evict, caller: Caller) -> Events:
        before = moment_before(self._clock.now(), d.period_of(request))
        return self._evicting(_tenant(caller), before)

    async def _evicting(self, tenant_id: str, before: datetime) -> Events:
        async with aclosing(self._eviction.run(tenant_id, before)) as progress:
            async for percent in progress:
                yield d.EvictionProgress(progress=percent)

    async def erase(self, request: d.Erase, caller: Caller) -> d.Erased:
        return d.Erased(erased=dict(await self._subjects.erase_alone(_subject(request, _tenant(caller)))))


def _subject(request: d.Erase, tenant_id: str) -> Subject:
    """Return what is erased. Raises Forbidden for the name of a tenant that is not the caller's."""
    match request.what:
        case "user":
            return Subject(tenant_id=tenant_id, user=request.name)
        case "agent":
            return Subject(tenant_id=tenant_id, agent_id=request.name)
        case "tenant":
            if request.name != tenant_id:
                raise Forbidden("$.name: is not your tenant", fields=["$.name"])
            return Subject(tenant_id=tenant_id)
        case _:
            assert_never(request.what)


def _tenant(caller: Caller) -> str:
    return who_of(caller).tenant_id


def _wanted(request: d.AnyConversations) -> Wanted:
    """Return what a request lists: who says when something was deleted wants what is deleted."""
    is_dated = request.deletedAfter is not None or request.deletedBefore is not None
    only_deleted = request.onlyDeleted or is_dated
    return Wanted(
        mode=request.mode,
        owner=request.userId,
        live=not only_deleted,
        deleted=only_deleted or request.includeDeleted,
        deleted_after=request.deletedAfter,
        deleted_before=request.deletedBefore,
    )
