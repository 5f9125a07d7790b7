"""Conversations and their forks over gRPC."""

from __future__ import annotations

from typing import Any

from google.protobuf.empty_pb2 import Empty

from elf.api.rpc import Fields, Rpc, Servicer
from elf.core.slices import Slices
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import conversations as c
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import written
from elf.families.conversations.grpc.fields import MODES, conversation_of, id_of, page_of, sparse, word_of
from elf.families.conversations.grpc.json_values import reading_object


def nothing_of(_: Any) -> Fields:
    """Read a message that says nothing."""
    return {}


def empty(_answer: None, _asked: Any) -> Empty:
    """Return the answer that says nothing."""
    return Empty()


def _health(answer: c.Health, _: Empty) -> pb.HealthResponse:
    return pb.HealthResponse(status=answer.status)


def _listing(asked: pb.ListConversationsRequest) -> Fields:
    mode = word_of("mode", asked.mode, MODES)
    return sparse(mode=mode, query=asked.query or None) | page_of(asked.page)


def _list(answer: a.ConversationsAnswer, _: Any) -> pb.ListConversationsResponse:
    return pb.ListConversationsResponse(
        conversations=map(written.summary, answer.data), page_info=written.page_info(answer.nextCursor)
    )


def _creation(asked: pb.CreateConversationRequest) -> Slices[Fields]:
    metadata = yield from reading_object("metadata", asked.metadata)
    return sparse(title=asked.title or None, metadata=metadata)


def _change(asked: pb.UpdateConversationRequest) -> Fields:
    title = {"title": asked.title or None} if asked.HasField("title") else {}
    return conversation_of(asked) | title


def _fork(asked: pb.ForkConversationRequest) -> Fields:
    at = sparse(entryId=id_of("entry_id", asked.entry_id), title=asked.title or None)
    return conversation_of(asked) | at


def _forks(asked: pb.ListForksRequest) -> Fields:
    return conversation_of(asked) | page_of(asked.page)


def _fork_page(answer: a.ForkPageAnswer, _: Any) -> pb.ListForksResponse:
    return pb.ListForksResponse(
        forks=map(written.fork, answer.data), page_info=written.page_info(answer.nextCursor)
    )


def _conversation(answer: a.ConversationAnswer, _: Any) -> pb.Conversation:
    return written.conversation(answer)


SYSTEM = Servicer(
    service=pb.DESCRIPTOR.services_by_name["SystemService"],
    rpcs={"GetHealth": Rpc(operation=c.HEALTH, read=nothing_of, write=_health)},
)
CONVERSATIONS = Servicer(
    service=pb.DESCRIPTOR.services_by_name["ConversationsService"],
    rpcs={
        "ListConversations": Rpc(operation=c.LIST, read=_listing, write=_list),
        "CreateConversation": Rpc(operation=c.CREATE, read=_creation, write=_conversation),
        "GetConversation": Rpc(operation=c.GET, read=conversation_of, write=_conversation),
        "UpdateConversation": Rpc(
            operation=c.PATCH, request=c.ChangeConversation, read=_change, write=_conversation
        ),
        "DeleteConversation": Rpc(operation=c.DELETE, read=conversation_of, write=empty),
        "ForkConversation": Rpc(operation=c.FORK, read=_fork, write=_conversation),
        "ListForks": Rpc(operation=c.FORKS, read=_forks, write=_fork_page),
    },
)
