"""A provider behind a real socket that a test steers while a service uses it: well, failing, hung, absurd or gone."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = Callable[[dict[str, Any]], Any]


class FakeProvider:
    """Answers each POST with the JSON of `answer(body)` while it is well.

    `asked` holds the bodies that came over the wire since `forget`, answered or not. Its port is its own until `close`,
    also while nobody listens there.
    """

    def __init__(self, answer: Answer) -> None:
        self._well = answer
        self._answer: Answer | None = answer
        self._status = 200
        self._headers: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._changed = threading.Event()  # wakes those that hang
        self._connections: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.asked: list[dict[str, Any]] = []
        # Bound and never listening, so that nobody else is given the port while the provider is gone.
        self._claim = socket.socket()
        self._claim.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._claim.bind(("127.0.0.1", 0))
        self.api_base = f"http://127.0.0.1:{self._claim.getsockname()[1]}"
        self._listen()

    def get_well(self) -> None:
        """Answer as it should."""
        self._turn(self._well)

    def fail(self) -> None:
        """Answer 500 at once, and ask to be left alone for a while."""
        self._turn(lambda body: {"error": "overloaded"}, status=500, headers={"Retry-After": "30"})

    def refuse(self) -> None:
        """Answer 401 at once."""
        self._turn(lambda body: {"error": "who are you?"}, status=401)

    def hang(self) -> None:
        """Take requests and answer none of them."""
        self._turn(None)

    def talk(self, junk: Answer) -> None:
        """Answer 200 with something else."""
        self._turn(junk)

    def leave(self) -> None:
        """Hang up on everybody and refuse connections."""
        server, thread, self._server = self._server, self._thread, None
        if server is None or thread is None:
            return
        server.shutdown()
        thread.join()
        server.server_close()
        self._wake_hung()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # the other side may have hung up first
                    connection.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """Begin to count anew."""
        self.asked = []

    def close(self) -> None:
        self.leave()
        self._claim.close()

    def _turn(
        self, answer: Answer | None, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        with self._lock:
            self._answer, self._status, self._headers = answer, status, headers or {}
        self._wake_hung()
        if self._server is None:
            self._listen()

    def _hear(self, headers: Mapping[str, str], content: bytes, body: dict[str, Any]) -> None:
        """Take note of a request; one at a time."""
        self.asked.append(body)

    def _wake_hung(self) -> None:
        with self._lock:
            changed, self._changed = self._changed, threading.Event()
        changed.set()

    def _listen(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", self._claim.getsockname()[1]), self._handler())
        server.daemon_threads = True
        server.block_on_close = False
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def setup(self) -> None:
                super().setup()
                with provider._lock:
                    provider._connections.add(self.connection)

            def finish(self) -> None:
                with provider._lock:
                    provider._connections.discard(self.connection)
                with suppress(OSError):  # the caller may be gone
                    super().finish()

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(content)
                with provider._lock:
                    provider._hear(self.headers, content, body)
                    answer, status, headers = provider._answer, provider._status, provider._headers
                    changed = provider._changed
                if answer is None:
                    changed.wait()
                if answer is None or provider._server is None:
                    self.close_connection = True
                    return
                said = answer(body)
                content = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(content)
                    self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                """Keep the tests' output clean."""

        return Handler


@contextmanager
def running_provider(answer: Answer) -> Iterator[FakeProvider]:
    provider = FakeProvider(answer)
    try:
        yield provider
    finally:
        provider.close()


def point_provider(config: Path, table: str, provider: FakeProvider, **changes: str) -> None:
    """Make the provider of a config's table, such as `rerank`, that one; `changes` are lines by their key."""
    head, name, rest = config.read_text(encoding="utf-8").partition(f"[providers.{table}]\n")
    assert name, f"the config has no table {table}"
    for key, value in ({"api_base": f'"{provider.api_base}"'} | changes).items():
        rest, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", rest, count=1, flags=re.MULTILINE)
        assert count == 1, key
    config.write_text(head + name + rest, encoding="utf-8")
