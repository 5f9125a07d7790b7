"""Whatever comes in over gRPC is answered or refused with a reason: nothing of it is a fault of the service."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.db.conversations.both_wires import BothWires
from tests.random_messages import RandomMessages

pytestmark = pytest.mark.anyio

MESSAGES = int(os.environ.get("ELF_TEST_MESSAGES", "300"))
METHODS = [method for service in pb.DESCRIPTOR.services_by_name.values() for method in service.methods]
SENDING = "Internal error from Core"
"""What the client's side says of a call that was answered while it was still sending."""
FAULTS = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)


async def code_of(
    channel: grpc.aio.Channel, method: MethodDescriptor, sent: list[bytes], metadata: Any
) -> grpc.StatusCode | None:
    """Send messages to a method of whatever form, and return how the call ends; None when its client cannot tell."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    if method.client_streaming:
        call = channel.stream_unary(path)(iter(sent), metadata=metadata)
    elif method.server_streaming:
        call = channel.unary_stream(path)(sent[0], metadata=metadata)
    else:
        call = channel.unary_unary(path)(sent[0], metadata=metadata)
    if await call.details() == SENDING:
        return None
    return await call.code()


async def ids_of_a_trip(both: BothWires) -> list[UUID]:
    """Begin a conversation and return its id, many times, and those of its entries."""
    trip = await both.begin_trip()
    entries = (await both.http(f"GET /v1/conversations/{trip}/entries"))["data"]
    return [trip] * 5 + [UUID(one["id"]) for one in entries]


@pytest.mark.parametrize("make", [RandomMessages.bytes_of, lambda made, kind: made.of(kind).SerializeToString()],
                         ids=["bytes", "messages"])  # fmt: skip
async def test_nothing_that_comes_in_is_a_fault_of_the_service(
    both: BothWires, make: Callable[..., bytes]
) -> None:
    ids = await ids_of_a_trip(both)
    codes: set[grpc.StatusCode | None] = set()
    for seed in range(MESSAGES):
        rng = random.Random(seed)
        made = RandomMessages(rng, ids)
        method = rng.choice(METHODS)
        sent = [make(made, method.input_type) for _ in range(2)]
        who = [("x-user", rng.choice(("ana", "ana", "ana", "bob"))), ("x-tenant", both.tenant)]
        who += [("x-client", "bot")] * rng.randrange(2) + [("x-role", "indexer")] * rng.randrange(2)
        code = await code_of(both.channel, method, sent, tuple(who))
        assert code not in FAULTS, (seed, method.full_name, sent)
        codes.add(code)
        if (method.name, code) == ("DeleteConversation", grpc.StatusCode.OK):
            ids = await ids_of_a_trip(both)
    assert {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND} <= codes
