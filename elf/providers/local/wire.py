"""A JSON-over-HTTP application behind `local:`: ASGI with no socket or framework, errors in OpenAI's shape.

{"error": {"message", "type", "param", "code"}}
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeVar

import msgspec
import structlog

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Handler = Callable[[bytes], Awaitable[object]]

Request = TypeVar("Request")

MAX_BODY_BYTES = 16 * 1024 * 1024

_log = structlog.get_logger()


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param


class JsonApp:
    """The ASGI app that hands the body of a POST to the handler of its path, and answers with what that returns."""

    def __init__(self, routes: Mapping[str, Handler]) -> None:
        self._routes = dict(routes)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await _answer(send, *await self._respond(scope, receive))
        else:
            raise ValueError(f"a local provider speaks http only, not {scope['type']}")

    async def _respond(self, scope: Message, receive: Receive) -> tuple[int, object]:
        try:
            handle = self._route(scope)
            return 200, await handle(await _read_body(receive))
        except Refusal as refusal:
            return refusal.status, _error_body(refusal)
        except Exception as error:  # noqa: BLE001 - the edge: whatever failed must leave as an HTTP answer
            _log.error("local_provider.request_failed", path=scope["path"], exc_info=error)
            return 500, _error_body(Refusal(500, f"the local provider failed: {type(error).__name__}"))

    def _route(self, scope: Message) -> Handler:
        handle = self._routes.get(scope["path"])
        if handle is None:
            raise Refusal(404, f"there is no {scope['path']}; there are {', '.join(self._routes)}")
        if scope["method"] != "POST":
            raise Refusal(405, f"{scope['path']} takes POST only")
        return handle


def decode(decoder: msgspec.json.Decoder[Request], content: bytes) -> Request:
    """Read a request. Raises Refusal for what is not the JSON expected."""
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refusal(400, f"the body is not the JSON expected: {error}") from error


def _error_body(refusal: Refusal) -> object:
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    message = f"{refusal.param}: {refusal.message}" if refusal.param else refusal.message
    return {"error": {"message": message, "type": kind, "param": refusal.param, "code": None}}


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the client went away before the body was complete")
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise Refusal(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answer(send: Send, status: int, body: object) -> None:
    content = msgspec.json.encode(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    if status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        phase = (await receive())["type"]
        await send({"type": f"{phase}.complete"})
        if phase == "lifespan.shutdown":
            return
