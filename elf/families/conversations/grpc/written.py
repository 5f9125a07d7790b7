"""Answers of operations as messages. What is absent is empty."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from elf.core.slices import Slices
from elf.families.conversations.api import answers as a
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.json_values import writing_list


def id_bytes(id: UUID | None) -> bytes:
    """Return the bytes of an id."""
    return b"" if id is None else id.bytes


def moment(at: datetime) -> str:
    """Return a moment as it is written in JSON."""
    text: str = msgspec.to_builtins(at)
    return text


def page_info(cursor: Any) -> pb.PageInfo:
    """Return where the next page begins, if there is one."""
    return pb.PageInfo(next_page_token="" if cursor is None else str(cursor))


def _common(one: a.ConversationAnswer) -> dict[str, Any]:
    return {
        "id": one.id.bytes,
        "title": one.title,
        "owner_user_id": one.ownerUserId,
        "created_at": moment(one.createdAt),
        "updated_at": moment(one.updatedAt),
        "last_message_preview": one.lastMessagePreview,
        "access_level": one.accessLevel.upper(),
    }


def summary(one: a.ConversationAnswer) -> pb.ConversationSummary:
    """Return a conversation in a list."""
    return pb.ConversationSummary(**_common(one))


def conversation(one: a.ConversationAnswer) -> pb.Conversation:
    """Return a conversation."""
    return pb.Conversation(
        **_common(one),
        forked_at_entry_id=id_bytes(one.forkedAtEntryId),
        forked_at_conversation_id=id_bytes(one.forkedAtConversationId),
    )


def fork(one: a.ForkAnswer) -> pb.ConversationForkSummary:
    """Return a conversation of a tree."""
    return pb.ConversationForkSummary(
        conversation_id=one.conversationId.bytes,
        forked_at_entry_id=id_bytes(one.forkedAtEntryId),
        forked_at_conversation_id=id_bytes(one.forkedAtConversationId),
        title=one.title,
        created_at=moment(one.createdAt),
    )


def membership(one: a.MembershipAnswer) -> pb.ConversationMembership:
    """Return what a user may do in a tree."""
    return pb.ConversationMembership(
        conversation_id=one.conversationId.bytes,
        user_id=one.userId,
        access_level=one.accessLevel.upper(),
        created_at=moment(one.createdAt),
    )


def transfer(one: a.TransferAnswer) -> pb.OwnershipTransfer:
    """Return a transfer."""
    return pb.OwnershipTransfer(
        id=one.id.bytes,
        conversation_id=one.conversationId.bytes,
        conversation_title=one.conversationTitle,
        from_user_id=one.fromUserId,
        to_user_id=one.toUserId,
        created_at=moment(one.createdAt),
    )


def writing_entry(one: a.EntryAnswer, entry: pb.Entry) -> Slices[None]:
    """Write an entry, whose content may be large, into a message."""
    entry.id = one.id.bytes
    entry.conversation_id = one.conversationId.bytes
    entry.user_id = one.userId or ""
    entry.channel = pb.HISTORY if one.channel == "history" else pb.MEMORY
    entry.epoch = one.epoch or 0
    entry.content_type = one.contentType
    entry.created_at = moment(one.createdAt)
    yield from writing_list(msgspec.json.decode(one.content), entry.content.add)
