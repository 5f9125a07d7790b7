"""HTTP/2 on one connection, by Hypercorn, with bodies of its own.

Hypercorn takes bodies in a queue and lets a client send more as soon as a part is in it. Here a client may send more
when the application comes for more: what there is no room for is not asked for. A stream that nobody reads holds up no
other one of its connection. Hypercorn also ends the whole connection, as if by a fault of its own, when a client sends
more of a body that nobody waits for any more, or asks for what can be no target; and it loses the responses that are
due when a connection has had 1,000 requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import h2.errors
import h2.events
import h2.exceptions
from hypercorn.events import Closed, Event
from hypercorn.protocol.h2 import H2Protocol
from priority.priority import PriorityError

from actors.fronts.request_target import path_of
from elf.core.body_budget import MAX_LENGTH_DIGITS

# What the libraries of the protocols raise at bytes that are not theirs.
BROKEN_PROTOCOL: Final = (h2.exceptions.H2Error, PriorityError)
CONNECTION_WINDOW_BYTES: Final = 512 * 1024
"""As much may be sent on a connection that no application has come for: by eight streams, as each has 64 KiB."""
DISCARD_S: Final = 15.0
"""For so long, what comes of a body behind the response to it is left out; then the stream is reset."""

Receive = Callable[[], Awaitable[Any]]


class Http2(H2Protocol):
    """HTTP/2 with a client that may end a stream, or send more on one that has ended, whenever it likes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._bodies: dict[int, _Body] = {}

    async def initiate(
        self, headers: list[tuple[bytes, bytes]] | None = None, settings: bytes | None = None
    ) -> None:
        await super().initiate(headers, settings)
        self.connection.increment_flow_control_window(
            CONNECTION_WINDOW_BYTES - self.connection.inbound_flow_control_window
        )
        await self._flush()

    async def handle(self, event: Event) -> None:
        try:
            await super().handle(event)
        except BROKEN_PROTOCOL:  # such as a connection that has ended within what it sent last
            await self.send(Closed())
        if isinstance(event, Closed):
            for buffer in self.stream_buffers.values():
                await buffer.close()  # an answer that waits there for the client to read waits no longer

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                await self._handle_request(event)
            elif isinstance(event, h2.events.DataReceived):
                self._handle_data(event)
            elif isinstance(event, h2.events.StreamEnded):
                if body := self._bodies.get(event.stream_id):
                    self._end_body(event.stream_id, body)
            elif isinstance(event, h2.events.StreamReset):
                if body := self._bodies.pop(event.stream_id, None):
                    body.leave()
                await super()._handle_events([event])
            elif not isinstance(event, h2.events.PriorityUpdated):  # RFC 9113 does without, and so do clients
                await super()._handle_events([event])
        await self._flush()

    async def _handle_request(self, event: h2.events.RequestReceived) -> None:
        pseudo = {name: value for name, value in event.headers if name.startswith(b":")}
        # Without a path, it asks to be connected with somewhere else.
        if b":path" not in pseudo or pseudo[b":method"].upper() == b"CONNECT":
            self.connection.reset_stream(event.stream_id, h2.errors.ErrorCodes.PROTOCOL_ERROR)
        elif _is_request(pseudo, event.headers):
            self._bodies[event.stream_id] = _Body()
            await super()._handle_events([event])
        else:
            refused = self._bodies[event.stream_id] = _Body()
            refused.discard_until = _now() + DISCARD_S
            response = [(b":status", b"400"), (b"content-length", b"0")]
            self.connection.send_headers(event.stream_id, response, end_stream=True)

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        shared = self.app
        self.app = partial(self._serve, shared, request.stream_id)
        try:
            await super()._create_stream(request)
        finally:
            self.app = shared

    async def _serve(
        self, app: Any, number: int, scope: Any, receive: Receive, send: Any, *others: Any
    ) -> None:
        body = self._bodies[number]
        scope["path"] = path_of(scope["raw_path"])
        try:
            await app(scope, partial(self._receive, number, body), send, *others)
        finally:
            body.discard_until = _now() + DISCARD_S
            self._grant(number, body.untaken)
            body.untaken, body.data = 0, bytearray()
            if body.is_whole:
                self._bodies.pop(number, None)
            with suppress(OSError):
                await self._flush()

    async def _receive(self, number: int, body: _Body) -> dict[str, Any]:
        """Return the next event of ASGI; what was returned before has been taken by now."""
        self._grant(number, body.untaken - len(body.data))
        body.untaken = len(body.data)
        await self._flush()
        while not (body.data or (body.is_whole and not body.is_taken) or body.is_left):
            body.changed.clear()
            await body.changed.wait()
        if body.is_left:
            return {"type": "http.disconnect"}
        data, body.data = bytes(body.data), bytearray()
        body.is_taken = body.is_whole
        return {"type": "http.request", "body": data, "more_body": not body.is_whole}

    def _handle_data(self, event: h2.events.DataReceived) -> None:
        size = event.flow_controlled_length or 0
        body = self._bodies.get(event.stream_id)
        if body is not None and body.discard_until is None:
            body.take(event.data or b"")
            self._grant(event.stream_id, size - len(event.data or b""))
            return
        self._grant(event.stream_id, size)
        if body is not None and body.discard_until is not None and _now() >= body.discard_until:
            self.connection.reset_stream(event.stream_id, h2.errors.ErrorCodes.NO_ERROR)
            del self._bodies[event.stream_id]

    def _grant(self, number: int, size: int) -> None:
        """Let the client send as many bytes more."""
        if size:
            with suppress(h2.exceptions.ProtocolError):  # the connection has ended meanwhile
                self.connection.acknowledge_received_data(size, number)

    def _end_body(self, number: int, body: _Body) -> None:
        body.end()
        if body.discard_until is not None:
            self._bodies.pop(number, None)

    async def _close_stream(self, stream_id: int) -> None:
        if body := self._bodies.get(stream_id):
            body.leave()
        await super()._close_stream(stream_id)


class _Body:
    """What has come of the body of a request. `untaken` bytes of it have not been granted again."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.untaken = 0
        self.is_whole = self.is_taken = self.is_left = False
        self.discard_until: float | None = None
        self.changed = asyncio.Event()

    def take(self, data: bytes) -> None:
        self.data += data
        self.untaken += len(data)
        self.changed.set()

    def end(self) -> None:
        self.is_whole = True
        self.changed.set()

    def leave(self) -> None:
        self.is_left = True
        self.changed.set()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_request(pseudo: dict[bytes, bytes], headers: list[tuple[bytes, bytes]]) -> bool:
    if not pseudo[b":method"].isascii():
        return False
    if any(name == b"content-length" and len(value) > MAX_LENGTH_DIGITS for name, value in headers):
        return False
    try:
        path_of(pseudo[b":path"].partition(b"?")[0])
    except ValueError:
        return False
    return True
