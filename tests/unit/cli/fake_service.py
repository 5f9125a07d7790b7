"""A stand-in for the service: a real HTTP server in a thread that answers as a test tells it to."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    params: Mapping[str, str]
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Answer:
    """What to answer; a body that is text is sent as it is."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def error(
    status: int,
    code: str,
    *,
    fields: list[str] | None = None,
    message: str = "the message",
    retry_after: str | None = None,
) -> Answer:
    headers = {"Retry-After": retry_after} if retry_after else {}
    return Answer(status, {"error_code": code, "message": message, "fields": fields}, headers)


class FakeService:
    """Records what it is asked. `respond` may be replaced; /health is answered apart and not recorded."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[Asked] = []
        self.respond: Callable[[Asked], Answer] = lambda asked: Answer()
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/health":
            return Answer(body={"status": "ok"})
        with self._lock:
            self.asked.append(asked)
            return self.respond(asked)


@contextmanager
def running_service() -> Iterator[FakeService]:
    """Serve on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body leave together; apart, the second waits for the first's acknowledgement

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            if len(content := self.rfile.read(size)) < size:
                raise ConnectionError("the client left in the middle of its request")
            self._answer(json.loads(content))

        def _answer(self, body: Any) -> None:
            url = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = service.answer(Asked(self.command, url.path, dict(parse_qsl(url.query)), body, headers))
            content = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content.encode())))
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Keep the tests' output clean."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            if not isinstance(sys.exception(), ConnectionError):  # a client may stop listening
                super().handle_error(request, client_address)

    with Server(("127.0.0.1", 0), Handler) as server:
        service = FakeService(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
