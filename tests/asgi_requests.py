"""A request as an ASGI server passes it on, for tests of clients that no HTTP client library plays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

Receive = Callable[[], Awaitable[dict[str, Any]]]


def http_scope(
    target: str, headers: Mapping[str, str] | None = None, *, method: str = "GET"
) -> dict[str, Any]:
    """Return the scope of a request for a path with its query, with these headers and a Host."""
    path, _, query = target.partition("?")
    sent = {"Host": "elf", **(headers or {})}
    return {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        "scheme": "http", "http_version": "1.1", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2), "asgi": {"version": "3.0"}, "extensions": {},
    }  # fmt: skip


def sends_nothing_until(left: anyio.Event | None) -> Receive:
    """Return what a client sends whose request has no body, and who leaves when `left` says so, or never."""
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        if left is None:
            await anyio.sleep_forever()
        else:
            await left.wait()
        return {"type": "http.disconnect"}

    return receive
