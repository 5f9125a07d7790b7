"""A chat service over a real socket that answers as a test tells it to, and counts what it is asked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]
"""A status, a body, and maybe headers."""
Respond = Callable[[dict[str, Any]], Answer]


class FakeChat:
    """`asked` holds the body of each request since the last `script`, `askers` the port that it came from."""

    def __init__(self, port: int) -> None:
        self.api_base = f"http://127.0.0.1:{port}/v1"
        self.asked: list[dict[str, Any]] = []
        self.askers: list[int] = []
        self._respond: Respond = lambda body: saying(json.dumps({"notes": []}))
        self._lock = threading.Lock()

    def script(self, respond: Respond) -> None:
        with self._lock:
            self.asked, self.askers = [], []
            self._respond = respond

    def proposes(self, *notes: Any) -> None:
        """Answer each request with these notes."""
        self.script(lambda body: saying(json.dumps({"notes": list(notes)})))

    def answer(self, body: dict[str, Any], asker: int) -> Answer:
        with self._lock:
            self.asked.append(body)
            self.askers.append(asker)
            respond = self._respond
        return respond(body)


def saying(content: str) -> tuple[int, Any]:
    """A chat completion with this content."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return 200, {"id": "c-1", "object": "chat.completion", "choices": [choice]}


@contextmanager
def running_chat() -> Iterator[FakeChat]:
    """Serve on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer, *headers = chat.answer(body, self.client_address[1])
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers[0].items() if headers else ():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # who asked may have been killed meanwhile
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the tests' output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        chat = FakeChat(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield chat
        finally:
            server.shutdown()
            thread.join()


def point_extractor(config: Path, api_base: str, *, timeout_ms: int) -> None:
    """Make the extractor of a config file a chat service."""
    head, table, rest = config.read_text(encoding="utf-8").partition("[providers.llm_extractor]\n")
    changes = {
        "api_base": f'"{api_base}"',
        "path": '"/chat/completions"',
        "model": '"scripted"',
        "timeout_ms": str(timeout_ms),
    }
    for key, value in changes.items():
        rest, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", rest, count=1, flags=re.MULTILINE)
        assert count == 1
    config.write_text(head + table + rest, encoding="utf-8")
