"""How each method of the conversations' services is called over gRPC, by whoever calls."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

import grpc
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.system.conversation_calls import House, filled

PATIENCE_S: Final = 30.0


class RpcCall(NamedTuple):
    """A call: `Service/Method`, and its message as JSON, with what the house has by names in braces."""

    method: str
    message: Mapping[str, Any] = {}


TOLD: Final = {"content_type": "history", "content": [{"role": "USER", "text": "Hi"}]}
IT: Final = {"conversation_id": "{conversation}"}
RPCS: Final = {
    "health": RpcCall("SystemService/GetHealth"),
    "list": RpcCall("ConversationsService/ListConversations", {"mode": "ALL"}),
    "create": RpcCall("ConversationsService/CreateConversation", {"title": "Other"}),
    "read": RpcCall("ConversationsService/GetConversation", IT),
    "read unknown": RpcCall("ConversationsService/GetConversation", {"conversation_id": "{unknown}"}),
    "read deleted": RpcCall("ConversationsService/GetConversation", {"conversation_id": "{deleted}"}),
    "rename": RpcCall("ConversationsService/UpdateConversation", {**IT, "title": "Mine"}),
    "delete": RpcCall("ConversationsService/DeleteConversation", IT),
    "fork": RpcCall("ConversationsService/ForkConversation", {**IT, "entry_id": "{entry}"}),
    "forks": RpcCall("ConversationsService/ListForks", IT),
    "members": RpcCall("ConversationMembershipsService/ListMemberships", IT),
    "share": RpcCall(
        "ConversationMembershipsService/ShareConversation",
        {**IT, "user_id": "guest", "access_level": "WRITER"},
    ),
    "make manager": RpcCall(
        "ConversationMembershipsService/ShareConversation",
        {**IT, "user_id": "guest", "access_level": "MANAGER"},
    ),
    "make owner": RpcCall(
        "ConversationMembershipsService/ShareConversation",
        {**IT, "user_id": "guest", "access_level": "OWNER"},
    ),
    "change": RpcCall(
        "ConversationMembershipsService/UpdateMembership",
        {**IT, "member_user_id": "reader", "access_level": "WRITER"},
    ),
    "remove": RpcCall("ConversationMembershipsService/DeleteMembership", {**IT, "member_user_id": "reader"}),
    "leave": RpcCall(
        "ConversationMembershipsService/DeleteMembership", {**IT, "member_user_id": "{oneself}"}
    ),
    "transfers": RpcCall("OwnershipTransfersService/ListOwnershipTransfers"),
    "transfer": RpcCall(
        "OwnershipTransfersService/CreateOwnershipTransfer", {**IT, "new_owner_user_id": "writer"}
    ),
    "read transfer": RpcCall("OwnershipTransfersService/GetOwnershipTransfer", {"transfer_id": "{transfer}"}),
    "end transfer": RpcCall(
        "OwnershipTransfersService/DeleteOwnershipTransfer", {"transfer_id": "{transfer}"}
    ),
    "accept": RpcCall("OwnershipTransfersService/AcceptOwnershipTransfer", {"transfer_id": "{transfer}"}),
    "entries": RpcCall("EntriesService/ListEntries", IT),
    "memory": RpcCall("EntriesService/ListEntries", {**IT, "channel": "MEMORY"}),
    "append": RpcCall("EntriesService/AppendEntry", {**IT, "entry": {**TOLD, "channel": "HISTORY"}}),
    "remember": RpcCall("EntriesService/AppendEntry", {**IT, "entry": TOLD}),
    "sync": RpcCall("EntriesService/SyncEntries", {**IT, "entry": TOLD}),
    "search": RpcCall("SearchService/SearchConversations", {"query": "trip"}),
    "unindexed": RpcCall("SearchService/ListUnindexedEntries"),
    "index": RpcCall(
        "SearchService/IndexConversations",
        {"entries": [{**IT, "entry_id": "{entry}", "indexed_content": "a greeting"}]},
    ),
    "record": RpcCall("ResponseRecorderService/Record", {**IT, "content": "Hi", "complete": True}),
    "replay": RpcCall("ResponseRecorderService/Replay", IT),
    "stop": RpcCall("ResponseRecorderService/Cancel", IT),
    "can record": RpcCall("ResponseRecorderService/IsEnabled"),
    "is recorded": RpcCall(
        "ResponseRecorderService/CheckRecordings", {"conversation_ids": ["{conversation}"]}
    ),
}


def status_of(channel: grpc.Channel, house: House, caller: str, call: RpcCall) -> str:
    """Return the name of the status that a caller is answered with; all of a stream is read."""
    service, name = call.method.split("/")
    method = pb.DESCRIPTOR.services_by_name[service].methods_by_name[name]
    request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    message = ParseDict(_with_bytes(filled(dict(call.message), house.met_by(caller))), request())
    metadata = [(key.lower(), value) for key, value in house.headers(caller).items()]
    sent: Any = iter([message]) if method.client_streaming else message
    invoke = _form(channel, method)(
        f"/{method.containing_service.full_name}/{name}",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )
    try:
        answer = invoke(sent, metadata=metadata, timeout=PATIENCE_S)
        if method.server_streaming:
            _read_all(answer)
    except grpc.RpcError as error:
        return error.code().name if isinstance(error, grpc.Call) else repr(error)
    return grpc.StatusCode.OK.name


def _form(channel: grpc.Channel, method: Any) -> Callable[..., Any]:
    forms: Mapping[tuple[bool, bool], Callable[..., Any]] = {
        (False, False): channel.unary_unary,
        (True, False): channel.stream_unary,
        (False, True): channel.unary_stream,
    }
    return forms[method.client_streaming, method.server_streaming]


def _read_all(answers: Iterator[Any]) -> None:
    for _ in answers:
        pass


def _with_bytes(value: Any) -> Any:
    """Return a message as JSON, ids as the bytes that they are there."""
    if isinstance(value, dict):
        return {name: _with_bytes(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_bytes(one) for one in value]
    try:
        return base64.b64encode(UUID(value).bytes).decode() if isinstance(value, str) else value
    except ValueError:
        return value
