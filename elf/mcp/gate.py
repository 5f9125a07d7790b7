"""What stands before the MCP server: who may come in, at which path, and how fast a request has to arrive."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from elf.config.access import Visitors

PATH = "/mcp"
BODY_TIMEOUT_S = 15.0
INVALID_REQUEST = -32600  # of JSON-RPC
_REFUSED = {"host": 421, "origin": 403}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Handler = Callable[[Any, Any, Any], Awaitable[None]]


class McpGate:
    """An ASGI application: POST /mcp goes to the handler it is given, GET /health says that the process lives.

    The first request for the handler sets `wanted` and waits until `open` or `give_up` is called.

    Nobody logs in here, so any page open in the user's browser could call tools. What a browser sends names the site
    it is from, and `visitors` says who is served.
    """

    def __init__(self, visitors: Visitors) -> None:
        self.wanted = anyio.Event()
        self._settled = anyio.Event()
        self._handler: Handler | None = None
        self._visitors = visitors

    def open(self, handler: Handler) -> None:
        """Let requests through to `handler`, those that wait included."""
        self._handler = handler
        self._settled.set()

    def give_up(self) -> None:
        """Answer requests with 503 from now on, those that wait included."""
        self._handler = None
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
            await self._pass(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, Any] | None:
        if refusal := self._visitors.refusal(scope):
            return _REFUSED[refusal.cause], _fault(refusal.message)
        if scope["path"] not in (PATH, "/health"):
            return 404, _fault(f"there is nothing at {scope['path']}; MCP is served at {PATH}")
        if scope["path"] == PATH and scope["method"] != "POST":
            return 405, _fault(f"{PATH} takes POST only: nothing is streamed and no session is kept")
        return None

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.wanted.set()
        await self._settled.wait()
        if self._handler is None:
            await _answer(send, 503, _fault("the MCP server is not ready"))
            return
        arriving = _Arriving(receive)
        try:
            await self._handler(scope, arriving.receive, send)
        except TimeoutError:
            if arriving.is_complete:
                raise
            await _answer(send, 408, _fault(f"the body did not arrive within {BODY_TIMEOUT_S:g} seconds"))


class _Arriving:
    """The messages of a request, whose body has to be whole in time."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._deadline = anyio.current_time() + BODY_TIMEOUT_S
        self.is_complete = False

    async def receive(self) -> Any:
        if self.is_complete:
            return await self._receive()
        with anyio.fail_after(self._deadline - anyio.current_time()):
            message = await self._receive()
        self.is_complete = not message.get("more_body", False)
        return message


def _fault(message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": message}}


async def _answer(send: Send, status: int, body: Any) -> None:
    content = json.dumps(body).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode("ascii"))]
    if status == 405:
        headers.append((b"allow", b"POST"))
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
