"""Entries of conversations over gRPC."""

from __future__ import annotations

from typing import Any

import msgspec

from elf.api.rpc import Fields, Rpc, Servicer
from elf.core.slices import Slices
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import entries as e
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import written
from elf.families.conversations.grpc.fields import CHANNELS, conversation_of, id_of, page_of, sparse, word_of
from elf.families.conversations.grpc.json_values import reading_list


def _listing(asked: pb.ListEntriesRequest) -> Fields:
    """Read which entries are wanted: those of the history, unless it is said otherwise."""
    which = sparse(
        channel=word_of("channel", asked.channel, CHANNELS) or "history",
        epoch=asked.epoch_filter or None,
        forks=asked.forks or None,
    )
    return conversation_of(asked) | which | page_of(asked.page)


def _list(answer: a.EntriesAnswer, _: Any) -> Slices[pb.ListEntriesResponse]:
    made = pb.ListEntriesResponse(page_info=written.page_info(answer.nextCursor))
    for one in answer.data:
        yield from written.writing_entry(one, made.entries.add())
    return made


def _new(asked: pb.AppendEntryRequest | pb.SyncEntriesRequest) -> Slices[Fields]:
    """Read an entry: of memory, unless it is said otherwise."""
    entry = asked.entry
    content = yield from reading_list("content", entry.content)
    conversation_id = id_of("forked_at_conversation_id", entry.forked_at_conversation_id)
    return conversation_of(asked) | sparse(
        userId=entry.user_id or None,
        channel=word_of("channel", entry.channel, CHANNELS) or "memory",
        contentType=entry.content_type or None,
        content=content,
        indexedContent=entry.indexed_content if entry.HasField("indexed_content") else None,
        forkedAtConversationId=conversation_id,
        forkedAtEntryId=id_of("forked_at_entry_id", entry.forked_at_entry_id),
    )


def _entry(answer: a.EntryAnswer, _: Any) -> Slices[pb.Entry]:
    made = pb.Entry()
    yield from written.writing_entry(answer, made)
    return made


def _indexed(answer: a.EntryAnswer) -> list[tuple[str, str]]:
    """Tell how much of its text an entry is found by, where that is not all: its message has no field for that."""
    return [] if answer.indexedChars is None else [("indexed-chars", str(answer.indexedChars))]


def _synced(answer: a.SyncAnswer, _: Any) -> Slices[pb.SyncEntriesResponse]:
    epoch = None if answer.epoch is msgspec.UNSET else answer.epoch
    made = pb.SyncEntriesResponse(epoch=epoch, no_op=answer.noOp, epoch_incremented=answer.epochIncremented)
    if answer.entry is not None:
        yield from written.writing_entry(answer.entry, made.entry)
    return made


ENTRIES = Servicer(
    service=pb.DESCRIPTOR.services_by_name["EntriesService"],
    rpcs={
        "ListEntries": Rpc(operation=e.LIST_ENTRIES, read=_listing, write=_list),
        "AppendEntry": Rpc(operation=e.APPEND, read=_new, write=_entry, trailers=_indexed),
        "SyncEntries": Rpc(operation=e.SYNC, read=_new, write=_synced),
    },
)
