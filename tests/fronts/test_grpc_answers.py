"""What clients of the gRPC front are told, of failures most of all, and what is counted and logged of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import anyio
import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from structlog.testing import capture_logs

from elf.api.caller import Caller
from elf.api.rpc import OwnRpc, Servicer
from elf.config.limits import Limits
from elf.core.errors import (
    Conflict,
    Forbidden,
    NotOffered,
    PayloadTooLarge,
    ServiceError,
    Unavailable,
)
from elf.families.conversations.api import conversations as c
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as stubs
from elf.families.conversations.grpc.conversations import SYSTEM
from elf.rpc.failures import MAX_TEXT_BYTES
from elf.rpc.messages import MAX_MESSAGE_BYTES
from elf.web.admission import Admission
from elf.web.failures import MASKED
from tests.actors.outbox_kit import PATIENCE_S
from tests.fronts.grpc_kit import (
    ANA,
    HEALTHY,
    RECORDER,
    Counted,
    Replays,
    failing_with,
    failure_over,
    health_over,
)
from tests.rpc_kit import served

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (Conflict("twice"), grpc.StatusCode.ALREADY_EXISTS, "twice"),
        (PayloadTooLarge("much"), grpc.StatusCode.RESOURCE_EXHAUSTED, "much"),
        (NotOffered("not here"), grpc.StatusCode.UNIMPLEMENTED, "not here"),
        (ServiceError("secret"), grpc.StatusCode.INTERNAL, MASKED),
        (RuntimeError("secret"), grpc.StatusCode.INTERNAL, MASKED),
        (ExceptionGroup("of one", [Conflict("twice")]), grpc.StatusCode.ALREADY_EXISTS, "twice"),
        (Conflict("\u4e2d" * 5000), grpc.StatusCode.ALREADY_EXISTS, "\u4e2d" * (MAX_TEXT_BYTES // 3)),
    ],
    ids=str,
)
async def test_a_failure_has_its_status_and_text(error: Exception, code: grpc.StatusCode, text: str) -> None:
    async with served([SYSTEM], failing_with(error)) as channel:
        failure = await failure_over(channel)
    assert (failure.code(), failure.details()) == (code, text)
    assert "x-request-id" in dict(failure.trailing_metadata())


async def test_who_cannot_be_served_now_is_told_when_to_come_back() -> None:
    async with served([SYSTEM], failing_with(Unavailable("busy", retry_after_s=7))) as channel:
        failure = await failure_over(channel)
    assert failure.code() == grpc.StatusCode.UNAVAILABLE
    assert dict(failure.trailing_metadata())["retry-after"] == "7"


async def test_beyond_the_limits_calls_wait_in_turn_and_streams_do_not() -> None:
    asked, may_answer = anyio.Event(), anyio.Event()

    async def wait(request: Any, caller: Caller) -> c.Health:
        asked.set()
        await may_answer.wait()
        return c.Health(status="ok")

    limits = Limits(max_concurrent=1, max_per_tenant=1, max_waiting=0, max_wait_ms=1)
    both = [SYSTEM, Replays().servicer]
    with anyio.fail_after(PATIENCE_S):
        async with (
            served(both, {c.HEALTH.name: wait}, admission=Admission(limits)) as channel,
            anyio.create_task_group() as group,
        ):
            group.start_soon(health_over, channel)
            await asked.wait()
            failure = await failure_over(channel)
            stream = stubs.ResponseRecorderServiceStub(channel).Replay(pb.ReplayRequest(), metadata=ANA)
            assert (await stream.read()).content == "so far"
            stream.cancel()
            may_answer.set()
    assert failure.code() == grpc.StatusCode.UNAVAILABLE
    assert "retry-after" in dict(failure.trailing_metadata())


async def test_a_call_of_its_own_needs_a_user_and_its_client_may_stream() -> None:
    async def join(asked: AsyncIterator[pb.RecordRequest], caller: Caller) -> pb.RecordResponse:
        texts = [one.content async for one in asked]
        return pb.RecordResponse(error_message=f"{caller.user}: {''.join(texts)}")

    chunks = [pb.RecordRequest(content=text) for text in ("so ", "far")]
    async with served([Servicer(service=RECORDER, rpcs={"Record": OwnRpc(run=join)})], {}) as channel:
        recorder = stubs.ResponseRecorderServiceStub(channel)
        answer = await recorder.Record(iter(chunks), metadata=ANA)
        assert answer.error_message == "ana: so far"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await recorder.Record(iter(chunks))
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
        raw = channel.stream_unary("/memory.v1.ResponseRecorderService/Record")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await raw(iter([b"\xff"]), metadata=ANA)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await recorder.IsEnabled(Empty(), metadata=ANA)
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


async def test_messages_are_bounded_both_ways() -> None:
    async def answer(asked: pb.CancelRecordRequest, caller: Caller) -> pb.CancelRecordResponse:
        return pb.CancelRecordResponse(redirect_address="x" * MAX_MESSAGE_BYTES)

    async with served([Servicer(service=RECORDER, rpcs={"Cancel": OwnRpc(run=answer)})], {}) as channel:
        recorder = stubs.ResponseRecorderServiceStub(channel)
        for size, part in (
            (0, "the answer is larger than 8388608 bytes"),
            (MAX_MESSAGE_BYTES, "larger than max"),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await recorder.Cancel(pb.CancelRecordRequest(conversation_id=bytes(size)), metadata=ANA)
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert part in str(caught.value.details())


async def test_calls_are_counted_and_logged_by_method_and_outcome() -> None:
    counted = Counted()
    path = "/memory.v1.SystemService/GetHealth"
    with capture_logs() as logs:
        async with served([SYSTEM], HEALTHY, measures=counted) as channel:
            await health_over(channel)
        async with served([SYSTEM], failing_with(Forbidden("no")), measures=counted) as channel:
            await failure_over(channel)
    assert counted.rpcs == [(path, "OK"), (path, "PERMISSION_DENIED")]
    assert counted.refusals == ["no_role"]
    lines = [(one["log_level"], one["route"], one["status"]) for one in logs if one["event"] == "request"]
    assert lines == [("debug", path, "OK"), ("info", path, "PERMISSION_DENIED")]


async def test_a_request_id_comes_back_and_is_made_where_there_is_none() -> None:
    async with served([SYSTEM], HEALTHY) as channel:
        given = str(uuid4())
        for sent, back in ((given, {given}), ("no id", None), (None, None)):
            metadata = () if sent is None else (("x-request-id", sent),)
            call = stubs.SystemServiceStub(channel).GetHealth(Empty(), metadata=metadata)
            await call
            (id,) = [value for name, value in await call.trailing_metadata() if name == "x-request-id"]
            assert {id} == back if back else id not in (given, "no id")
