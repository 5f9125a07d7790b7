"""One connection to a front: HTTP/1.1, or Hypercorn's HTTP/2, and what Hypercorn leaves to whoever runs it.

Hypercorn waits for its keep-alive limit when a client has closed an idle connection, gives a client no answer that has
closed its side only, and closes a connection on which a client still sends, whose system then forgets the response that
has come, unread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, cast

import anyio
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.tcp_server import MAX_RECV, TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config as HypercornConfig
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.typing import ASGIFramework, ConnectionState, LifespanState
from hypercorn.utils import parse_socket_addr

from actors.fronts.http1 import Http1
from actors.fronts.http2 import Http2

HTTP2_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LINGER_S: Final = 15.0
"""For so long, what a client still sends behind its last response is read and left out: it reads when it has sent."""

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Watcher(Protocol):
    """What is told what a connection is at.

    It waits for its client, who may let it wait for ever, be it for a request or for reading an answer; or it works on
    a request, or it is about to end.
    """

    def waits(self, connection: ClientConnection) -> None: ...
    def works(self, connection: ClientConnection) -> None: ...
    def leaves(self, connection: ClientConnection) -> None: ...


class ClientConnection(TCPServer):
    """Serves one connection until either side ends it: `await connection.run()`.

    A client that has closed its side, be it that it is gone, gets the answers to what it has asked, and then the
    connection ends. One that is reset ends at once, with the requests on it.
    """

    def __init__(
        self,
        app: ASGIFramework,
        config: HypercornConfig,
        context: WorkerContext,
        state: LifespanState,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        *,
        watcher: Watcher,
    ) -> None:
        super().__init__(self._answer, asyncio.get_running_loop(), config, context, state, *streams)
        self._framework = app
        self._watcher = watcher
        self._at_work = 0
        self._sending = 0  # of those at work
        self._has_ended = False
        self._idle_since: float | None = self.loop.time()
        self._end_of_lingering: asyncio.TimerHandle | None = None
        self._has_read_all = False
        self._has_nothing_to_answer = asyncio.Event()
        self._has_nothing_to_answer.set()

    async def run(self) -> None:
        try:
            async with TaskGroup(self.loop) as group:
                self._task_group = group
                self.protocol = cast("ProtocolWrapper", _Protocol(self, group))
                self._watcher.waits(self)
                await self.idle_task.restart(group, self._idle_timeout)
                await self._read_data()
        finally:
            if self._end_of_lingering is not None:
                self._end_of_lingering.cancel()
            await self._close()

    def cut(self) -> None:
        """End the connection now, whatever it is at."""
        self.writer.transport.abort()

    async def _read_data(self) -> None:
        with suppress(OSError):  # the connection is lost
            while data := await self.reader.read(MAX_RECV):
                if self._end_of_lingering is None:
                    await self.protocol.handle(RawData(data))
            self._has_read_all = True
            await self.protocol.handle(RawData(b""))  # a request that is not whole will never be
            if not self.writer.is_closing():
                await self._has_nothing_to_answer.wait()
        self._has_read_all = True
        self._has_ended = True
        if (
            not self.writer.transport.get_write_buffer_size()
        ):  # else it lasts for as long as its client reads slowly
            self._watcher.leaves(self)
        await self.protocol.handle(Closed())
        await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, Updated):
            self._note(is_idle=event.idle)
            return
        if isinstance(event, Closed) and not self._has_read_all and not self.writer.is_closing():
            await self._linger()
        else:
            await super().protocol_send(event)
        if isinstance(event, Closed) or self.writer.is_closing():
            self._has_nothing_to_answer.set()

    async def _linger(self) -> None:
        """End this side of the connection; the rest ends when its client does so, or takes too long to."""
        if self._end_of_lingering is None:
            self._end_of_lingering = self.loop.call_later(LINGER_S, self.writer.close)
            with suppress(OSError, RuntimeError):  # it is lost
                self.writer.write_eof()
            await self.protocol.handle(Closed())

    def _note(self, *, is_idle: bool) -> None:
        if self._has_ended:
            return
        self._idle_since = self.loop.time() if is_idle else None
        if is_idle:
            self._has_nothing_to_answer.set()
        else:
            self._has_nothing_to_answer.clear()

    async def _idle_timeout(self) -> None:
        """Close the connection when it has been idle for long, or is idle when the front ends.

        Hypercorn's own is started and cancelled with each request.
        """
        terminated = self.context.terminated
        while (left := self._idle_seconds_left()) > 0 and not terminated.is_set():
            with anyio.move_on_after(left):
                await terminated.wait()
        await self._has_nothing_to_answer.wait()
        await asyncio.shield(self._initiate_server_close())

    def _idle_seconds_left(self) -> float:
        idle_s = 0.0 if self._idle_since is None else self.loop.time() - self._idle_since
        return self.config.keep_alive_timeout - idle_s

    async def _answer(
        self, scope: Any, receive: Receive, send: Send, sync_spawn: object, call_soon: object
    ) -> None:
        """Run the application for one request."""
        exchange = _Exchange(receive, send, self)
        try:
            await self._framework(scope, exchange.receive, exchange.send)
        finally:
            if exchange.is_whole:
                self.rest()

    def work(self) -> None:
        """Take note that all of a request is there."""
        self._at_work += 1
        self._tell()

    def rest(self) -> None:
        """Take note that a request is answered."""
        self._at_work -= 1
        self._tell()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Take note that a request that is at work waits meanwhile for its client to read."""
        self._sending += 1
        self._tell()
        try:
            yield
        finally:
            self._sending -= 1
            self._tell()

    def _tell(self) -> None:
        if self._at_work > self._sending:
            self._watcher.works(self)
        else:
            self._watcher.waits(self)


