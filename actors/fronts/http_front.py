"""The HTTP front: an ASGI application served by Hypercorn's protocols on a socket that is bound already."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.lifespan import Lifespan
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config as HypercornConfig
from hypercorn.typing import ASGIFramework, LifespanState

from actors.fronts.connections import Connections, Occasional
from actors.fronts.http2 import BROKEN_PROTOCOL
from actors.fronts.http_connection import ClientConnection
from actors.kernel.failure import unwrapped
from elf.config.places import Address
from elf.core.errors import StartupError

BACKLOG = 512
GRACE_S = 4.0
CUT_OFF_S = 0.5
KEEP_ALIVE_S = 30
STALLED_S = 30.0
SHORT_PAUSE_S = 0.1
# accept() fails with what befell a connection before it was accepted, too; these alone are about the socket itself.
_NO_LISTENER: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EOPNOTSUPP})

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
        raise StartupError(f"{key}: cannot listen on {address}: {_described(error)}") from error
    return sock


def _described(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            "something listens there already; `elf status` says whether that is ELF, else name another port"
        )
    return error.strerror or str(error)


def bound_address(sock: socket.socket) -> Address:
    """Return where a bound socket is, with the port the system chose when the config said 0."""
    host, port = sock.getsockname()[:2]
    return Address(host, port)


class HttpFront:
    """Serves one application until cancelled, then lets the requests in flight end within GRACE_S seconds.

    It accepts connections itself: an event loop's server stops for ever, without a word, when the process has no
    descriptor left at the wrong moment. `connections` says how many there may be, and counts them.
    """

    def __init__(self, name: str, app: ASGIFramework, sock: socket.socket, connections: Connections) -> None:
        self.name = name
        self._app = app
        self._socket = sock
        self._connections = connections
        self._tell = Occasional("cannot_accept", front=name)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        self._listen()
        config = _hypercorn_config()
        async with _alive(self._app, config) as state:
            serving = _Serving(self._app, config, state, self._connections)
            task_status.started()
            try:
                await self._accept(serving)
            finally:
                await serving.end()

    def _listen(self) -> None:
        try:
            self._socket.listen(BACKLOG)
            self._socket.setblocking(False)
        except OSError as error:  # somebody who had bound the same port meanwhile was faster to listen
            where = bound_address(self._socket)
            raise StartupError(f"{self.name} cannot listen on {where}: {_described(error)}") from error

    async def _accept(self, serving: _Serving) -> None:
        while True:
            await anyio.wait_readable(self._socket)
            try:
                sock, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue  # another process of this service took it, or its client is gone
            except OSError as error:
                if error.errno in _NO_LISTENER:
                    raise
                await self._recover(error)
            else:
                if self._connections.admit(sock):
                    serving.begin(sock)

    async def _recover(self, error: OSError) -> None:
        """Wait a moment after a failure to accept, which is most likely for want of a descriptor."""
        self._tell(errno.errorcode.get(error.errno or 0, "unknown"))
        self._connections.make_room()
        await anyio.sleep(SHORT_PAUSE_S)


class _Serving:
    """The connections of one run of a front."""

    def __init__(
        self, app: ASGIFramework, config: HypercornConfig, state: LifespanState, connections: Connections
    ) -> None:
        self._app = app
        self._config = config
        self._state = state
        self._connections = connections
        self._context = WorkerContext(max_requests=None)
        # Not a task group: one that is cancelled cancels again and again, and Hypercorn has things to tidy.
        self._tasks: set[asyncio.Task[None]] = set()
        self._served: set[ClientConnection] = set()

    def begin(self, sock: socket.socket) -> None:
        """Serve an admitted connection from now on."""
        task = asyncio.get_running_loop().create_task(self._serve(sock))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Let the requests in flight end within GRACE_S seconds, and cut off those that do not. Cannot be cancelled."""
        with anyio.CancelScope(shield=True):
            await self._context.terminated.set()
            await self._wait(GRACE_S)
            for connection in self._served:
                connection.cut()  # or an answer that nobody reads would hold up the end of its task
            for task in self._tasks:
                task.cancel()
            await self._wait(CUT_OFF_S)

    async def _wait(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _serve(self, sock: socket.socket) -> None:
        try:
            streams = await _streams(sock)
        except OSError as error:
            sock.close()
            log.info("client_lost", error=type(error).__name__)
            self._connections.ended(None)
            return
        connection = ClientConnection(
            self._app, self._config, self._context, self._state, streams, watcher=self._connections
        )
        self._served.add(connection)
        try:
            await connection.run()
        except Exception as error:  # noqa: BLE001 - what ends one connection is nothing to the others
            _tell(unwrapped(error))
        finally:
            self._served.discard(connection)
            self._connections.ended(connection)


def _tell(error: BaseException) -> None:
    if isinstance(error, TimeoutError):
        log.info("client_stalled", error=str(error))
    elif isinstance(error, (OSError, *BROKEN_PROTOCOL)):
        log.info("client_lost", error=type(error).__name__)
    else:
        log.error("connection_failed", exc_info=error)


async def _streams(sock: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


@asynccontextmanager
async def _alive(app: ASGIFramework, config: HypercornConfig) -> AsyncIterator[LifespanState]:
    """Tell the application that it is started, and on the way out that it is stopped. Raises what its start raises."""
    state: LifespanState = {}
    loop = asyncio.get_running_loop()
    lifespan = Lifespan(ASGIWrapper(app), config, loop, state)
    task = loop.create_task(lifespan.handle_lifespan())
    try:
        await lifespan.wait_for_startup()
        if task.done():
            task.result()
        yield state
    finally:
        with anyio.CancelScope(shield=True):
            await lifespan.wait_for_shutdown()
            task.cancel()
            await asyncio.wait([task])


def _hypercorn_config() -> HypercornConfig:
    config = HypercornConfig()
    config.keep_alive_timeout = KEEP_ALIVE_S
    config.keep_alive_max_requests = sys.maxsize  # beyond it, HTTP/2 would lose the responses that are due
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    return config
