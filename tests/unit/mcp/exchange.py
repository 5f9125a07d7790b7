"""One request to the gate, and its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio

from elf.mcp.gate import McpGate


class Exchange:
    """One request to the gate: the pieces of its body arrive after their delays, in seconds."""

    def __init__(
        self, *, headers: dict[str, str] | None = None, pieces: Sequence[float] = (0,), body: bytes = b"x"
    ) -> None:
        given = {"host": "localhost:8766"} | (headers or {})
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }
        self._pieces = list(pieces)
        self._body = body
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        if not self._pieces:
            return {"type": "http.disconnect"}
        await anyio.sleep(self._pieces.pop(0))
        return {"type": "http.request", "body": self._body, "more_body": bool(self._pieces)}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def go(self, gate: McpGate) -> int:
        """Send it and return the status of the answer."""
        await gate(self.scope, self.receive, self.send)
        return self.status

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        headers: list[tuple[bytes, bytes]] = self.sent[0]["headers"]
        return headers

    @property
    def body(self) -> Any:
        return json.loads(self.sent[1]["body"])
