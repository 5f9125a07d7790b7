"""What a recording says when its call ends while something is written."""

from __future__ import annotations

from collections.abc import Generator

import grpc
import pytest

from elf.client import NotFound
from elf.client.families.conversations.recording import AsyncRecording
from elf.families.conversations.grpc import memory_service_pb2 as messages

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as gRPC is


def failed(code: grpc.StatusCode, details: str) -> grpc.aio.AioRpcError:
    nothing = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(code, nothing, nothing, details=details)


class EndingCall:
    """A call that ends while it is written to; gRPC tells whoever writes of the batch that failed, not of the end."""

    def __init__(self, end: messages.RecordResponse | grpc.aio.AioRpcError) -> None:
        self._end = end

    def done(self) -> bool:
        return False

    async def write(self, request: messages.RecordRequest) -> None:
        raise failed(grpc.StatusCode.INTERNAL, "Internal error from Core")

    def __await__(self) -> Generator[None, None, messages.RecordResponse]:
        yield  # the end comes after the failure
        if isinstance(self._end, grpc.aio.AioRpcError):
            raise self._end
        return self._end


def recording_of(call: EndingCall) -> AsyncRecording:
    recording = AsyncRecording(b"0" * 16, grpc, messages)
    recording._call = call
    return recording


async def test_a_write_that_comes_upon_a_refusal_tells_why_it_was_refused() -> None:
    call = EndingCall(failed(grpc.StatusCode.NOT_FOUND, "there is no conversation 1"))
    with pytest.raises(NotFound, match="there is no conversation 1"):
        await recording_of(call).write("x")


async def test_a_write_that_comes_upon_a_stop_tells_that_nothing_is_recorded_any_more() -> None:
    assert not await recording_of(EndingCall(messages.RecordResponse())).write("x")
