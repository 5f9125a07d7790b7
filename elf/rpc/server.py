"""The gRPC server: the services of families, health, and reflection, which tells clients what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import grpc

from elf.api.rpc import Servicer
from elf.rpc.calls import Calls
from elf.rpc.health import SERVICE as HEALTH
from elf.rpc.health import Health
from elf.rpc.messages import largest_message
from elf.rpc.reflection import reflection_servicer

IDLE_MS: Final = 60 * 1000
"""How long a connection without a call is kept."""
HANDSHAKE_MS: Final = 10 * 1000
"""How long a connection has to begin with HTTP/2."""
STREAMS_PER_CONNECTION: Final = 1024
PING_MS: Final = 60 * 1000
"""After so long without a word from a client with open calls, it is asked whether it is there."""
PONG_MS: Final = 20 * 1000
MAX_METADATA_BYTES: Final = 64 * 1024


class RpcServer(NamedTuple):
    """A server that is not started yet, and what tells of its health."""

    server: grpc.aio.Server
    health: Health


def create_server(
    servicers: Sequence[Servicer], calls: Calls, *, is_ready: Callable[[], bool], max_connections: int
) -> RpcServer:
    """Build the server of these services. Only within a running event loop, which it belongs to.

    `is_ready` tells whether they can be used. gRPC's own limit of calls at a time is not used: it counts those of
    everybody, health included, before anyone knows who calls. `calls` has the limit.
    """
    max_bytes = largest_message(servicers)
    names = [servicer.service.full_name for servicer in servicers]
    health = Health(names, is_ready)
    reflection = reflection_servicer([*names, HEALTH])
    server = grpc.aio.server(
        handlers=[
            health.handler(),
            *(calls.handler_of(one, max_bytes=max_bytes) for one in (*servicers, reflection)),
        ],
        options=[
            ("grpc.so_reuseport", 1),  # several processes share the port
            ("grpc.max_receive_message_length", max_bytes),
            ("grpc.max_send_message_length", max_bytes),
            ("grpc.max_metadata_size", MAX_METADATA_BYTES),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
            ("grpc.max_allowed_incoming_connections", max_connections),
            ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION),
            ("grpc.keepalive_time_ms", PING_MS),
            ("grpc.keepalive_timeout_ms", PONG_MS),
        ],
    )
    return RpcServer(server, health)
