"""Clients that take all they can get over gRPC, at a real service: health is told, and others are served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import anyio
import grpc
import httpx
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import (
    ConversationsServiceStub,
    ResponseRecorderServiceStub,
)
from tests.rpc_kit import heard_of_the_end
from tests.system.service import RunningService

pytestmark = pytest.mark.anyio

WATCHES = 1000
RECORDINGS = 256
TOO_LONG_S = 60
WATCHES_PER_PEER, REFLECTIONS, RECORDINGS_PER_USER = 32, 16, 64  # as docs/SECURITY.md says
REFUSED = {
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.INTERNAL,  # which a client says itself when a stream ends while it sends
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def channel(service: RunningService) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(service.grpc_address) as channel:
        yield channel
    await heard_of_the_end()


def bearer() -> list[tuple[str, str]]:
    """The metadata of a user whom no other test knows."""
    return [("authorization", f"Bearer user-{uuid4().hex}")]


async def is_serving(service: RunningService) -> bool:
    """Ask for health as a probe does, by a connection of its own."""
    own = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(service.grpc_address, options=own) as channel:
        told = await HealthStub(channel).Check(HealthCheckRequest(), timeout=TOO_LONG_S)
    return bool(told.status == HealthCheckResponse.SERVING)


async def makes_a_conversation(channel: grpc.aio.Channel) -> bool:
    created = await ConversationsServiceStub(channel).CreateConversation(
        pb.CreateConversationRequest(title="served"), metadata=bearer(), timeout=TOO_LONG_S
    )
    return bool(created.title == "served")


async def is_open(call: Any) -> bool:
    """Tell whether a stream tells something; else it was refused for a limit."""
    try:
        await call.read()
    except grpc.aio.AioRpcError as error:
        if error.code() not in REFUSED:
            raise
        return False
    return True


async def test_a_thousand_who_watch_keep_nobody_from_health_or_from_a_call(
    service: RunningService, channel: grpc.aio.Channel
) -> None:
    calls = [HealthStub(channel).Watch(HealthCheckRequest()) for _ in range(WATCHES)]
    assert [await is_open(call) for call in calls].count(True) == WATCHES_PER_PEER
    assert await is_serving(service)
    assert await makes_a_conversation(channel)
    for call in calls:
        call.cancel()


async def asks_once() -> AsyncIterator[ServerReflectionRequest]:
    """Ask for the services, and say no more without going."""
    yield ServerReflectionRequest(list_services="")
    await anyio.sleep_forever()


async def test_many_who_reflect_keep_nobody_from_health_or_from_a_call(
    service: RunningService, channel: grpc.aio.Channel
) -> None:
    calls = [ServerReflectionStub(channel).ServerReflectionInfo(asks_once()) for _ in range(RECORDINGS)]
    assert [await is_open(call) for call in calls].count(True) == REFLECTIONS
    assert await is_serving(service)
    assert await makes_a_conversation(channel)
    for call in calls:
        call.cancel()


async def test_the_recordings_of_one_user_keep_no_other_from_recording(
    service: RunningService, channel: grpc.aio.Channel
) -> None:
    recorder: Any = ResponseRecorderServiceStub(channel)
    ana, bob = bearer(), bearer()
    async with httpx.AsyncClient(base_url=service.url, headers=dict(ana), timeout=TOO_LONG_S) as http:
        made = [(await http.post("/v1/conversations", json={})).json() for _ in range(RECORDINGS)]
    ids = [UUID(one["id"]) for one in made]
    calls = []
    for id in ids:
        call = recorder.Record(metadata=ana)
        await call.write(pb.RecordRequest(conversation_id=id.bytes, content="and then"))
        calls.append(call)
    begun: set[bytes] = set()
    with anyio.fail_after(TOO_LONG_S):
        while len(begun) + sum(call.done() for call in calls) < RECORDINGS:
            asked = pb.CheckRecordingsRequest(conversation_ids=[id.bytes for id in ids])
            begun = set((await recorder.CheckRecordings(asked, metadata=ana)).conversation_ids)
    assert len(begun) == RECORDINGS_PER_USER
    refused = {(await call.code(), await call.details()) for call in calls if call.done()}
    assert refused == {
        (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "a user has at most 64 recordings and replays at a time: conversations.max_streams_per_user",
        )
    }
    conversation = await ConversationsServiceStub(channel).CreateConversation(
        pb.CreateConversationRequest(), metadata=bob
    )
    whole = pb.RecordRequest(conversation_id=conversation.id, content="all of it", complete=True)
    recorded = await recorder.Record(iter([whole]), metadata=bob)
    assert recorded == pb.RecordResponse(status=pb.RECORD_STATUS_SUCCESS)
    for call in calls:
        call.cancel()
