"""Answers as they are written: quicker than models, and without what is absent."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from elf.families.conversations import model as m
from elf.families.conversations.sessions import model as sm
from elf.families.conversations.sharing import Membership, Transfer
from elf.families.conversations.trees import Row


class _Sparse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Leaves out what is None."""


class ConversationAnswer(_Sparse, kw_only=True):
    id: UUID
    title: str | None = None
    ownerUserId: str
    createdAt: datetime
    updatedAt: datetime
    lastMessagePreview: str | None = None
    accessLevel: m.AccessLevel
    forkedAtEntryId: UUID | None = None
    forkedAtConversationId: UUID | None = None
    deletedAt: datetime | None = None


class ForkAnswer(_Sparse, kw_only=True):
    conversationId: UUID
    forkedAtEntryId: UUID | None = None
    forkedAtConversationId: UUID | None = None
    title: str | None = None
    createdAt: datetime


class MembershipAnswer(_Sparse, kw_only=True):
    conversationId: UUID
    userId: str
    accessLevel: m.AccessLevel
    createdAt: datetime


class TransferAnswer(_Sparse, kw_only=True):
    id: UUID
    conversationId: UUID
    conversationTitle: str | None = None
    fromUserId: str
    toUserId: str
    createdAt: datetime


class EntryAnswer(_Sparse, kw_only=True):
    id: UUID
    conversationId: UUID
    userId: str | None = None
    clientId: str | None = None
    channel: m.Channel
    epoch: int | None = None
    contentType: str
    content: msgspec.Raw
    createdAt: datetime
    indexedChars: int | None = None


class _Page(msgspec.Struct, kw_only=True):
    """A page of a list. Some clients read its cursor as `nextCursor`, others as `afterCursor`."""

    nextCursor: UUID | str | None
    afterCursor: UUID | str | None = None

    def __post_init__(self) -> None:
        self.afterCursor = self.nextCursor


class ConversationsAnswer(_Page, kw_only=True):
    data: list[ConversationAnswer]


class EntriesAnswer(_Page, kw_only=True):
    data: list[EntryAnswer]


class ContextAnswer(_Sparse, kw_only=True):
    source: Literal["memory", "history"]
    epoch: int | None = None
    entries: list[EntryAnswer]
    truncated: bool


class SessionAnswer(msgspec.Struct, kw_only=True):
    id: str
    conversationId: UUID
    newestEntryId: UUID | msgspec.UnsetType = msgspec.UNSET
    data: msgspec.Raw
    revision: str
    createdAt: datetime
    updatedAt: datetime


class SessionsAnswer(msgspec.Struct, kw_only=True):
    data: list[SessionAnswer]
    nextCursor: str | None


class LineAnswer(msgspec.Struct, kw_only=True):
    entries: list[EntryAnswer]
    nextCursor: UUID | None


class ShownSessionAnswer(SessionAnswer, kw_only=True):
    entries: list[EntryAnswer]
    nextCursor: UUID | None


class WrittenSessionAnswer(SessionAnswer, kw_only=True):
    popped: EntryAnswer | None
    entryIds: list[UUID]


class ForksAnswer(msgspec.Struct):
    data: list[ForkAnswer]


class MembershipsAnswer(msgspec.Struct):
    data: list[MembershipAnswer]


class ForkPageAnswer(_Page, kw_only=True):
    data: list[ForkAnswer]


class TransfersAnswer(_Page, kw_only=True):
    data: list[TransferAnswer]


class UnindexedEntryAnswer(msgspec.Struct):
    conversationId: UUID
    entry: EntryAnswer


class UnindexedAnswer(msgspec.Struct, kw_only=True):
    data: list[UnindexedEntryAnswer]
    cursor: str | None


class SearchResultAnswer(_Sparse, kw_only=True):
    conversationId: UUID
    conversationTitle: str | None = None
    entryId: UUID
    score: float
    highlights: str | None = None
    entry: EntryAnswer | None = None


class SearchAnswer(_Page, kw_only=True):
    data: list[SearchResultAnswer]
    degraded: list[str] | msgspec.UnsetType


