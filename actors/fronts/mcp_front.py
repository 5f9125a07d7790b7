"""The MCP front: streamable HTTP at a path for each family, served by Hypercorn on a socket that is bound already."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import anyio.to_thread
import httpx
from anyio.abc import TaskStatus

from actors.fronts.connections import Connections
from actors.fronts.host_names import visitors_of
from actors.fronts.http_front import HttpFront
from elf.config import Config
from elf.core.body_budget import BodyBudget
from elf.family import Family
from elf.identity.identify import Identify
from elf.mcp.callers import Callers
from elf.mcp.gate import McpGate

OpenSessions = Callable[[Config, httpx.AsyncClient, Sequence[Family]], AbstractAsyncContextManager[Any]]


class McpFront:
    """Serves MCP until cancelled, then lets the calls in flight end as HttpFront does.

    It offers the tools of each family at a path. `identify` says by the headers of a request who makes it, `connect`
    makes the client through which tool calls reach the API, and `bodies` is what bodies of requests may take. The MCP
    SDK takes a second of computing to load and is loaded when somebody first asks for MCP: a service that nobody
    speaks MCP to neither starts later for it nor keeps it in memory.
    """

    name = "mcp_front"

    def __init__(
        self,
        config: Config,
        sock: socket.socket,
        *,
        families: Sequence[Family],
        identify: Identify,
        connect: Callable[[], httpx.AsyncClient],
        connections: Connections,
        bodies: BodyBudget | None = None,
    ) -> None:
        self._config = config
        self._socket = sock
        self._families = [family for family in families if family.tools]
        self._callers = Callers(config, identify)
        self._connect = connect
        self._connections = connections
        self._bodies = bodies

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        visitors = visitors_of(self.name, self._config.service, self._socket)
        paths = [family.mcp_path for family in self._families]
        gate = McpGate(visitors, self._callers, paths, bodies=self._bodies)
        served = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep_sessions, gate, served)
            try:
                front = HttpFront(self.name, gate, self._socket, self._connections)
                await front.run(task_status=task_status)
            finally:
                served.set()
                gate.wanted.set()

    async def _keep_sessions(self, gate: McpGate, served: anyio.Event) -> None:
        # Shielded, for the calls in flight need the sessions until the front has served them, which is soon.
        with anyio.CancelScope(shield=True):
            await gate.wanted.wait()
            try:
                if not served.is_set():
                    open_sessions = await anyio.to_thread.run_sync(_load)
                    async with (
                        self._connect() as http,
                        open_sessions(self._config, http, self._families) as handlers,
                    ):
                        gate.open(handlers)
                        await served.wait()
            finally:
                gate.give_up()


def _load() -> OpenSessions:
    from elf.mcp.sessions import open_sessions

    gc.freeze()  # what the SDK is made of stays for good and need not be looked through again
    return open_sessions
