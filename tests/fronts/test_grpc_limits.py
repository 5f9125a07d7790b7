"""What one client can have open over gRPC: never so much that health is not told, or that others are not served."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from actors.fronts.held_port import hold
from actors.fronts.http_front import bound_address
from elf.api.caller import Caller
from elf.api.rpc import OwnRpc, Servicer
from elf.config.auth import ApiKey, Auth
from elf.core.api_key import hash_of
from elf.core.body_budget import BodyBudget
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as stubs
from elf.families.conversations.grpc.conversations import SYSTEM
from elf.identity.known_callers import KnownCallers
from elf.rpc import health, messages, reflection
from tests.actors.outbox_kit import PATIENCE_S
from tests.fronts.grpc_kit import ANA, HEALTHY, KEY, RECORDER, Replays, health_over
from tests.rpc_kit import LOOPBACK, served

pytestmark = pytest.mark.anyio

BOB = (("x-user", "bob"),)
HOST_OF_BOB = (("x-user", "bob"), ("x-tenant", "elsewhere"))
REQUIRED = KnownCallers(
    Auth(mode="required", keys=[ApiKey(name="of-ana", hash=hash_of("of-ana"), tenant_id="acme", user="ana")])
)
WITH_KEY = (("x-api-key", "of-ana"),)
MANY = 1000
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def join(asked: AsyncIterator[pb.RecordRequest], caller: Caller) -> pb.RecordResponse:
    return pb.RecordResponse(error_message="".join([one.content async for one in asked]))


async def is_told(asked: pb.CancelRecordRequest, caller: Caller) -> pb.CancelRecordResponse:
    return pb.CancelRecordResponse(accepted=True)


RECORDING = Servicer(service=RECORDER, rpcs={"Record": OwnRpc(run=join), "Cancel": OwnRpc(run=is_told)})


async def is_serving(channel: grpc.aio.Channel) -> bool:
    told = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    return bool(told.status == health_pb2.HealthCheckResponse.SERVING)


async def cancel(channel: grpc.aio.Channel, metadata: Any) -> bool:
    recorder = stubs.ResponseRecorderServiceStub(channel)
    return bool((await recorder.Cancel(pb.CancelRecordRequest(), metadata=metadata)).accepted)


async def failure_of(call: Any) -> tuple[grpc.StatusCode, str]:
    """Wait until a call ends that fails."""
    return await call.code(), await call.details()


# Health


async def test_a_thousand_who_watch_keep_nobody_from_health_and_no_user_from_a_call() -> None:
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM, RECORDING], HEALTHY, identify=REQUIRED, max_calls=8) as channel:
            calls = [watch(channel) for _ in range(MANY)]
            assert [await is_watching(call) for call in calls].count(True) == health.MAX_WATCHES_PER_PEER
            watching = [call for call in calls if not call.done()]
            refused = {await failure_of(call) for call in calls if call.done()}
            assert refused == {
                (EXHAUSTED, "a peer has at most 32 Watch streams at a time; Check is not limited")
            }
            assert await is_serving(channel)
            assert await cancel(channel, WITH_KEY)
            watching[0].cancel()
            while not await is_watching(again := watch(channel)):
                continue  # the server has not heard yet that one has gone
            for call in (*watching, again):
                call.cancel()


def watch(channel: grpc.aio.Channel) -> Any:
    return health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())


async def is_watching(call: Any) -> bool:
    """Tell whether a stream tells something, or was refused."""
    try:
        told = await call.read()
    except grpc.aio.AioRpcError:
        return False
    return bool(told.status == health_pb2.HealthCheckResponse.SERVING)


async def test_all_who_watch_are_limited_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MAX_WATCHES", 2)
    async with served([SYSTEM], HEALTHY) as channel:
        calls = [watch(channel) for _ in range(2)]
        assert [await is_watching(call) for call in calls] == [True, True]
        refused = await failure_of(watch(channel))
        assert refused == (
            EXHAUSTED,
            "the service has at most 2 Watch streams at a time; Check is not limited",
        )
        assert await is_serving(channel)
        for call in calls:
            call.cancel()


async def test_who_watches_for_long_has_to_watch_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MAX_WATCH_AGE_S", 0.0)
    monkeypatch.setattr(health, "WATCH_EVERY_S", 0.01)
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM], HEALTHY) as channel:
            for _ in range(health.MAX_WATCHES_PER_PEER + 1):  # and none keeps its place
                call = watch(channel)
                assert await is_watching(call)
                assert await failure_of(call) == (
                    grpc.StatusCode.UNAVAILABLE,
                    "the stream is 0 seconds old, which is the maximum: watch again",
                )


async def test_what_is_no_message_is_refused_by_health_too() -> None:
    async with served([SYSTEM], HEALTHY) as channel:
        for call in (
            channel.unary_unary("/grpc.health.v1.Health/Check")(b"\xff"),
            channel.unary_stream("/grpc.health.v1.Health/Watch")(b"\xff"),
        ):
            code, text = await failure_of(call)
            assert (code, text) == (grpc.StatusCode.INVALID_ARGUMENT, "there is no HealthCheckRequest")


# Calls


@pytest.mark.parametrize("metadata", [(), (("x-api-key", "guessed"),)])
async def test_calls_without_a_right_key_end_at_once_and_take_nobodys_place(
    metadata: tuple[tuple[str, str], ...],
) -> None:
    recorder = "/memory.v1.ResponseRecorderService"
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM, RECORDING], HEALTHY, identify=REQUIRED, max_calls=4) as channel:
            silent = [
                channel.stream_unary(f"{recorder}/{name}")(metadata=metadata)
                for _ in range(MANY // 4)
                for name in ("Record", "Cancel")
            ]
            unknown = [
                channel.stream_stream("/memory.v1.NoService/NoCall")(metadata=metadata)
                for _ in range(MANY // 4)
            ]
            reflections = [
                reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(metadata=metadata)
                for _ in range(MANY // 4)
            ]
            assert await cancel(channel, WITH_KEY)
            assert await is_serving(channel)
            for call in (*silent, *reflections):
                assert await call.code() == grpc.StatusCode.UNAUTHENTICATED
            for call in unknown:
                assert await call.code() == grpc.StatusCode.UNIMPLEMENTED


async def test_a_user_has_a_quarter_of_the_calls_and_a_tenant_three_quarters() -> None:
    replays = Replays()
    servicer = Servicer(
        service=RECORDER, rpcs={"Replay": OwnRpc(run=replays.run), "Cancel": OwnRpc(run=is_told)}
    )
    carl = (("x-user", "carl"),)
    dora = (("x-user", "dora"),)
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM, servicer], HEALTHY, max_calls=8) as channel:
            open_ = [await replay(channel, ANA) for _ in range(2)]
            assert await failure_of(begun(channel, ANA)) == (
                EXHAUSTED,
                "a user has at most 2 gRPC calls at a time",
            )
            assert await cancel(channel, BOB)
            open_ += [await replay(channel, user) for user in (BOB, BOB, carl, carl)]
            assert await failure_of(begun(channel, dora)) == (
                EXHAUSTED,
                "a tenant has at most 6 gRPC calls at a time",
            )
            open_ += [await replay(channel, HOST_OF_BOB) for _ in range(2)]
            elsewhere = (("x-user", "erik"), ("x-tenant", "third"))
            call = begun(channel, elsewhere)
            assert await failure_of(call) == (EXHAUSTED, "the service has at most 8 gRPC calls at a time")
            assert dict(await call.trailing_metadata())["retry-after"] == "1"
            assert await health_over(channel) == "ok"
            assert await is_serving(channel)
            for call in open_:
                call.cancel()


def begun(channel: grpc.aio.Channel, metadata: Any) -> Any:
    return stubs.ResponseRecorderServiceStub(channel).Replay(pb.ReplayRequest(), metadata=metadata)


async def replay(channel: grpc.aio.Channel, metadata: Any) -> Any:
    """Return a stream that stays open."""
    call = begun(channel, metadata)
    assert (await call.read()).content == "so far"
    return call


@pytest.mark.parametrize(
    ("path", "is_streamed"),
    [
        ("/memory.v1.ResponseRecorderService/Record", False),
        ("/memory.v1.ResponseRecorderService/Cancel", False),
        ("/grpc.health.v1.Health/Check", False),
        ("/grpc.health.v1.Health/Watch", True),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", True),
    ],
)
async def test_a_client_that_sends_no_message_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, path: str, is_streamed: bool
) -> None:
    monkeypatch.setattr(messages, "MESSAGE_TIMEOUT_S", 0.05)
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM, RECORDING], HEALTHY) as channel:
            form = channel.stream_stream if is_streamed else channel.stream_unary
            call = form(path)(metadata=ANA)
            assert await failure_of(call) == (
                grpc.StatusCode.DEADLINE_EXCEEDED,
                "no message arrived within 0.05 seconds",
            )
            ended = form(path)(iter(()), metadata=ANA)
            await ended.code()  # one that ends without a message is not waited for, either


async def test_messages_that_do_not_arrive_take_no_more_than_what_bodies_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(messages, "SLOW_MESSAGE_S", 0.0)
    bodies = BodyBudget(total_bytes=4 * messages.MAX_MESSAGE_BYTES, peer_bytes=messages.MAX_MESSAGE_BYTES)
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM, RECORDING], HEALTHY, bodies=bodies) as channel:
            form = channel.stream_unary("/memory.v1.ResponseRecorderService/Cancel")
            silent = form(metadata=ANA)
            while bodies.statistics().taken != messages.MAX_MESSAGE_BYTES:
                await anyio.lowlevel.checkpoint()
            code, text = await failure_of(form(metadata=BOB))
            assert code == EXHAUSTED
            assert "one address may have in flight" in text
            monkeypatch.setattr(messages, "SLOW_MESSAGE_S", 3600.0)
            assert await cancel(channel, BOB)
            silent.cancel()
            while bodies.statistics().taken:
                await anyio.lowlevel.checkpoint()


async def test_messages_count_as_bodies_do() -> None:
    bodies = BodyBudget(total_bytes=1_000_000, peer_bytes=500_000)
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM, RECORDING], HEALTHY, bodies=bodies) as channel:
            cancelled = stubs.ResponseRecorderServiceStub(channel).Cancel
            assert await cancelled(pb.CancelRecordRequest(conversation_id=bytes(400_000)), metadata=ANA)
            call = cancelled(pb.CancelRecordRequest(conversation_id=bytes(600_000)), metadata=ANA)
            assert (await failure_of(call))[0] == EXHAUSTED
            assert bodies.statistics() == (0, 1_000_000, 1)


async def test_one_who_records_may_pause_between_two_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    servicer = Servicer(service=RECORDER, rpcs={"Record": OwnRpc(run=join, may_pause=True)})
    with anyio.fail_after(PATIENCE_S):
        async with served([servicer], {}) as channel:
            call = stubs.ResponseRecorderServiceStub(channel).Record(metadata=ANA)
            await call.write(pb.RecordRequest(content="so "))
            await call.write(pb.RecordRequest(content="far"))
            await call.done_writing()
            assert (await call).error_message == "so far"


async def test_a_message_that_can_say_nothing_is_not_waited_for() -> None:
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM], HEALTHY) as channel:
            call = channel.stream_unary("/memory.v1.SystemService/GetHealth")()
            assert pb.HealthResponse.FromString(await call).status == "ok"


# Reflection


async def test_reflection_streams_are_limited_and_one_that_is_silent_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reflection, "MAX_STREAMS", 2)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    with anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM], HEALTHY) as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            calls = [stub.ServerReflectionInfo(metadata=ANA) for _ in range(2)]
            for call in calls:
                await call.write(asked)
                await call.read()
            refused = await failure_of(stub.ServerReflectionInfo(iter([asked]), metadata=BOB))
            assert refused == (EXHAUSTED, "at most 2 reflection streams are served at a time")
            for call in calls:
                await call.done_writing()
                assert await call.code() == grpc.StatusCode.OK
            again = stub.ServerReflectionInfo(metadata=BOB)
            await again.write(asked)
            await again.read()
            again.cancel()


# Connections


async def test_beyond_so_many_connections_others_are_closed_and_those_that_are_there_are_served() -> None:
    with hold(LOOPBACK, key=KEY) as held, anyio.fail_after(PATIENCE_S):
        async with served([SYSTEM], HEALTHY, held=held, max_calls=4) as channel:
            assert await is_serving(channel)
            sockets = [socket.create_connection(tuple(bound_address(held))) for _ in range(4)]
            sockets[-1].settimeout(PATIENCE_S)
            assert sockets[-1].recv(1) == b""  # one more than there may be
            assert await is_serving(channel)
            for sock in sockets:
                sock.close()
