"""What stands before the MCP server: who may come in, at which path, and how large a request may be."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Final

import anyio
from werkzeug.datastructures import Headers

from elf.config.access import Visitors
from elf.core.body_budget import BodyBudget, HeldBody, declared_length
from elf.core.errors import PayloadTooLarge, ServiceError, Unauthorized, Unavailable
from elf.core.json_size import MAX_LONG_DIGITS, holding_more_digits, holding_more_values
from elf.core.slices import in_slices
from elf.mcp.callers import IDENTIFIED, Callers

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
    the site it is from, and `visitors` says who is served. `callers` says who makes a request, for its handler to know,
    and `bodies` what bodies may take.
    """

    def __init__(
        self, visitors: Visitors, callers: Callers, paths: Sequence[str], *, bodies: BodyBudget | None = None
    ) -> None:
        self.wanted = anyio.Event()
        self._settled = anyio.Event()
        self._handlers: Mapping[str, Handler] = {}
        self._visitors = visitors
        self._callers = callers
        self._paths = tuple(paths)
        self._bodies = bodies or BodyBudget()

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
            await _answer(send, *refusal)
        elif scope["path"] == "/health":
            await _answer(send, 200, {"status": "ok"})
        else:
            with self._bodies.one(scope.get("client")) as held:
                await self._serve(scope, receive, send, held)

    def _refusal(self, scope: Scope) -> tuple[int, Any] | None:
        if refusal := self._visitors.refusal(scope):
            return _REFUSED[refusal.cause], _fault(refusal.message)
        path = scope["path"]
        if path not in (*self._paths, "/health"):
            return 404, _fault(f"there is nothing at {path}; MCP is served at {', '.join(self._paths)}")
        if path in self._paths and scope["method"] != "POST":
            return 405, _fault(f"{path} takes POST only: nothing is streamed and no session is kept")
        return None

    async def _serve(self, scope: Scope, receive: Receive, send: Send, held: HeldBody) -> None:
        headers = _headers(scope)
        try:
            by = await self._callers.of_request(headers)
            declared = declared_length(headers.get("Content-Length"))
            async with aclosing(_parts(receive)) as parts:
                body = await held.read(parts, declared=declared, most=MAX_BODY_BYTES)
            await _check(body)
            handler = await self._handler(scope["path"])
        except ServiceError as failure:
            await _refuse(send, failure)
        except _ClientGoneError:
            pass  # and nobody waits for an answer
        else:
            await handler({**scope, IDENTIFIED: by}, _again(body, receive), send)

    async def _handler(self, path: str) -> Handler:
        self.wanted.set()
        await self._settled.wait()
        if path not in self._handlers:
            raise Unavailable("the MCP server is not ready")
        return self._handlers[path]


class _ClientGoneError(Exception):
    """The client went away before all of its body had come."""


async def _parts(receive: Receive) -> AsyncGenerator[bytes, None]:
    """Yield the body of a request as it comes."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGoneError
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def _check(body: bytes) -> None:
    """Raise PayloadTooLarge for a body that would take the SDK long to read."""
    if await in_slices(holding_more_values(body, MAX_VALUES)):
        raise PayloadTooLarge(f"the body holds more than {MAX_VALUES:,} values")
    if await in_slices(holding_more_digits(body)):
        problem = f"its long numbers have more than {MAX_LONG_DIGITS:,} digits"
        raise PayloadTooLarge(f"{problem}, written out without exponents")


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that has come already, and then what else comes."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Any:
        return messages.pop() if messages else await receive()

    return received


def _fault(message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": message}}


async def _refuse(send: Send, failure: ServiceError) -> None:
    more = {}
    if isinstance(failure, Unavailable):
        more["retry-after"] = str(failure.retry_after_s)
    if isinstance(failure, Unauthorized):
        more["www-authenticate"] = "Bearer"
    await _answer(send, failure.status, _fault(failure.message), more=more)


def _headers(scope: Scope) -> Headers:
    return Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])


async def _answer(send: Send, status: int, body: Any, *, more: Mapping[str, str] = NO_MORE) -> None:
    """Send an answer, with more headers."""
    content = json.dumps(body).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode("ascii"))]
    headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in more.items()]
    if status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
