"""HTTP/1.1 on one connection: requests are read by llhttp, and each answer leaves in as few pieces as it can.

The bytes of a request are its head, its body, and what frames the two. A head is refused that is too long, as is what
frames a body and does not end. While a request is answered, those that were sent behind it wait, and nothing more is
read than they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import httptools
import structlog
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.events import Closed, Event, RawData, Updated

from actors.fronts.http1_request import Request, head_of
from actors.fronts.request_target import path_of
from actors.kernel.failure import unwrapped
from elf.core.body_budget import MAX_LENGTH_DIGITS

MAX_FRAME_BYTES: Final = 65_536
"""As many bytes may come one after the other that are of no body."""

Send = Callable[[Event], Awaitable[None]]
Address = tuple[str, int]

log = structlog.get_logger()


class Refused(Exception):
    """What was sent is no request that is served; `status` says why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Http1:
    """One connection: `handle` takes what comes of it and returns when more may be read; `send` tells what to do."""

    def __init__(
        self,
        app: Any,
        context: WorkerContext,
        group: TaskGroup,
        addresses: tuple[Address | None, Address | None],
        send: Send,
    ) -> None:
        """`addresses` are those of the client and of this side."""
        self._app = app
        self._context = context
        self._group = group
        self._addresses = addresses
        self._send = send
        self._parser = httptools.HttpRequestParser(self)
        self._coming: deque[Request] = deque()
        self._read_last: Request | None = None  # which may not be whole
        self._served: Request | None = None
        self._is_over = False
        self._framing_bytes = 0
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._is_in_head = False

    async def handle(self, event: Event) -> None:
        """Take what has come: bytes, none when there will be no more, or the end of the connection."""
        if isinstance(event, Closed):
            self._is_over = True
            if self._served is not None:
                self._served.leave()
        elif isinstance(event, RawData) and not self._is_over:
            try:
                self._read(event.data)
            except Refused as error:
                await self._serve_coming()
                await self._give_up(error.status)
            else:
                await self._serve_coming()

    def _read(self, data: bytes) -> None:
        if not data and self._is_amid_request:
            raise Refused(400)
        self._framing_bytes += len(data)
        rest: bytes | None = data
        while rest is not None:  # as many requests as have come may each offer another protocol
            rest = self._parse(rest)
        if self._framing_bytes > MAX_FRAME_BYTES and self._is_amid_request:
            raise Refused(431)

    def _parse(self, data: bytes) -> bytes | None:
        """Parse what has come; returns what is to be parsed next, if anything."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            return self._without_offer(data[error.args[0] :])
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or Refused(400) from None
        except httptools.HttpParserError:
            raise Refused(400) from None
        return None

    @property
    def _is_amid_request(self) -> bool:
        return self._is_in_head or (self._read_last is not None and not self._read_last.is_whole)

    def _without_offer(self, rest: bytes) -> bytes:
        """Return a request without its offer to go on in another protocol, for which the body was left out."""
        offered = self._coming.pop()
        if offered.method == "CONNECT":
            raise Refused(400)
        headers = [f for f in self._headers if f[0] != b"upgrade"]
        version = offered.scope["http_version"].encode()
        head = b"%b %b HTTP/%b\r\n" % (offered.method.encode(), self._url, version)
        head += b"".join(b"%b: %b\r\n" % header for header in headers)
        self._parser = httptools.HttpRequestParser(self)
        return head + b"\r\n" + rest

    # What the parser finds

    def on_message_begin(self) -> None:
        self._url, self._headers, self._is_in_head = b"", [], True

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_head:  # else it is behind the body
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        version = self._parser.get_http_version()
        hosts = sum(name == b"host" for name, _ in self._headers)
        if version not in ("1.0", "1.1") or hosts > 1 or (version == "1.1" and not hosts):
            raise Refused(400)
        if sum(len(name) + len(value) for name, value in self._headers) + len(self._url) > MAX_FRAME_BYTES:
            raise Refused(431)
        if any(name == b"content-length" and len(value) > MAX_LENGTH_DIGITS for name, value in self._headers):
            raise Refused(400)
        self._is_in_head = False
        keeps_alive = version == "1.1" and self._parser.should_keep_alive()
        self._read_last = Request(self._scope(version), self._write, keeps_alive=keeps_alive)
        self._coming.append(self._read_last)

    def on_body(self, body: bytes) -> None:
        self._framing_bytes = 0
        assert self._read_last is not None
        self._read_last.take(body)

    def on_message_complete(self) -> None:
        self._framing_bytes = 0
        assert self._read_last is not None
        self._read_last.end()

    def _scope(self, version: str) -> dict[str, Any]:
        target, _, query = self._url.partition(b"?")
        try:
            path = path_of(target)
        except ValueError:
            raise Refused(400) from None
        client, server = self._addresses
        return {
            "type": "http",
            "http_version": version,
            "asgi": {"spec_version": "2.1", "version": "3.0"},
            "method": self._parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": path,
            "raw_path": target,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": client,
            "server": server,
            "state": {},
            "extensions": {},
        }

    # What is done with it

    async def _serve_coming(self) -> None:
        while self._served is not None or self._coming:
            if self._served is not None:
                await self._served.may_read_on(is_last=not self._coming)
                if self._served is not None:
                    return
            elif self._is_over:
                return
            else:
                self._served = request = self._coming.popleft()
                await self._send(Updated(idle=False))
                self._group.spawn(self._serve, request)

    async def _give_up(self, status: int) -> None:
        """Refuse what came last, be it a part of the request that is served, and end the connection."""
        if self._served is not None and self._served.is_whole:
            await self._served.may_read_on(is_last=False)
        if self._served is not None:
            self._served.leave()
        if self._served is None or not self._served.is_begun:
            await self._refuse(status)
        await self._close()

    async def _serve(self, request: Request) -> None:
        try:
            await self._app(request.scope, request.receive, request.send, None, None)
        except Exception as error:
            # That the client is gone, or does not read, is no failure.
            if not isinstance(unwrapped(error), OSError):
                log.error("request_failed", error=type(error).__name__, exc_info=error)
        finally:
            await self._end(request)

    async def _end(self, request: Request) -> None:
        if not request.is_begun and not request.is_left:
            await self._refuse(500)
        self._served = None
        if request.leaves_connection_usable and not self._context.terminated.is_set():
            await self._send(Updated(idle=not self._coming))
        else:
            await self._close()
        request.ended()

    async def _refuse(self, status: int) -> None:
        if not self._is_over:
            await self._write(head_of(status, [(b"content-length", b"0")], keeps_alive=False))

    async def _close(self) -> None:
        self._is_over = True
        await self._send(Closed())

    async def _write(self, data: bytes) -> None:
        await self._send(RawData(data))
