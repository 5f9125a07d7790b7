"""A model behind the API of Claude that says what a script has: over HTTP, on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

Block = Mapping[str, Any]


@dataclass
class FakeClaude:
    """Answers with one list of blocks after the other, and remembers the last message of each request."""

    url: str
    script: list[Sequence[Block]]
    heard: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)

    def answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.heard.append(request["messages"][-1]["content"])
        self.tools = request.get("tools", self.tools)  # a request that goes on with a thread has none
        blocks = self.script.pop(0)
        uses = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": blocks,
            "stop_reason": "tool_use" if uses else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip


def uses(number: int, **command: Any) -> Block:
    """The model uses the memory tool."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": command}


def says(text: str) -> Block:
    return {"type": "text", "text": text}


@contextmanager
def fake_claude(*script: Sequence[Block]) -> Iterator[FakeClaude]:
    """Serve the script for the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(claude.answer(asked)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the output of tests plain."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    claude = FakeClaude(f"http://127.0.0.1:{server.server_port}", list(script))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield claude
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
