"""One request on its way through an application, and the answer to it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, aclosing, suppress
from typing import Any, Final

import anyio
from werkzeug.datastructures import Headers

from elf.core.body_budget import BodyBudget, declared_length
from elf.web.access_log import request_id_of
from elf.web.auditing import RequestAudit
from elf.web.response import Response
from elf.web.routes import Route

_SITE: Final = re.compile(rb"^[A-Za-z]+://[^/]*")

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
        self.path = f"/{scope['path'].lstrip('/')}"
        self.query: bytes = scope["query_string"]
        self.headers = headers_of(scope)
        self.started = time.perf_counter()
        self.request_id = request_id_of(self.headers.get("X-Request-Id"))
        self.route: Route | None = None
        self.values: dict[str, str] = {}
        self.has_slashed_value = False
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
                await self.audit.ended("left")  # unless it has ended, as all have that were answered
                if self._listener is not None:
                    self._listener.cancel()

    @property
    def raw_path(self) -> bytes:
        """The path as it was sent, whose parts are those of `path`."""
        return b"/" + _SITE.sub(b"", self.scope.get("raw_path", b"")).lstrip(b"/")

    async def body(self, most: int, budget: BodyBudget) -> bytes:
        """Return the body, which is held in `budget` until the request is answered.

        Raises PayloadTooLarge for more than `most` bytes, BodyTimeout and BodyBudgetExceeded.
        """
        held = self.held.enter_context(budget.one(self.scope.get("client")))
        declared = declared_length(self.headers.get("Content-Length"))
        async with aclosing(self._parts()) as parts:
            return await held.read(parts, declared=declared, most=most)

    async def _parts(self) -> AsyncGenerator[bytes, None]:
        while not self._received.is_set():
            yield await self._part()

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
