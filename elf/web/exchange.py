"""One request on its way through an application, and the answer to it.

Some answers need no body: nothing is at that path, or there is too much to do. The server closes a connection when an
answer ends before the body has come, and a client that does not know loses its next request. So the answer waits a
moment for the body, and says that the connection will be closed if it does not come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, aclosing, suppress
from typing import Any
from urllib.parse import urlsplit

import anyio
from werkzeug.datastructures import Headers

from elf.core.errors import PayloadTooLarge
from elf.web.access_log import request_id_of
from elf.web.auditing import RequestAudit
from elf.web.failures import BODY_TIMEOUT_S, BodyTimeout
from elf.web.response import Response
from elf.web.routes import Route

BODY_GRACE_S = 1.0

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Exchange:
    """One request, and what is known of it by now.

    `route` is where it leads, None where there is nothing, and `values` are the parameters of its path. `changes` says
    whether it may change something, `refusal` why its caller was refused, and `held` has what is held until the answer
    is sent.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.path = _path_of(scope["path"])
        self.query: bytes = scope["query_string"]
        self.headers = headers_of(scope)
        self.started = time.perf_counter()
        self.request_id = request_id_of(self.headers.get("X-Request-Id"))
        self.route: Route | None = None
        self.values: dict[str, str] = {}
        self.changes = False
        self.refusal: str | None = None
        self.audit = RequestAudit()
        self.held = ExitStack()
        self._receive = receive
        self._send = send
        self._received = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None
        self._here = anyio.CancelScope()

    @property
    def route_path(self) -> str | None:
        """The path as it was declared, with {names} for what clients choose; None where there is nothing."""
        return None if self.route is None else self.route.path

    async def run(self, answer: Callable[[Exchange], Awaitable[Response]]) -> None:
        """Answer the request. It is cancelled when its client goes away."""
        with self._here, self.held:
            try:
                await self._respond(await answer(self))
            finally:
                if self._listener is not None:
                    self._listener.cancel()

    async def body(self, most: int) -> bytes:
        """Return the body. Raises PayloadTooLarge for more bytes than these, BodyTimeout when it does not come."""
        too_large = PayloadTooLarge(f"the body is larger than {most} bytes")
        declared = self.headers.get("Content-Length", "")
        if declared.isdecimal() and int(declared) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while not self._received.is_set():
                    body += await self._part()
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise BodyTimeout from None
        return bytes(body)

    def listen(self) -> None:
        """Notice from now on when the client goes away. What may still come of a body is left out."""
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen())  # a task group costs more than twice as much

    async def _listen(self) -> None:
        while True:
            await self._part()

    async def _part(self) -> bytes:
        event = await self._receive()
        if event["type"] == "http.disconnect":
            self._here.cancel()
            await anyio.sleep_forever()
        if not event.get("more_body"):
            self._received.set()
        part: bytes = event.get("body", b"")
        return part

    async def _respond(self, response: Response) -> None:
        headers = response.encoded_headers()
        if not self._received.is_set() and self.scope["http_version"] != "2":
            self.listen()
            with anyio.move_on_after(BODY_GRACE_S):
                await self._received.wait()
            if not self._received.is_set():
                headers.append((b"connection", b"close"))
        with suppress(TimeoutError):
            async with asyncio.timeout(response.timeout_s):
                start = {"type": "http.response.start", "status": response.status, "headers": headers}
                await self._send(start)
                if isinstance(response.body, bytes):
                    await self._send(
                        {"type": "http.response.body", "body": response.body, "more_body": False}
                    )
                else:
                    await self._send_parts(response.body)

    async def _send_parts(self, parts: AsyncGenerator[bytes, None]) -> None:
        async with aclosing(parts):
            async for part in parts:
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def headers_of(scope: Scope) -> Headers:
    """Return the headers of a request."""
    return Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])


def _path_of(sent: str) -> str:
    """Return the path of what a request asks for, which may be a whole URL, or a * for the server itself."""
    path = sent if sent.startswith(("/", "*")) else urlsplit(sent).path
    return f"/{path.lstrip('/')}"
