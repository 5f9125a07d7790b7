"""Searching conversations, and the texts by which entries are found, over gRPC."""

from __future__ import annotations

from typing import Any

from elf.api.rpc import Fields, Rpc, Servicer
from elf.core.slices import Slices
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import indexing as i
from elf.families.conversations.api import search as s
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import written
from elf.families.conversations.grpc.fields import conversation_of, id_of, sparse


def _search(asked: pb.SearchEntriesRequest) -> Fields:
    entry = asked.include_entry if asked.HasField("include_entry") else None
    return sparse(
        query=asked.query or None, after=asked.after or None, limit=asked.limit or None, includeEntry=entry
    )


def _found(answer: a.SearchAnswer, _: Any) -> Slices[pb.SearchEntriesResponse]:
    made = pb.SearchEntriesResponse(next_cursor=None if answer.nextCursor is None else str(answer.nextCursor))
    for one in answer.data:
        added = made.results.add(
            conversation_id=one.conversationId.bytes,
            conversation_title=one.conversationTitle,
            entry_id=one.entryId.bytes,
            score=one.score,
            highlights=one.highlights,
        )
        if one.entry is not None:
            yield from written.writing_entry(one.entry, added.entry)
    return made


def _given(asked: pb.IndexConversationsRequest) -> Fields:
    return {"entries": [_text(one) for one in asked.entries]}


def _text(one: pb.IndexEntryRequest) -> Fields:
    text = sparse(entryId=id_of("entry_id", one.entry_id), indexedContent=one.indexed_content or None)
    return conversation_of(one) | text


def _indexed(answer: i.Indexed, _: Any) -> pb.IndexConversationsResponse:
    return pb.IndexConversationsResponse(indexed=answer.indexed)


def _listing(asked: pb.ListUnindexedEntriesRequest) -> Fields:
    return sparse(limit=asked.limit or None, cursor=asked.cursor if asked.HasField("cursor") else None)


def _unindexed(answer: a.UnindexedAnswer, _: Any) -> Slices[pb.ListUnindexedEntriesResponse]:
    made = pb.ListUnindexedEntriesResponse(cursor=answer.cursor)
    for one in answer.data:
        added = made.entries.add(conversation_id=one.conversationId.bytes)
        yield from written.writing_entry(one.entry, added.entry)
    return made


SEARCH = Servicer(
    service=pb.DESCRIPTOR.services_by_name["SearchService"],
    rpcs={
        "SearchConversations": Rpc(operation=s.SEARCH, read=_search, write=_found),
        "IndexConversations": Rpc(operation=i.INDEX, read=_given, write=_indexed),
        "ListUnindexedEntries": Rpc(operation=i.UNINDEXED, read=_listing, write=_unindexed),
    },
)