class _Exchange:
    """A request on a connection, and its answer."""

    def __init__(self, receive: Receive, send: Send, connection: ClientConnection) -> None:
        self._receive = receive
        self._send = send
        self._connection = connection
        self.is_whole = False

    async def receive(self) -> Any:
        event = await self._receive()
        if event["type"] == "http.request" and not event["more_body"] and not self.is_whole:
            self.is_whole = True
            self._connection.work()
        return event

    async def send(self, event: Any) -> None:
        if self.is_whole:
            with self._connection.sending():
                await self._send(event)
            return
        if event["type"] != "http.response.body" or event.get("more_body"):
            await self._send(event)
            return
        # The end of an answer waits until the rest of the request has been taken, which the application does not want.
        async with anyio.create_task_group() as group:
            group.start_soon(self._waste)
            await self._send(event)
            group.cancel_scope.cancel()

    async def _waste(self) -> None:
        while (await self._receive())["type"] == "http.request":
            pass


class _Protocol:
    """HTTP/1.1, unless a client speaks HTTP/2 from its first byte on."""

    def __init__(self, connection: ClientConnection, group: TaskGroup) -> None:
        sock = connection.writer.get_extra_info("socket")
        here, there = (
            parse_socket_addr(sock.family, name) for name in (sock.getsockname(), sock.getpeername())
        )
        self._connection = connection
        self._group = group
        self._here, self._there = here, there
        self._beginning = b""
        self._spoken: Http1 | Http2 | None = None

    async def handle(self, event: Event) -> None:
        if self._spoken is None:
            event = await self._begin(event)
        if self._spoken is not None:
            await self._spoken.handle(event)

    async def _begin(self, event: Event) -> Event:
        """Choose the protocol as soon as what has come of the first bytes tells, and return all of it."""
        data = event.data if isinstance(event, RawData) else b""
        self._beginning += data
        if data and self._beginning != HTTP2_PREFACE and HTTP2_PREFACE.startswith(self._beginning):
            return event
        connection = self._connection
        if self._beginning.startswith(HTTP2_PREFACE):
            self._spoken = Http2(
                connection.app, connection.config, connection.context, self._group,
                ConnectionState(connection.state), False, self._there, self._here, connection.protocol_send,
            )  # fmt: skip
            await self._spoken.initiate()
        elif isinstance(event, RawData):
            addresses = self._there, self._here
            self._spoken = Http1(
                connection.app, connection.context, self._group, addresses, connection.protocol_send
            )
        return RawData(self._beginning) if isinstance(event, RawData) else event
