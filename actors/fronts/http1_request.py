"""A request of HTTP/1.1 between the connection on which it comes and the application that answers it.

Some responses need no body: nothing is at that path, or there is too much to do. A client that does not know that the
connection ends with such a response loses its next request. So the response waits a moment for the body, and says that
the connection will be closed if it does not come.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from wsgiref.handlers import format_date_time

MAX_UNREAD_BYTES: Final = 65_536
"""While so many bytes of a body have not been taken by the application, no more are read."""
BODY_GRACE_S: Final = 1.0
"""How long a response waits for a body that is not wanted."""

_BODILESS: Final = frozenset({204, 304})


class Request:
    """One request, with what has come of its body, and the answer to it."""

    def __init__(
        self, scope: dict[str, Any], write: Callable[[bytes], Awaitable[None]], *, keeps_alive: bool
    ) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.is_whole = False
        self.is_begun = self.is_left = False
        self._write = write
        self._keeps_alive = keeps_alive
        self._is_expecting = scope["http_version"] == "1.1" and any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"]
        )
        self._unread = bytearray()
        self._is_taken = self._is_answered = self._is_over = False
        self._is_chunked = self._is_silent = False
        self._is_unwanted = False
        self._head = b""
        self._unsent = 0  # of an answer that says how long it is
        self._changed = asyncio.Event()  # for who receives
        self._read = asyncio.Event()  # for who reads from the connection

    # The connection's side

    def take(self, body: bytes) -> None:
        """Add a piece of the body."""
        if not self._is_unwanted:
            self._unread += body
            self._changed.set()

    def end(self) -> None:
        """Take note that all of the body has come."""
        self.is_whole = True
        self._changed.set()

    def leave(self) -> None:
        """Take note that the client is gone."""
        self.is_left = True
        self._changed.set()

    def ended(self) -> None:
        """Take note that the application is done with it."""
        self._is_over = True
        self._read.set()

    @property
    def leaves_connection_usable(self) -> bool:
        """Whether both sides know where this request and its answer end."""
        is_complete = self._is_answered and not self._unsent
        return self._keeps_alive and is_complete and self.is_whole and not self.is_left

    async def may_read_on(self, *, is_last: bool) -> None:
        """Wait until more may be read of the connection: the rest of this request, or, once it is answered, others."""
        while not self._is_over and (not is_last or len(self._unread) > MAX_UNREAD_BYTES):
            self._read.clear()
            await self._read.wait()

    # The application's side

    async def receive(self) -> dict[str, Any]:
        """Return the next event of ASGI."""
        if self._is_expecting and not (self.is_whole or self.is_begun):
            self._is_expecting = False
            await self._write(b"HTTP/1.1 100 \r\n\r\n")
        while not (self._unread or (self.is_whole and not self._is_taken) or self.is_left):
            self._changed.clear()
            await self._changed.wait()
        if self.is_left:
            return {"type": "http.disconnect"}
        body, self._unread = bytes(self._unread), bytearray()
        self._is_taken = self.is_whole
        self._read.set()
        return {"type": "http.request", "body": body, "more_body": not self.is_whole}

    async def send(self, event: dict[str, Any]) -> None:
        """Send a part of the answer; what comes when the client is gone is left out."""
        if self.is_left or self._is_answered:
            return
        if event["type"] == "http.response.start":
            if not self.is_whole:
                await self._leave_out_body()
            await self._begin(event["status"], event.get("headers", []))
        elif event["type"] == "http.response.body":
            await self._go_on(event.get("body", b""), is_last=not event.get("more_body"))

    async def _leave_out_body(self) -> None:
        """Let go of what has come and still comes of the body; without its end, the connection cannot be used again."""
        self._is_unwanted = True
        self._unread = bytearray()
        self._read.set()
        # A client that expects to be told to go on has sent nothing, and may have nothing to send.
        if self._keeps_alive and not self._is_expecting:
            with suppress(TimeoutError):
                async with asyncio.timeout(BODY_GRACE_S):
                    while not (self.is_whole or self.is_left):
                        self._changed.clear()
                        await self._changed.wait()
        self._keeps_alive = self._keeps_alive and self.is_whole

    async def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        names = {name.lower(): value for name, value in headers}
        if names.get(b"connection", b"").lower() == b"close":
            self._keeps_alive = False
        is_measured = b"content-length" in names or status in _BODILESS
        if not is_measured and self.scope["http_version"] == "1.1":
            self._is_chunked = True
            headers = [*headers, (b"transfer-encoding", b"chunked")]
        self._is_silent = self.method == "HEAD" or status in _BODILESS
        if not self._is_silent and b"content-length" in names:
            self._unsent = int(names[b"content-length"])
        self._head = head_of(status, headers, keeps_alive=self._keeps_alive or b"connection" in names)
        self.is_begun = True
        if not is_measured:  # it may be long until there is more
            head, self._head = self._head, b""
            await self._write(head)

    async def _go_on(self, body: bytes, *, is_last: bool) -> None:
        data, self._head = self._head, b""
        if not self._is_silent:
            if self._is_chunked and body:
                body = b"%x\r\n%b\r\n" % (len(body), body)
            if self._is_chunked and is_last:
                body += b"0\r\n\r\n"
            data += body
            self._unsent -= 0 if self._is_chunked else len(body)
        if data:
            await self._write(data)
        self._is_answered = is_last


def head_of(status: int, headers: list[tuple[bytes, bytes]], *, keeps_alive: bool) -> bytes:
    """Return the head of an answer. Raises ValueError for a header that holds a line break."""
    lines = [
        b"HTTP/1.1 %d " % status,
        *(b"%b: %b" % (name, value) for name, value in headers),
        _date(int(time.time())),
    ]
    if not keeps_alive:
        lines.append(b"connection: close")
    head = b"\r\n".join([*lines, b"", b""])
    if head.count(b"\n") != len(lines) + 1 or head.count(b"\r") != len(lines) + 1:
        raise ValueError("a header of an answer holds a line break")
    return head


@lru_cache(maxsize=1)
def _date(now: int) -> bytes:
    return b"date: " + format_date_time(now).encode("ascii")
