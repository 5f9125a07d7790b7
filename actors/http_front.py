"""The HTTP front: an ASGI application served by Hypercorn on a socket that is bound already."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any

import anyio
import structlog
from anyio.abc import TaskStatus
from hypercorn.asyncio import serve
from hypercorn.config import Config as HypercornConfig
from hypercorn.typing import ASGIFramework

from actors.kernel.failure import unwrapped
from elf.config.places import Address
from elf.core.errors import StartupError

BACKLOG = 512
GRACE_S = 4.0
KEEP_ALIVE_S = 30
STALLED_S = 30.0
# What Hypercorn runs for each connection.
SERVING_TASK = "worker_serve.<locals>._server_callback"

log = structlog.get_logger()


def bind(address: Address, *, key: str) -> socket.socket:
    """Take a TCP port without listening yet. Raises StartupError naming the config key and the address."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # A client that stops reading its answer is cut off by the system (Linux); Hypercorn would wait for ever.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(STALLED_S * 1000))
    try:
        sock.bind((address.host, address.port))
    except OSError as error:
        sock.close()
        raise StartupError(f"{key}: cannot listen on {address}: {error.strerror or error}") from error
    return sock


def bound_address(sock: socket.socket) -> Address:
    """Return where a bound socket is, with the port the system chose when the config said 0."""
    host, port = sock.getsockname()[:2]
    return Address(host, port)


class HttpFront:
    """Serves one application until cancelled, then lets the requests in flight end within GRACE_S seconds.

    Hypercorn must not be cancelled while connections are open, so it is told to stop and waited for.
    """

    def __init__(self, name: str, app: ASGIFramework, sock: socket.socket) -> None:
        self.name = name
        self._app = app
        self._socket = sock

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        stop = anyio.Event()
        _forgive_lost_connections()
        self._listen()
        # Hypercorn closes the descriptor it is given; a copy keeps the port ours for the next run.
        config = _hypercorn_config(os.dup(self._socket.fileno()))
        async with anyio.create_task_group() as group:
            with anyio.CancelScope(shield=True) as serving:
                group.start_soon(self._watch, stop, serving, task_status)
                await serve(self._app, config, shutdown_trigger=stop.wait, mode="asgi")
            group.cancel_scope.cancel()

    def _listen(self) -> None:
        try:
            self._socket.listen(BACKLOG)
        except OSError as error:  # somebody who had bound the same port meanwhile was faster to listen
            where = bound_address(self._socket)
            raise StartupError(f"{self.name} cannot listen on {where}: {error.strerror or error}") from error

    async def _watch(
        self, stop: anyio.Event, serving: anyio.CancelScope, task_status: TaskStatus[None]
    ) -> None:
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            stop.set()
            # The last resort, a little after Hypercorn's own grace: a request that does not end is cut off.
            serving.deadline = anyio.current_time() + GRACE_S + 1.0


def _hypercorn_config(descriptor: int) -> HypercornConfig:
    config = HypercornConfig()
    config.bind = [f"fd://{descriptor}"]
    config.backlog = BACKLOG
    config.graceful_timeout = GRACE_S
    config.keep_alive_timeout = KEEP_ALIVE_S
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    return config


class _Forgiving:
    """Hypercorn fails aloud, beyond anybody's reach, when it closes a connection that the system has given up."""

    def __init__(
        self, otherwise: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None
    ) -> None:
        self._otherwise = otherwise

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and isinstance(unwrapped(error), TimeoutError) and _is_of_a_connection(context):
            log.info("client_stalled", error=str(unwrapped(error)))
        elif self._otherwise is None:
            loop.default_exception_handler(context)
        else:
            self._otherwise(loop, context)


def _is_of_a_connection(context: dict[str, Any]) -> bool:
    """Return whether what failed is Hypercorn's task for a connection.

    Older Pythons (such as 3.11.2) do not say so: they tell of a task whose exception nobody has asked for, when it is
    collected.
    """
    if "transport" in context:
        return True
    task = context.get("future")
    return isinstance(task, asyncio.Task) and getattr(task.get_coro(), "__qualname__", "") == SERVING_TASK


def _forgive_lost_connections() -> None:
    loop = asyncio.get_running_loop()
    current = loop.get_exception_handler()
    if not isinstance(current, _Forgiving):
        loop.set_exception_handler(_Forgiving(current))
