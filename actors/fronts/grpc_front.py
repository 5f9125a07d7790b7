"""The gRPC front: a server of gRPC's own core, which takes no socket: the port is held for it."""

from __future__ import annotations

import socket
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from actors.fronts.http_front import GRACE_S, bound_address
from elf.core.errors import StartupError
from elf.rpc.server import RpcServer


class GrpcFront:
    """Serves gRPC at the address of a held port until cancelled, then lets the calls in flight end within GRACE_S s.

    `build` makes the server; each run has one of its own.
    """

    name = "grpc_front"

    def __init__(self, held: socket.socket, build: Callable[[], RpcServer]) -> None:
        self._address = bound_address(held)
        self._build = build

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        server, health = self._build()
        try:
            self._take_port(server.add_insecure_port)
            await server.start()
            task_status.started()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                health.stop()
                await server.stop(GRACE_S)

    def _take_port(self, add: Callable[[str], int]) -> None:
        try:
            add(str(self._address))
        except RuntimeError as error:
            raise StartupError(f"{self.name} cannot listen on {self._address}") from error
