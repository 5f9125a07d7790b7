"""A model behind a real socket that misbehaves in one of many ways, or not at all.

Each way is a function that is given the decoded body of a request and a `Wire` to answer on. WAYS has those of an
embedding model by name; those in ANYWHERE are open to any other, too.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

import numpy as np

from tests.system.fake_model import DIMENSIONS, embedding

MIB: Final = 1024 * 1024
UNPACKED: Final = 192 * MIB  # what the gzip bomb grows to
DRIP_S: Final = 0.05
LINGER_AND_RESET: Final = struct.pack("ii", 1, 0)
OK: Final = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Wire:
    """One connection, to be answered on byte by byte. Sending raises OSError when the caller hangs up."""

    def __init__(self, connection: socket.socket, changed: threading.Event) -> None:
        self._connection = connection
        self._changed = changed

    def send(self, data: bytes | str) -> None:
        self._connection.sendall(data.encode() if isinstance(data, str) else data)

    def answer(
        self, content: bytes | str, *, status: str = "200 OK", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole answer with its length."""
        body = content.encode() if isinstance(content, str) else content
        lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)

    def pause(self, seconds: float) -> None:
        """Wait. Raises OSError when the model changes its ways meanwhile."""
        if self._changed.wait(seconds):
            raise ConnectionAbortedError("the model has changed its ways")

    def reset(self) -> None:
        """Hang up without a goodbye."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_AND_RESET)
        self._connection.close()


Way = Callable[[dict[str, Any], Wire], None]


class MisbehavingModel:
    """`asked` counts the requests that came; `behave` and `misbehave` say what the next ones are answered."""

    def __init__(self, port: int, well: Way) -> None:
        self.api_base = f"http://127.0.0.1:{port}/v1"
        self.asked = 0
        self._well = well
        self._way = well
        self._changed = threading.Event()

    def behave(self) -> None:
        self.misbehave(self._well)

    def misbehave(self, way: Way) -> None:
        self.asked = 0
        self._way = way
        changed, self._changed = self._changed, threading.Event()
        changed.set()

    def serve(self, body: dict[str, Any], connection: socket.socket) -> None:
        self.asked += 1
        self._way(body, Wire(connection, self._changed))


@contextmanager
def running_model(well: Way) -> Iterator[MisbehavingModel]:
    """Serve on a free port until the block ends, at first well."""
    bomb()  # made beforehand, so that no caller has to wait for it

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(
                OSError, ValueError
            ):  # the caller may hang up at any moment, and the model may, too
                while (body := self._read()) is not None:
                    model.serve(body, self.connection)

        def finish(self) -> None:
            with suppress(OSError, ValueError):
                super().finish()

        def _read(self) -> dict[str, Any] | None:
            length = 0
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            content = self.rfile.read(length)
            return json.loads(content) if content else None

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        model = MisbehavingModel(server.server_address[1], well)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield model
        finally:
            model.behave()
            server.shutdown()
            thread.join()


# What it says


def vectors_of(body: dict[str, Any]) -> list[Any]:
    return [embedding(text) for text in body["input"]]


def as_json(vectors: list[Any]) -> str:
    """An answer with these vectors, NaN and Infinity written as Python servers do."""
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": data, "model": "scripted"})


def embeds(body: dict[str, Any], wire: Wire) -> None:
    """What it does while it is well."""
    wire.answer(as_json(vectors_of(body)))


def says(content: bytes | str, **answer: Any) -> Way:
    return lambda body, wire: wire.answer(content, **answer)


def refuses(status: str, **headers: str) -> Way:
    body = json.dumps({"error": {"message": "no"}})
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _, wire: wire.answer(body, status=status, headers=fields)


def each(number: object) -> Way:
    """Every number of every vector is this one."""
    return lambda body, wire: wire.answer(as_json([[number] * DIMENSIONS for _ in body["input"]]))


def instead(vector: object) -> Way:
    """Every vector is this one."""
    return lambda body, wire: wire.answer(as_json([vector for _ in body["input"]]))


def changed(change: Callable[[list[Any]], list[Any]]) -> Way:
    return lambda body, wire: wire.answer(as_json(change(vectors_of(body))))


def numbered(index: Callable[[int], object]) -> Way:
    def way(body: dict[str, Any], wire: Wire) -> None:
        data = [{"index": index(n), "embedding": vector} for n, vector in enumerate(vectors_of(body))]
        wire.answer(json.dumps({"data": data}))

    return way


def literally(number: str) -> Way:
    """The first number of every vector is this literal."""
    return lambda body, wire: wire.answer(
        re.sub(r"\[(-?[\d.e-]+),", rf"[{number},", as_json(vectors_of(body)))
    )


def random_vectors(body: dict[str, Any], wire: Wire) -> None:
    wire.answer(as_json([[random.gauss(0.0, 1.0) for _ in range(DIMENSIONS)] for _ in body["input"]]))


def last_is(vector: object) -> Way:
    return changed(lambda vectors: [*vectors[:-1], vector])


# How it sends it


@lru_cache(maxsize=1)
def bomb() -> bytes:
    return gzip.compress(b'{"data": "' + b" " * UNPACKED, compresslevel=1)


def packed(content: Callable[[dict[str, Any]], bytes], coding: str = "gzip") -> Way:
    return lambda body, wire: wire.answer(content(body), headers={"Content-Encoding": coding})


def answer_of(body: dict[str, Any]) -> bytes:
    return as_json(vectors_of(body)).encode()


def endless(head: str, piece: bytes) -> Way:
    """Send the head and then this piece again and again."""

    def way(body: dict[str, Any], wire: Wire) -> None:
        wire.send(head)
        while True:
            wire.send(piece)

    return way


def slowly(piece: Callable[[], bytes], head: str = "") -> Way:
    def way(body: dict[str, Any], wire: Wire) -> None:
        wire.send(head)
        while True:
            wire.send(piece())
            wire.pause(DRIP_S)

    return way


def silent(body: dict[str, Any], wire: Wire) -> None:
    wire.pause(60.0)


def hangs_up(body: dict[str, Any], wire: Wire) -> None:
    wire.reset()


def resets_in_the_middle(body: dict[str, Any], wire: Wire) -> None:
    content = answer_of(body)
    wire.send(f"{OK}Content-Length: {len(content)}\r\n\r\n".encode() + content[: len(content) // 2])
    time.sleep(DRIP_S)  # a reset overtakes what was not read yet
    wire.reset()


def length_is_off(by: int) -> Way:
    def way(body: dict[str, Any], wire: Wire) -> None:
        content = answer_of(body)
        wire.send(f"{OK}Content-Length: {len(content) + by}\r\nConnection: close\r\n\r\n".encode() + content)
        raise ConnectionAbortedError("enough said")

    return way


CHUNKED: Final = f"{OK}Transfer-Encoding: chunked\r\n\r\n"
PIECE: Final = b" " * 65536
CHUNK: Final = f"{len(PIECE):x}\r\n".encode() + PIECE + b"\r\n"
ZEROS: Final = [0.0] * DIMENSIONS

WAYS: Final[Mapping[str, Way]] = {
    "400": refuses("400 Bad Request"),
    "401": refuses("401 Unauthorized"),
    "402": refuses("402 Payment Required"),
    "403": refuses("403 Forbidden"),
    "404": refuses("404 Not Found"),
    "302 to itself": refuses("302 Found", Location="/v1/embeddings"),
    "204": refuses("204 No Content"),
    "429 for an hour": refuses("429 Too Many Requests", Retry_After="3600"),
    "500": refuses("500 Internal Server Error"),
    "HTML": says("<html><body>Please log in.</body></html>", headers={"Content-Type": "text/html"}),
    "nothing": says(b""),
    "an error with status 200": says('{"error": {"message": "overloaded"}}'),
    "truncated JSON": lambda body, wire: wire.answer(answer_of(body)[:-40]),
    "not UTF-8": says(b'{"data": "\xff\xfe"}'),
    "not HTTP": lambda body, wire: wire.send("220 mail.example ESMTP\r\n"),
    "one vector less": changed(lambda vectors: vectors[:-1]),
    "one vector more": changed(lambda vectors: [*vectors, vectors[0]]),
    "vectors too short": changed(lambda vectors: [vector[:-1] for vector in vectors]),
    "vectors too long": changed(lambda vectors: [[*vector, 0.5] for vector in vectors]),
    "one index for all": numbered(lambda n: -1),
    "indexes of nobody": numbered(lambda n: n + 1_000_000),
    "indexes in words": numbered(str),
    "null vectors": instead(None),
    "null numbers": each(None),
    "numbers in words": each("0.1"),
    "NaN": each(float("nan")),
    "Infinity": each(float("inf")),
    "zeros": each(0.0),
    "denormal numbers": each(1e-44),
    "numbers whose squares are denormal": each(1e-22),
    "1e38": each(1e38),
    "1e308": each(1e308),
    "a number out of range": literally("1e999"),
    "a number of a million digits": literally("1" * 1_000_000),
    "one vector of zeros": last_is(ZEROS),
    "one vector of null": last_is(None),
    "one vector too short": last_is([0.5]),
    "base64 of NaN": instead(base64.b64encode(np.full(DIMENSIONS, np.nan, "<f4").tobytes()).decode()),
    "no base64": instead("*" * 2048),
    "deep nesting": says(b"[" * (4 * MIB)),
    "millions of tiny things": says(b'{"data": [' + b"{}," * (4 * MIB) + b"{}]}"),
    "a gzip bomb": packed(lambda body: bomb()),
    "half a gzip": packed(lambda body: gzip.compress(answer_of(body))[:-20]),
    "an unknown packing": packed(answer_of, "br"),
    "an endless body": endless(f"{OK}Connection: close\r\n\r\n", PIECE),
    "an endless chunked body": endless(CHUNKED, CHUNK),
    "a chunk without a length": endless(CHUNKED, b"zz" * 4096),
    "endless headers": endless(OK, b"X-More: of the same\r\n" * 64),
    "an endless failure": endless("HTTP/1.1 500 Oh\r\nConnection: close\r\n\r\n", PIECE),
    "an endless refusal": endless("HTTP/1.1 401 No\r\nConnection: close\r\n\r\n", PIECE),
    "a slow drip": slowly(lambda: b" ", f"{OK}Content-Length: 100000\r\n\r\n"),
    "slow headers": slowly(lambda: b"X-More: of the same\r\n", OK),
    "silence": silent,
    "a reset before the answer": hangs_up,
    "a reset in the middle": resets_in_the_middle,
    "a length too long": length_is_off(1000),
    "a length too short": length_is_off(-1000),
    "one vector for all texts": each(0.05),
    "another vector each time": random_vectors,
}
ANYWHERE: Final = (
    "400", "401", "403", "404", "302 to itself", "204", "429 for an hour", "500", "HTML", "nothing",
    "an error with status 200", "not UTF-8", "not HTTP", "deep nesting", "millions of tiny things", "a gzip bomb",
    "an endless body", "an endless chunked body", "a chunk without a length", "endless headers", "an endless failure",
    "an endless refusal", "a slow drip", "slow headers", "silence", "a reset before the answer",
)  # fmt: skip
