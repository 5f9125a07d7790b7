"""The gRPC server: the services of families, health, and reflection, which tells clients what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import grpc
from grpc_reflection.v1alpha.reflection import SERVICE_NAME, enable_server_reflection

from elf.api.rpc import Servicer
from elf.rpc.calls import Calls
from elf.rpc.health import SERVICE as HEALTH
from elf.rpc.health import Health
from elf.rpc.messages import largest_message

IDLE_MS: Final = 5 * 60 * 1000
"""How long a connection without a call is kept."""
PING_MS: Final = 60 * 1000
"""After so long without a word from a client with open calls, it is asked whether it is there."""
PONG_MS: Final = 20 * 1000
MAX_METADATA_BYTES: Final = 64 * 1024


class RpcServer(NamedTuple):
    """A server that is not started yet, and what tells of its health."""

    server: grpc.aio.Server
    health: Health


def create_server(
    servicers: Sequence[Servicer], calls: Calls, *, is_ready: Callable[[], bool], max_calls: int
) -> RpcServer:
    """Build the server of these services. Only within a running event loop, which it belongs to.

    `is_ready` tells whether they can be used; at most `max_calls` are answered at once.
    """
    max_bytes = largest_message(servicers)
    names = [servicer.service.full_name for servicer in servicers]
    health = Health(names, is_ready)
    server = grpc.aio.server(
        handlers=[health.handler(), *(calls.handler_of(one, max_bytes=max_bytes) for one in servicers)],
        maximum_concurrent_rpcs=max_calls,
        options=[
            ("grpc.so_reuseport", 1),  # several processes share the port
            ("grpc.max_receive_message_length", max_bytes),
            ("grpc.max_send_message_length", max_bytes),
            ("grpc.max_metadata_size", MAX_METADATA_BYTES),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            ("grpc.keepalive_time_ms", PING_MS),
            ("grpc.keepalive_timeout_ms", PONG_MS),
        ],
    )
    enable_server_reflection([*names, HEALTH, SERVICE_NAME], server)
    return RpcServer(server, health)
