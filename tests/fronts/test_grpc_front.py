"""The gRPC front: where it listens, how it ends, what it tells of itself."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import anyio
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from actors.assembly.grpc import add_grpc_front
from actors.fronts import grpc_front
from actors.fronts.held_port import hold
from actors.fronts.http_front import bound_address
from actors.kernel import Supervisor
from elf.api.caller import Caller
from elf.api.operation import Handler
from elf.api.rpc import OwnRpc, Rpc, Servicer
from elf.config.places import Address
from elf.core.body_budget import BodyBudget
from elf.core.errors import StartupError
from elf.core.measures import NoMeasures
from elf.families.conversations.api import conversations as c
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as stubs
from elf.families.conversations.grpc.conversations import SYSTEM
from elf.families.conversations.grpc.servicers import servicers
from elf.families.conversations.recording.recorder import NoRecorder
from elf.identity.identify import anonymous
from tests.actors.outbox_kit import PATIENCE_S
from tests.fronts.grpc_kit import (
    ANA,
    HEALTHY,
    KEY,
    RECORDER,
    Replays,
    health_over,
    is_well,
)
from tests.rpc_kit import LOOPBACK, heard_of_the_end, served

pytestmark = pytest.mark.anyio

SERVICERS = servicers(NoRecorder())
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# Where it listens


def test_a_port_at_which_somebody_listens_is_refused_however_it_is_shared() -> None:
    with socket.create_server(tuple(LOOPBACK), reuse_port=True) as foreign:
        address = bound_address(foreign)
        with pytest.raises(
            StartupError, match=f"^{KEY}: cannot listen on {address}: something listens there"
        ):
            hold(address, key=KEY)


async def test_a_port_at_which_another_service_serves_is_refused() -> None:
    with hold(LOOPBACK, key=KEY) as held:
        async with served([SYSTEM], HEALTHY, held=held) as channel:
            assert await health_over(channel) == "ok"
            with pytest.raises(StartupError, match=KEY):
                hold(bound_address(held), key=KEY)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(StartupError, match=KEY):
        hold(Address("192.0.2.1", 0), key=KEY)


async def test_several_servers_share_the_port_and_its_connections() -> None:
    asked: set[str] = set()

    def named(name: str) -> Mapping[str, Handler]:
        async def note(request: Any, caller: Caller) -> c.Health:
            asked.add(name)
            return c.Health(status="ok")

        return {c.HEALTH.name: note}

    async with AsyncExitStack() as stack:
        held = stack.enter_context(hold(LOOPBACK, key=KEY))
        for name in ("one", "two"):
            await stack.enter_async_context(served([SYSTEM], named(name), held=held))
        for _ in range(200):
            own = [("grpc.use_local_subchannel_pool", 1)]  # or it would be one connection always
            async with grpc.aio.insecure_channel(str(bound_address(held)), options=own) as channel:
                assert await health_over(channel) == "ok"
            if len(asked) == 2:
                return
    pytest.fail(f"all connections went to {asked}")


# How it ends


async def test_a_server_that_ends_cuts_off_streams_that_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_front, "GRACE_S", 0.01)
    replays = Replays()
    with hold(LOOPBACK, key=KEY) as held, anyio.fail_after(PATIENCE_S):
        async with grpc.aio.insecure_channel(str(bound_address(held))) as channel:
            async with served([replays.servicer], {}, held=held):
                stream = stubs.ResponseRecorderServiceStub(channel).Replay(pb.ReplayRequest(), metadata=ANA)
                assert (await stream.read()).content == "so far"
            await replays.ended.wait()
            assert await stream.code() != grpc.StatusCode.OK
    await heard_of_the_end()


async def test_a_call_in_flight_is_answered_before_the_server_ends() -> None:
    asked, may_answer = anyio.Event(), anyio.Event()

    async def wait(request: Any, caller: Caller) -> c.Health:
        asked.set()
        await may_answer.wait()
        return c.Health(status="ok")

    answers: list[str] = []

    async def ask(channel: grpc.aio.Channel) -> None:
        answers.append(await health_over(channel))

    async def answer_at_the_end(watch: Any) -> None:
        while (await watch.read()).status == SERVING:
            continue
        may_answer.set()

    with hold(LOOPBACK, key=KEY) as held, anyio.fail_after(PATIENCE_S):
        async with (
            grpc.aio.insecure_channel(str(bound_address(held))) as channel,
            anyio.create_task_group() as group,  # has read the answers before the channel is closed
            served([SYSTEM], {c.HEALTH.name: wait}, held=held),
        ):
            group.start_soon(ask, channel)
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            assert (await watch.read()).status == SERVING
            group.start_soon(answer_at_the_end, watch)
            await asked.wait()
    await heard_of_the_end()
    assert answers == ["ok"]


async def test_a_client_that_goes_away_ends_its_stream() -> None:
    replays = Replays()
    async with served([replays.servicer], {}) as channel:
        stream = stubs.ResponseRecorderServiceStub(channel).Replay(pb.ReplayRequest(), metadata=ANA)
        assert (await stream.read()).content == "so far"
        stream.cancel()
        with anyio.fail_after(PATIENCE_S):
            await replays.ended.wait()


# What it tells of itself


async def test_health_is_that_of_readiness_for_the_whole_and_for_each_service() -> None:
    is_ready = True
    async with served(SERVICERS, every_handler(), is_ready=lambda: is_ready) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", *(servicer.service.full_name for servicer in SERVICERS)):
            asked = health_pb2.HealthCheckRequest(service=name)
            is_ready = True
            assert (await health.Check(asked)).status == SERVING
            is_ready = False
            assert (await health.Check(asked)).status == NOT_SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await health.Check(health_pb2.HealthCheckRequest(service="memory.v2.SystemService"))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND


async def test_who_watches_health_is_told_of_changes_and_of_the_end() -> None:
    is_ready = True
    told: list[int] = []
    with hold(LOOPBACK, key=KEY) as held, anyio.fail_after(PATIENCE_S):
        async with grpc.aio.insecure_channel(str(bound_address(held))) as channel:
            async with served([SYSTEM], HEALTHY, held=held, is_ready=lambda: is_ready):
                watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
                for next_one in (False, True, True):
                    told.append((await watch.read()).status)
                    is_ready = next_one
            while (one := await watch.read()) is not grpc.aio.EOF:
                told.append(one.status)
            assert await watch.code() == grpc.StatusCode.OK
    await heard_of_the_end()
    assert told == [SERVING, NOT_SERVING, SERVING, NOT_SERVING]


def every_handler() -> dict[str, Handler]:
    return {
        rpc.operation.name: is_well
        for servicer in SERVICERS
        for rpc in servicer.rpcs.values()
        if isinstance(rpc, Rpc)
    }


async def test_reflection_lists_every_service_and_shows_the_file() -> None:
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="memory.v1.EntriesService"),
    ]
    async with served(SERVICERS, every_handler()) as channel:
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        services, file = [one async for one in reflection.ServerReflectionInfo(iter(asked))]
    listed = {one.name for one in services.list_services_response.service}
    own = {servicer.service.full_name for servicer in SERVICERS}
    assert listed == {*own, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    shown = file.file_descriptor_response.file_descriptor_proto
    assert pb.DESCRIPTOR.serialized_pb in shown


def test_a_call_that_its_file_does_not_have_is_refused_and_so_is_a_second_service_of_a_name() -> None:
    with pytest.raises(ValueError, match="ResponseRecorderService has no call Replays"):
        Servicer(service=RECORDER, rpcs={"Replays": OwnRpc(run=Replays().run)})
    with (
        hold(LOOPBACK, key=KEY) as held,
        pytest.raises(StartupError, match=r"two services of gRPC are called memory\.v1\.SystemService"),
    ):
        add_grpc_front(
            Supervisor(), held, [SYSTEM, SYSTEM], HEALTHY, identify=anonymous, measures=NoMeasures(), admission=None,
            is_ready=lambda: True, max_calls=1, max_connections=1, bodies=BodyBudget(),
        )  # fmt: skip


def test_every_call_of_the_file_is_there() -> None:
    there = {(one.service.full_name, name) for one in SERVICERS for name in one.rpcs}
    services = pb.DESCRIPTOR.services_by_name.values()
    assert there == {(one.full_name, method.name) for one in services for method in one.methods}
