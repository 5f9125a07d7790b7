"""Services over gRPC, in this process: what serves them, and who asks."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import grpc
import pytest
from werkzeug.datastructures import Headers

from actors.fronts.grpc_front import GrpcFront
from actors.fronts.held_port import hold
from actors.fronts.http_front import bound_address
from elf.api.caller import Caller
from elf.api.operation import Handler
from elf.api.rpc import Servicer
from elf.config.places import Address
from elf.core.body_budget import BodyBudget
from elf.core.measures import Measures, NoMeasures
from elf.identity.identify import Identify
from elf.rpc.calls import Calls
from elf.rpc.server import create_server
from elf.web.admission import Admission

LOOPBACK = Address("127.0.0.1", 0)
NOBODY = "127.0.0.1:9"
LARGE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


async def named(headers: Headers) -> Caller:
    """Take everybody for who they say they are."""
    return Caller(
        user=headers.get("x-user"),
        client=headers.get("x-client"),
        roles=frozenset(headers.getlist("x-role")),
        bound={"tenant_id": headers.get("x-tenant", "")},
    )


async def run(front: GrpcFront, scope: anyio.CancelScope, *, task_status: Any) -> None:
    with scope:
        await front.run(task_status=task_status)


@asynccontextmanager
async def served(
    servicers: Sequence[Servicer],
    handlers: Mapping[str, Handler],
    *,
    held: socket.socket | None = None,
    identify: Identify = named,
    measures: Measures | None = None,
    admission: Admission | None = None,
    is_ready: Callable[[], bool] = lambda: True,
    max_calls: int = 100,
    bodies: BodyBudget | None = None,
) -> AsyncIterator[grpc.aio.Channel]:
    """Serve at a port and yield a channel to it."""
    sock = held or hold(LOOPBACK, key="service.grpc_bind")
    with sock:
        calls = Calls(
            handlers,
            front="grpc_front",
            identify=identify,
            measures=measures or NoMeasures(),
            max_calls=max_calls,
            admission=admission,
            bodies=bodies,
        )
        build = partial(create_server, servicers, calls, is_ready=is_ready, max_connections=max_calls)
        front = GrpcFront(sock, build)
        scope = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            await group.start(partial(run, front, scope))
            async with grpc.aio.insecure_channel(str(bound_address(sock)), options=LARGE) as channel:
                yield channel
            scope.cancel()
    await heard_of_the_end()


async def heard_of_the_end() -> None:
    """Wait until the loop has heard that every call has ended.

    gRPC tells all loops of a process through one queue. Whatever is in it for a loop that is closed, which that of a
    test soon is, raises an error in the next one.
    """
    async with grpc.aio.insecure_channel(NOBODY) as channel:
        with pytest.raises(grpc.aio.AioRpcError):  # told after everything that was in the queue before
            await channel.unary_unary("/nobody/Listens")(b"")
