"""Services over gRPC whose answers a test chooses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import anyio
import grpc
import pytest
from google.protobuf.empty_pb2 import Empty

from elf.api.caller import Caller
from elf.api.operation import Handler
from elf.api.rpc import OwnRpc, Servicer
from elf.core.measures import NoMeasures
from elf.families.conversations.api import conversations as c
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as stubs

KEY = "service.grpc_bind"
ANA = (("x-user", "ana"),)
RECORDER = pb.DESCRIPTOR.services_by_name["ResponseRecorderService"]


async def is_well(request: Any, caller: Caller) -> c.Health:
    return c.Health(status="ok")


HEALTHY: Mapping[str, Handler] = {c.HEALTH.name: is_well}


async def health_over(channel: grpc.aio.Channel, **more: Any) -> str:
    answer: pb.HealthResponse = await stubs.SystemServiceStub(channel).GetHealth(Empty(), **more)
    return answer.status


async def failure_over(channel: grpc.aio.Channel, **more: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await health_over(channel, **more)
    return caught.value


def failing_with(error: Exception) -> Mapping[str, Handler]:
    async def fail(request: Any, caller: Caller) -> c.Health:
        raise error

    return {c.HEALTH.name: fail}


class Replays:
    """A call that streams one message and then waits for ever."""

    def __init__(self) -> None:
        self.ended = anyio.Event()

    async def run(self, asked: pb.ReplayRequest, caller: Caller) -> AsyncGenerator[pb.ReplayResponse, None]:
        try:
            yield pb.ReplayResponse(content="so far")
            await anyio.sleep_forever()
        finally:
            self.ended.set()

    @property
    def servicer(self) -> Servicer:
        return Servicer(service=RECORDER, rpcs={"Replay": OwnRpc(run=self.run)})


class Counted(NoMeasures):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.rpcs: list[tuple[str, str]] = []
        self.refusals: list[str] = []

    def rpc(self, *, front: str, method: str, code: str, seconds: float) -> None:
        self.rpcs.append((method, code))

    def refusal(self, *, front: str, reason: str) -> None:
        self.refusals.append(reason)
