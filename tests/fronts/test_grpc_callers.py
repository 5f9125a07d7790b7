"""Who calls over gRPC is known by the same metadata as over HTTP by headers, and refused for the same reasons."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from elf.api.caller import Caller
from elf.api.operation import Handler
from elf.api.rpc import OwnRpc, Servicer
from elf.config.auth import ApiKey, Auth, RoleHolders
from elf.core.api_key import hash_of
from elf.families.conversations.api import conversations as c
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as stubs
from elf.families.conversations.grpc.conversations import SYSTEM
from elf.identity.known_callers import KnownCallers
from tests.rpc_kit import served

pytestmark = pytest.mark.anyio

KEYS = [
    ApiKey(name="plain", hash=hash_of("plain"), tenant_id="acme"),
    ApiKey(name="of-ana", hash=hash_of("of-ana"), user="ana", role="indexer"),
    ApiKey(name="for-users", hash=hash_of("for-users"), acts_for_users=True),
]
REQUIRED = Auth(mode="required", keys=KEYS)
OFF = Auth(mode="off", keys=KEYS, dev_user="dev")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def tell(asked: pb.CancelRecordRequest, caller: Caller) -> pb.CancelRecordResponse:
    """Say who calls, of what tenant."""
    return pb.CancelRecordResponse(
        redirect_address=f"{caller.user} by {caller.client} of {caller.bound.get('tenant_id')}"
    )


async def is_well(request: Any, caller: Caller) -> c.Health:
    return c.Health(status="ok")


HANDLERS: Mapping[str, Handler] = {c.HEALTH.name: is_well}
TELLING = Servicer(
    service=pb.DESCRIPTOR.services_by_name["ResponseRecorderService"], rpcs={"Cancel": OwnRpc(run=tell)}
)


@pytest.fixture
async def required() -> AsyncIterator[grpc.aio.Channel]:
    async with served([SYSTEM, TELLING], HANDLERS, identify=KnownCallers(REQUIRED)) as channel:
        yield channel


async def caller_of(channel: grpc.aio.Channel, *metadata: tuple[str, str]) -> str:
    """Return what the service makes of metadata: who calls, or the status with which that is refused."""
    recorder = stubs.ResponseRecorderServiceStub(channel)
    try:
        answer: pb.CancelRecordResponse = await recorder.Cancel(pb.CancelRecordRequest(), metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return answer.redirect_address


@pytest.mark.parametrize(
    ("metadata", "caller"),
    [
        ((("x-api-key", "of-ana"),), "ana by of-ana of None"),
        ((("x-api-key", "for-users"), ("x-user-id", "bob")), "bob by for-users of None"),
        ((), "UNAUTHENTICATED"),
        ((("x-api-key", "plain"),), "UNAUTHENTICATED"),
        ((("x-api-key", "guessed"),), "UNAUTHENTICATED"),
        ((("x-api-key", "of-ana"), ("x-api-key", "of-ana")), "UNAUTHENTICATED"),
        ((("x-api-key", "of-ana"), ("x-user-id", "bob")), "UNAUTHENTICATED"),
        ((("x-user-id", "bob"),), "UNAUTHENTICATED"),
        ((("authorization", "Bearer ana"),), "UNAUTHENTICATED"),
        ((("authorization", "Basic YW5hOg=="), ("x-api-key", "of-ana")), "UNAUTHENTICATED"),
        ((("x-client-id", "bot"),), "UNAUTHENTICATED"),
    ],
)
async def test_callers_prove_who_they_are(
    required: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...], caller: str
) -> None:
    assert await caller_of(required, *metadata) == caller


async def tell_roles(asked: pb.CancelRecordRequest, caller: Caller) -> pb.CancelRecordResponse:
    return pb.CancelRecordResponse(redirect_address=" ".join(sorted(caller.roles)))


@pytest.mark.parametrize(
    ("metadata", "roles"),
    [
        ((("x-api-key", "for-users"), ("x-user-id", "ana")), "user"),
        ((("x-api-key", "of-ana"),), "indexer user"),
    ],
)
async def test_a_user_whom_a_key_names_has_no_role_beyond_that_of_the_key(
    metadata: tuple[tuple[str, str], ...], roles: str
) -> None:
    auth = REQUIRED.model_copy(update={"roles": {"admin": RoleHolders(users=["ana"])}})
    telling = Servicer(service=TELLING.service, rpcs={"Cancel": OwnRpc(run=tell_roles)})
    async with served([telling], {}, identify=KnownCallers(auth)) as channel:
        assert await caller_of(channel, *metadata) == roles


@pytest.mark.parametrize(
    ("metadata", "caller"),
    [
        ((), "dev by None of None"),
        ((("authorization", "Bearer ana"), ("x-client-id", "bot")), "ana by bot of None"),
        ((("authorization", "Bearer ana"), ("x-api-key", "plain")), "ana by plain of acme"),
        ((("x-api-key", "guessed"),), "UNAUTHENTICATED"),
    ],
)
async def test_on_a_laptop_they_are_taken_at_their_word(
    metadata: tuple[tuple[str, str], ...], caller: str
) -> None:
    async with served([TELLING], {}, identify=KnownCallers(OFF)) as channel:
        assert await caller_of(channel, *metadata) == caller


async def test_health_is_for_everybody(required: grpc.aio.Channel) -> None:
    assert (await stubs.SystemServiceStub(required).GetHealth(Empty())).status == "ok"
    whole = await health_pb2_grpc.HealthStub(required).Check(health_pb2.HealthCheckRequest())
    assert whole.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("key", [None, "guessed"])
async def test_reflection_is_for_callers_alone(required: grpc.aio.Channel, key: str | None) -> None:
    metadata = () if key is None else (("x-api-key", key),)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await services_by(required, metadata)
    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert await services_by(required, (("x-api-key", "plain"),)) == 4


async def test_on_a_laptop_reflection_is_for_everybody() -> None:
    async with served([TELLING], {}, identify=KnownCallers(OFF)) as channel:
        assert await services_by(channel, ()) == 3


async def services_by(channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...]) -> int:
    """Return how many services reflection lists."""
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    (told,) = [one async for one in stub.ServerReflectionInfo(iter([asked]), metadata=metadata)]
    return len(told.list_services_response.service)
