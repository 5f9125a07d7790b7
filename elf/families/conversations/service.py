"""Carries out what is asked over the wire: who asks, by which rules, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import msgspec

from elf.api.caller import DEFAULT_TENANT, Caller
from elf.api.cursor import BEFORE_THE_OLDEST, Cursor, decode_cursor, encode_cursor
from elf.api.operation import Handler, Operation
from elf.core.errors import Forbidden, InvalidRequest
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import conversations as c
from elf.families.conversations.api import entries as e
from elf.families.conversations.api import fields as f
from elf.families.conversations.api import recording as r
from elf.families.conversations.api.fields import STANDARD
from elf.families.conversations.entry_counts import EntryCounts
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.model import Channel, ForkPoint, NewEntry
from elf.families.conversations.recording.recorder import Recorder
from elf.families.conversations.rules.history import (
    CONTENT_TYPE,
    beginning_of,
    check_history,
    of_a_user,
    preview_of,
    title_of,
)
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore, Shown
from elf.families.conversations.trees import Who

T_co = TypeVar("T_co", covariant=True)


def who_of(caller: Caller) -> Who:
    """Return for whom something is done. Raises Unauthorized for a caller without a user."""
    caller.require_user()
    assert caller.user is not None, "it is required"
    return Who(
        tenant_id=caller.bound.get("tenant_id", DEFAULT_TENANT), user=caller.user, client=caller.client
    )


class ConversationService:
    """Conversations, their forks, their members and their transfers."""

    def __init__(self, store: ConversationStore, sharing: TreeSharing) -> None:
        self._store = store
        self._sharing = sharing

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {
            c.HEALTH: self.health, c.LIST: self.listed, c.CREATE: self.create, c.GET: self.get, c.PATCH: self.patch,
            c.DELETE: self.delete, c.FORK: self.fork, c.FORKS: self.forks, c.MEMBERSHIPS: self.memberships,
            c.SHARE: self.share, c.CHANGE_MEMBERSHIP: self.change_membership,
            c.REMOVE_MEMBERSHIP: self.remove_membership, c.TRANSFERS: self.transfers, c.TRANSFER: self.transfer,
            c.GET_TRANSFER: self.get_transfer, c.END_TRANSFER: self.end_transfer,
            c.ACCEPT_TRANSFER: self.accept_transfer,
        }  # fmt: skip

    async def health(self, _: c.NoParameters, caller: Caller) -> c.Health:
        return c.Health(status="ok")

    async def listed(self, request: c.ListConversations, caller: Caller) -> a.ConversationsAnswer:
        found = await self._store.page(
            who_of(caller), mode=request.mode, after=after_of(request), query=request.query, limit=request.limit + 1
        )  # fmt: skip
        page = found[: request.limit]
        more = len(found) > len(page)
        return a.ConversationsAnswer(
            data=[a.summary(one) for one in page], nextCursor=page[-1].conversation_id if more else None
        )

    async def create(self, request: c.CreateConversation, caller: Caller) -> a.ConversationAnswer:
        made = await self._store.create(
            who_of(caller), title=request.title, metadata=request.metadata, id=request.id
        )
        return a.conversation(made)

    async def get(self, request: f.OneConversation, caller: Caller) -> a.ConversationAnswer:
        return a.conversation(await self._store.get(who_of(caller), request.conversationId))

    async def patch(self, request: c.ChangeConversation, caller: Caller) -> a.ConversationAnswer:
        who, id = who_of(caller), request.conversationId
        if "title" not in request.model_fields_set:
            return a.conversation(await self._store.get(who, id, level="writer"))
        return a.conversation(await self._store.retitle(who, id, request.title))

    async def delete(self, request: f.OneConversation, caller: Caller) -> None:
        await self._store.delete(who_of(caller), request.conversationId)

    async def fork(self, request: c.ForkEntry, caller: Caller) -> a.ConversationAnswer:
        made = await self._store.fork(
            who_of(caller), request.conversationId, request.entryId, title=request.title
        )
        return a.conversation(made)

    async def forks(self, request: c.ListForks, caller: Caller) -> a.ForkPageAnswer:
        rows = await self._store.forks(
            who_of(caller), request.conversationId, after=after_of(request), limit=request.limit + 1
        )
        page = rows[: request.limit]
        return a.ForkPageAnswer(
            data=[a.fork(row) for row in page],
            nextCursor=page[-1]["conversation_id"] if len(rows) > len(page) else None,
        )

    async def memberships(self, request: f.OneConversation, caller: Caller) -> a.MembershipsAnswer:
        members = await self._sharing.members(who_of(caller), request.conversationId)
        return a.MembershipsAnswer([a.membership(one, request.conversationId) for one in members])

    async def share(self, request: c.Share, caller: Caller) -> a.MembershipAnswer:
        given = await self._sharing.share(
            who_of(caller), request.conversationId, request.userId, request.accessLevel
        )
        return a.membership(given, request.conversationId)

    async def change_membership(self, request: c.Share, caller: Caller) -> a.MembershipAnswer:
        given = await self._sharing.change(
            who_of(caller), request.conversationId, request.userId, request.accessLevel
        )
        return a.membership(given, request.conversationId)

    async def remove_membership(self, request: c.OneMembership, caller: Caller) -> None:
        await self._sharing.remove(who_of(caller), request.conversationId, request.userId)

    async def transfers(self, request: c.ListTransfers, caller: Caller) -> a.TransfersAnswer:
        who = who_of(caller)
        listing = ("ownership_transfers", who.tenant_id, who.user, request.role)
        after = after_of(request)
        found = await self._sharing.transfers(
            who,
            request.role,
            after=BEFORE_THE_OLDEST if after is None else _place_of_transfer(after, listing),
            limit=request.limit + 1,
        )
        page = found[: request.limit]
        is_more = len(found) > len(page)
        return a.TransfersAnswer(
            data=[a.transfer(one) for one in page],
            nextCursor=encode_cursor(page[-1].created_at, page[-1].transfer_id, *listing)
            if is_more
            else None,
        )

    async def transfer(self, request: c.CreateTransfer, caller: Caller) -> a.TransferAnswer:
        made = await self._sharing.transfer(who_of(caller), request.conversationId, request.newOwnerUserId)
        return a.transfer(made)

    async def get_transfer(self, request: c.OneTransfer, caller: Caller) -> a.TransferAnswer:
        return a.transfer(await self._sharing.get_transfer(who_of(caller), request.transferId))

    async def end_transfer(self, request: c.OneTransfer, caller: Caller) -> None:
        await self._sharing.end_transfer(who_of(caller), request.transferId)

    async def accept_transfer(self, request: c.OneTransfer, caller: Caller) -> None:
        await self._sharing.accept(who_of(caller), request.transferId)


class EntryService:
    """What is said in conversations, and what agents remember of it. An entry is found by its first `indexed_chars`."""

    def __init__(
        self,
        store: ConversationStore,
        counts: EntryCounts,
        *,
        indexed_chars: int = STANDARD.indexed_content_chars,
    ) -> None:
        self._store = store
        self._counts = counts
        self._indexed_chars = indexed_chars

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {e.LIST_ENTRIES: self.listed, e.APPEND: self.append, e.SYNC: self.sync}

    async def listed(self, request: e.ListEntries, caller: Caller) -> a.EntriesAnswer:
        who = who_of(caller)
        if request.channel == "memory" and who.client is None:
            raise Forbidden("memory is a client's: say which")
        client = None if request.channel == "history" else who.client
        epoch = int(request.epoch) if request.epoch is not None and request.epoch.isdigit() else None
        shown = Shown(request.channel != "memory", client, epoch)
        id, after, limit = request.conversationId, after_of(request), request.limit
        if request.forks == "all":
            found = await self._store.tree_entries(who, id, shown=shown, after=after, limit=limit)
        else:
            is_latest = request.epoch in (None, "latest")
            found = await self._store.entries(
                who, id, shown=shown, is_latest=is_latest, after=after, limit=limit
            )
        return a.EntriesAnswer(
            data=[a.entry(one) for one in found.entries],
            nextCursor=found.entries[-1].entry_id if found.more else None,
        )

    async def append(self, request: e.CreateEntry, caller: Caller) -> a.EntryAnswer:
        who = who_of(caller)
        entry = new_entry(request, who, most=self._indexed_chars)
        written = await self._store.append(who, request.conversationId, entry, at=fork_point(request))
        self._counts.written(entry.channel)
        return a.written_entry(written, entry)

    async def sync(self, request: e.SyncEntries, caller: Caller) -> a.SyncAnswer:
        who = who_of(caller)
        if request.channel != "memory":
            raise RuleBroken("sync entry must target the memory channel")
        if who.client is None:
            raise Forbidden("memory is a client's: say which")
        _refuse_indexed(request)
        done = await self._store.sync(
            who, request.conversationId, request.contentType, request.content, request.userId
        )
        self._counts.synced(done.outcome)
        return a.SyncAnswer(
            epoch=msgspec.UNSET if done.epoch is None else done.epoch,
            noOp=done.entry is None,
            epochIncremented=done.outcome == "new_epoch",
            entry=None if done.entry is None else a.entry(done.entry),
        )


class ResponseService:
    """The answers of agents while they are made."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {r.CANCEL_RESPONSE: self.cancel}

    async def cancel(self, request: f.OneConversation, caller: Caller) -> None:
        await self._recorder.cancel(who_of(caller), request.conversationId)


