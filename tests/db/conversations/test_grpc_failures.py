"""What goes wrong over HTTP goes wrong over gRPC alike; what only messages can get wrong is named by its field."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.struct_pb2 import Struct

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.db.conversations.both_wires import BothWires, Failure, entry, page, values
from tests.db.conversations.failing_calls import failing_calls

pytestmark = pytest.mark.anyio

ROOT = "/v1/conversations"


async def test_failures_are_the_same_over_both(both: BothWires, trip: UUID) -> None:
    for user, level in (("bob", "writer"), ("cleo", "reader")):
        await both.http(f"POST {ROOT}/{trip}/memberships", {"userId": user, "accessLevel": level})
    wish = {"conversationId": str(trip), "newOwnerUserId": "bob"}
    transfer = UUID((await both.http("POST /v1/ownership-transfers", wish))["id"])
    for one in failing_calls(trip, transfer):
        over_http = await both.http(one.http, one.body, **one.who)
        assert isinstance(over_http, Failure), one
        assert await both.rpc(one.rpc, **one.fields, **one.who) == over_http, one


async def test_what_only_messages_can_get_wrong_is_named_by_their_fields(both: BothWires, trip: UUID) -> None:
    one, new = {"conversation_id": trip.bytes}, {"content_type": "x"}
    conversations, entries, members = (
        "ConversationsService",
        "EntriesService",
        "ConversationMembershipsService",
    )
    infinite, nowhere = values({"a": [0, 0]}), values(0)
    infinite[0].struct_value.fields["a"].list_value.values[1].number_value = math.inf
    nowhere[0].number_value = math.nan
    rows: list[tuple[str, dict[str, Any], str]] = [
        (f"{conversations}.GetConversation", {}, "$.conversationId: is missing"),
        (f"{conversations}.GetConversation", {"conversation_id": b"short"},
         "conversation_id: should be 16 bytes, or none"),
        (f"{conversations}.ForkConversation", one | {"entry_id": bytes(17)}, "entry_id: should be 16 bytes, or none"),
        (f"{conversations}.ListConversations", {"mode": 9}, "mode: 9 is none of its values"),
        (f"{members}.ListMemberships", one | page(size=-1), "$.page_size: should be greater than or equal to 1"),
        (f"{members}.ListMemberships", one | page("x"), "page_token is none of this listing"),
        (f"{conversations}.ListForks", one | page(size=-1), "$.limit: should be greater than or equal to 1"),
        (f"{entries}.ListEntries", one | {"channel": -3}, "channel: -3 is none of its values"),
        (f"{entries}.AppendEntry", one | {"entry": pb.CreateEntryRequest(content=infinite, **new)},
         "$.content[0].a[1]: should be a finite number"),
        (f"{entries}.AppendEntry", one | {"entry": pb.CreateEntryRequest(content=nowhere, **new)},
         "$.content[0]: should be a finite number"),
        ("ConversationMembershipsService.ShareConversation", one | {"user_id": "bob", "access_level": 5},
         "access_level: 5 is none of its values"),
        ("OwnershipTransfersService.GetOwnershipTransfer", {"transfer_id": b"x"},
         "transfer_id: should be 16 bytes, or none"),
    ]  # fmt: skip
    for call, fields, text in rows:
        assert await both.rpc(call, **fields, client="bot") == Failure("INVALID_ARGUMENT", text), call
    metadata = Struct()
    metadata["x"] = math.nan
    failure = await both.rpc(f"{conversations}.CreateConversation", metadata=metadata)
    assert failure == Failure("INVALID_ARGUMENT", "$.metadata.x: should be a finite number")


async def test_an_entry_of_eight_mebibytes_is_taken_and_one_that_is_larger_is_not(
    both: BothWires, trip: UUID
) -> None:
    for size, code in ((8 * 1024 * 1024 - 1000, None), (8 * 1024 * 1024, "RESOURCE_EXHAUSTED")):
        large = entry("x" * size, content_type="x")
        answer = await both.rpc(
            "EntriesService.AppendEntry", conversation_id=trip.bytes, entry=large, client="large"
        )
        assert getattr(answer, "code", None) == code
    listing = pb.ListEntriesRequest(conversation_id=trip.bytes, channel=pb.MEMORY)
    answer = await both.rpc("EntriesService.ListEntries", listing, client="large")
    assert [len(one.content[0].string_value) for one in answer.entries] == [8 * 1024 * 1024 - 1000]
