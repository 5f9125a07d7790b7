"""What stands before the MCP server: who may come in, at which path, and how fast a request has to arrive."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import anyio
from werkzeug.datastructures import Headers

from elf.config.access import Visitors
from elf.core.errors import ServiceError, Unauthorized, Unavailable
from elf.core.json_size import MAX_LONG_DIGITS, holding_more_digits, holding_more_values
from elf.core.slices import in_slices
from elf.mcp.callers import IDENTIFIED, Callers

BODY_TIMEOUT_S = 15.0
# The SDK reads and writes a message in single calls, node by node, which hold up everything else.
MAX_BODY_BYTES = 2 * 1024 * 1024
MAX_VALUES = 30_000
INVALID_REQUEST = -32600  # of JSON-RPC
NO_MORE: Final[Mapping[str, str]] = MappingProxyType({})
_REFUSED = {"host": 421, "origin": 403}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Handler = Callable[[Any, Any, Any], Awaitable[None]]


class McpGate:
    """An ASGI application: a POST goes to the handler of its path, GET /health says that the process lives.

    The first request for a handler sets `wanted` and waits until `open` or `give_up` is called.

    Where nobody has to say who calls, any page open in the user's browser could call tools. What a browser sends names
    the site it is from, and `visitors` says who is served. `callers` says who makes a request, for its handler to know.
    """

    def __init__(self, visitors: Visitors, callers: Callers, paths: Sequence[str]) -> None:
        self.wanted = anyio.Event()
        self._settled = anyio.Event()
        self._handlers: Mapping[str, Handler] = {}
        self._visitors = visitors
        self._callers = callers
        self._paths = tuple(paths)

    def open(self, handlers: Mapping[str, Handler]) -> None:
        """Let requests through to the handlers of the paths, those that wait included."""
        self._handlers = handlers
        self._settled.set()

    def give_up(self) -> None:
        """Answer requests with 503 from now on, those that wait included."""
        self._handlers = {}
        self._settled.set()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if refusal := self._refusal(scope):
            await _answer(send, *refusal, closes=_has_unread_body(scope))
        elif scope["path"] == "/health":
            await _answer(send, 200, {"status": "ok"})
        else:
            try:
                by = await self._callers.of_request(_headers(scope))
            except ServiceError as failure:
                await _refuse(send, failure, closes=_has_unread_body(scope))
            else:
                await self._pass({**scope, IDENTIFIED: by}, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, Any] | None:
        if refusal := self._visitors.refusal(scope):
            return _REFUSED[refusal.cause], _fault(refusal.message)
        path = scope["path"]
        if path not in (*self._paths, "/health"):
            return 404, _fault(f"there is nothing at {path}; MCP is served at {', '.join(self._paths)}")
        if path in self._paths and scope["method"] != "POST":
            return 405, _fault(f"{path} takes POST only: nothing is streamed and no session is kept")
        return None

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.wanted.set()
        await self._settled.wait()
        handler = self._handlers.get(scope["path"])
        if handler is None:
            await _answer(send, 503, _fault("the MCP server is not ready"), closes=_has_unread_body(scope))
            return
        try:
            with anyio.fail_after(BODY_TIMEOUT_S):
                body = await _body(receive)
        except TimeoutError:
            problem = f"the body did not arrive within {BODY_TIMEOUT_S:g} seconds"
            await _answer(send, 408, _fault(problem), closes=_has_unread_body(scope))
            return
        if body is None:
            return  # the client went away
        if len(body) > MAX_BODY_BYTES:
            problem = f"the body is larger than {MAX_BODY_BYTES} bytes"
            await _answer(send, 413, _fault(problem), closes=_has_unread_body(scope))
        elif await in_slices(holding_more_values(body, MAX_VALUES)):
            await _answer(send, 413, _fault(f"the body holds more than {MAX_VALUES:,} values"))
        elif await in_slices(holding_more_digits(body)):
            problem = f"its long numbers have more than {MAX_LONG_DIGITS:,} digits"
            await _answer(send, 413, _fault(f"{problem}, written out without exponents"))
        else:
            await handler(scope, _again(body, receive), send)


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request, or a little more than may be of one that is too large; None when it never comes."""
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that has come already, and then what else comes."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Any:
        return messages.pop() if messages else await receive()

    return received


def _fault(message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": message}}


def _has_unread_body(scope: Scope) -> bool:
    """Tell whether a request, of which not all was read, keeps its HTTP/1 connection from being used again."""
    headers = dict(scope["headers"])
    has_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
    return has_body and scope.get("http_version") != "2"


async def _refuse(send: Send, failure: ServiceError, *, closes: bool) -> None:
    more = {}
    if isinstance(failure, Unavailable):
        more["retry-after"] = str(failure.retry_after_s)
    if isinstance(failure, Unauthorized):
        more["www-authenticate"] = "Bearer"
    await _answer(send, failure.status, _fault(failure.message), closes=closes, more=more)


def _headers(scope: Scope) -> Headers:
    return Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])


async def _answer(
    send: Send, status: int, body: Any, *, closes: bool = False, more: Mapping[str, str] = NO_MORE
) -> None:
    """Send an answer, with more headers; `closes` tells that the connection ends, or the client loses its next call."""
    content = json.dumps(body).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode("ascii"))]
    headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in more.items()]
    if status == 405:
        headers.append((b"allow", b"POST"))
    if closes:
        headers.append((b"connection", b"close"))
    if status == 503 and not more:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