def _place_of_transfer(after: str, listing: Sequence[str]) -> Cursor:
    """Return where a page of transfers begins: one that ended meanwhile still has its place."""
    try:
        return decode_cursor(after, *listing)
    except InvalidRequest as error:
        raise RuleBroken("after is not a cursor of this listing", fields=["$.after"]) from error


class _Paged(Protocol[T_co]):
    """A request that says behind what its page begins."""

    @property
    def after(self) -> T_co | None: ...

    @property
    def afterCursor(self) -> T_co | None: ...


def after_of(request: _Paged[T_co]) -> T_co | None:
    """Return behind what a page begins. Raises InvalidRequest when it is said twice."""
    if request.after is not None and request.afterCursor is not None:
        raise InvalidRequest(
            "$.afterCursor: is another name for after, which is given, too", fields=["$.afterCursor"]
        )
    return request.after or request.afterCursor


def fork_point(request: e.CreateEntry) -> ForkPoint | None:
    """Return where a new conversation forks from. Raises InvalidRequest for an entry without its conversation."""
    conversation_id, entry_id = request.forkedAtConversationId, request.forkedAtEntryId
    if conversation_id is not None:
        return ForkPoint(conversation_id=conversation_id, entry_id=entry_id)
    if entry_id is not None:
        raise InvalidRequest(
            "$.forkedAtConversationId: is missing: forkedAtEntryId is an entry of it",
            fields=["$.forkedAtConversationId"],
        )
    return None