class SyncAnswer(msgspec.Struct, kw_only=True):
    epoch: int | msgspec.UnsetType
    noOp: bool
    epochIncremented: bool
    entry: EntryAnswer | None


def summary(one: m.Conversation) -> ConversationAnswer:
    """Return a conversation in a list."""
    return ConversationAnswer(
        id=one.conversation_id,
        title=one.title,
        ownerUserId=one.owner_user_id,
        createdAt=one.created_at,
        updatedAt=one.updated_at,
        lastMessagePreview=one.last_message_preview,
        accessLevel=one.access_level,
    )


def conversation(one: m.Conversation) -> ConversationAnswer:
    """Return a conversation."""
    return msgspec.structs.replace(
        summary(one),
        forkedAtEntryId=one.forked_at_entry_id,
        forkedAtConversationId=one.forked_at_conversation_id,
    )


def shown_to_admins(answer: ConversationAnswer, one: m.Conversation) -> ConversationAnswer:
    """Return the answer with what only operators see of a conversation."""
    return msgspec.structs.replace(answer, deletedAt=one.deleted_at)


def fork(row: Row) -> ForkAnswer:
    """Return a conversation of a tree."""
    return ForkAnswer(
        conversationId=row["conversation_id"],
        forkedAtEntryId=row["forked_at_entry_id"],
        forkedAtConversationId=row["forked_at_conversation_id"],
        title=row["title"],
        createdAt=row["created_at"],
    )


def membership(one: Membership, conversation_id: UUID) -> MembershipAnswer:
    """Return a membership, as that of the conversation that was asked for."""
    return MembershipAnswer(
        conversationId=conversation_id,
        userId=one.user_id,
        accessLevel=one.access_level,
        createdAt=one.created_at,
    )


def transfer(one: Transfer) -> TransferAnswer:
    """Return a transfer."""
    return TransferAnswer(
        id=one.transfer_id,
        conversationId=one.conversation_id,
        conversationTitle=one.title,
        fromUserId=one.from_user_id,
        toUserId=one.to_user_id,
        createdAt=one.created_at,
    )


def entry(one: m.Entry) -> EntryAnswer:
    """Return an entry."""
    return EntryAnswer(
        id=one.entry_id,
        conversationId=one.conversation_id,
        userId=one.user_id,
        channel=one.channel,
        epoch=one.epoch,
        contentType=one.content_type,
        content=msgspec.Raw(one.content.encode()),
        createdAt=one.created_at,
    )


def written_entry(one: m.Entry, new: m.NewEntry) -> EntryAnswer:
    """Return an entry that was written just now."""
    return msgspec.structs.replace(entry(one), indexedChars=new.indexed_chars)


def entry_for_admins(one: m.Entry) -> EntryAnswer:
    """Return an entry with what only operators see of it."""
    return msgspec.structs.replace(entry(one), clientId=one.client_id)


def session(one: sm.Session) -> SessionAnswer:
    """Return a session without its entries."""
    return SessionAnswer(**_session(one))


def shown_session(one: sm.Session, shown: sm.Line) -> ShownSessionAnswer:
    """Return a session with some of its entries."""
    entries = [entry(each) for each in shown.entries]
    return ShownSessionAnswer(**_session(one), entries=entries, nextCursor=shown.older)


def written_session(done: sm.Written) -> WrittenSessionAnswer:
    """Return a session as it was written."""
    popped = None if done.popped is None else entry(done.popped)
    return WrittenSessionAnswer(**_session(done.session), popped=popped, entryIds=[*done.entry_ids])


def line(shown: sm.Line) -> LineAnswer:
    """Return some entries of a line."""
    return LineAnswer(entries=[entry(each) for each in shown.entries], nextCursor=shown.older)


def _session(one: sm.Session) -> dict[str, Any]:
    return {
        "id": one.session_id,
        "conversationId": one.conversation_id,
        "newestEntryId": msgspec.UNSET if one.entry_id is None else one.entry_id,
        "data": msgspec.Raw(one.data.encode()),
        "revision": one.revision,
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
    }