def new_entry(request: e.CreateEntry, who: Who, *, most: int) -> NewEntry:
    """Return the entry that a request asks for, which is found by the first `most` characters of what a user says.

    Raises RuleBroken and Forbidden for what may not be written.
    """
    if who.client is None:
        return _said_by_a_user(request, who, most)
    channel: Channel = "history" if request.channel == "history" else "memory"
    if channel == "memory":
        _refuse_indexed(request)
        return NewEntry(
            channel=channel, content_type=request.contentType, content=request.content, user_id=request.userId,
            client_id=who.client,
        )  # fmt: skip
    check_history(request.contentType, request.content)
    return of_history(request.contentType, request.content, request.userId, request.indexedContent, who)


def _said_by_a_user(request: e.CreateEntry, who: Who, most: int) -> NewEntry:
    if request.channel == "memory":
        raise Forbidden("memory is a client's: say which")
    if request.channel == "history":
        check_history(request.contentType, request.content)
    if request.userId not in (None, who.user):
        raise Forbidden("a user speaks for nobody else")
    block = of_a_user(request.content)
    check_history(CONTENT_TYPE, [block])
    entry = of_history(CONTENT_TYPE, [block], who.user, request.indexedContent, who)
    if entry.indexed_content is not None or (beginning := beginning_of([block], most)) is None:
        return entry
    return replace(entry, indexed_content=beginning.text, indexed_chars=beginning.chars)


def of_history(
    content_type: str, content: list[Any], user: str | None, indexed: str | None, who: Who
) -> NewEntry:
    """Return an entry of a history, which is what the history takes."""
    return NewEntry(
        channel="history", content_type=content_type, content=content, user_id=user, client_id=who.client,
        indexed_content=indexed, title=title_of(content), preview=preview_of(content),
    )  # fmt: skip


def _refuse_indexed(request: e.CreateEntry) -> None:
    if request.indexedContent is not None:
        raise RuleBroken("indexedContent is only allowed on history channel")
