"""Requests made to be read wrongly: whatever is sent, a front answers with a client error at worst, and goes on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import h2.connection
import h2.events
import h2.exceptions
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from structlog.testing import capture_logs
from werkzeug.datastructures import Headers

from actors.fronts.connections import Connections
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.config import load
from elf.config.access import Visitors
from elf.config.auth import Auth
from elf.config.places import Address
from elf.identity.identify import Identify
from elf.identity.known_callers import KnownCallers
from elf.mcp.callers import Callers
from elf.mcp.gate import McpGate
from elf.web.app import create_app
from elf.web.readiness import Readiness

EXAMPLE: Final = Path(__file__).resolve().parents[2] / "elf.example.toml"
CONFIG: Final = load(EXAMPLE)
PATIENCE_S: Final = 20.0
HERE: Final = Visitors(local_only=True)
LAST: Final = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Say(BaseModel):
    text: str = ""


async def say(asked: Any, _: Caller) -> BaseModel:
    return Say(text=asked.text)


def public(identify: Identify) -> Any:
    operations = [
        Operation("say", "POST", "/v1/say/{text}", "Say", Say, Say),
        Operation("hear", "GET", "/v1/hear", "Hear", Say, Say),
    ]
    handlers = {"say": say, "hear": say}
    return create_app(
        operations,
        handlers,
        readiness=lambda: Readiness(ready=True, parts=[]),
        visitors=HERE,
        identify=identify,
    )


def mcp(identify: Identify) -> Any:
    async def handle(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    gate = McpGate(HERE, Callers(CONFIG, identify), ["/mcp"])
    gate.open({"/mcp": handle})
    return gate


@contextmanager
def running(app: Any) -> Iterator[Address]:
    """Serve an application in a thread of its own."""
    with bind(Address("127.0.0.1", 0), key="service.http_bind") as sock:
        begun = threading.Event()
        stop: list[Any] = []

        async def serve() -> None:
            front = HttpFront("http_front", app, sock, Connections("http_front", 1000))
            async with anyio.create_task_group() as group:

                async def run(*, task_status: Any) -> None:
                    await front.run(task_status=task_status)

                await group.start(run)
                loop = asyncio.get_running_loop()
                stop.append(lambda: loop.call_soon_threadsafe(group.cancel_scope.cancel))
                begun.set()

        thread = threading.Thread(target=anyio.run, args=(serve,))
        thread.start()
        try:
            assert begun.wait(PATIENCE_S)
            yield bound_address(sock)
        finally:
            stop[0]()
            thread.join()


async def named(headers: Headers) -> Caller:
    return await KnownCallers(Auth())(headers)


@pytest.fixture(scope="module", params=[public, mcp], ids=["http", "mcp"])
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    with running(request.param(named)) as address:
        yield address


# What is sent: what a request is made of, with a part of it made up

NASTY: Final = st.sampled_from(
    [
        b"", b" ", b"[", b"]", b"http://[", b"//[", b"%", b"%zz", b"%ff", b"%00", b"%2f", b"\xff", b"\xe9", b"\xb2",
        b"0" * 5000, b"9" * 5000, b"-1", b"+1", b"1e9", b"0x10", b"1_0", b"\x00", b"\x7f", b"a" * 70_000, b",", b";",
        b'"', b"\\", b"#", b"?", b"@", b"*", b"=", b"&" * 200, b"q=inf", b"q=1e999", b"text/event-stream;q=x", b"=;=;",
        b"localhost:99999", b"localhost:-1", b"[::1", b"[::1]:x", b"bytes=0-", b"{urn:uuid:", b"Bearer", b"Bearer ",
        b"Bearer a.b.c", b"Bearer eyJhbGciOiJSUzI1NiJ9.e30.", b"Basic !", b"elf_", b"00-" + b"0" * 32, b"\xed\xa0\x80",
    ]
)  # fmt: skip
TEXT: Final = st.one_of(NASTY, st.binary(max_size=40), st.tuples(NASTY, NASTY).map(b"".join))
NAMES: Final = st.sampled_from(
    [
        b"Host", b"Origin", b"Referer", b"Forwarded", b"X-Forwarded-For", b"Authorization", b"Proxy-Authorization",
        b"X-API-Key", b"X-User-ID", b"X-Client-ID", b"X-Request-Id", b"Cookie", b"Content-Length", b"Content-Type",
        b"Content-Encoding", b"Transfer-Encoding", b"Expect", b"Accept", b"Accept-Encoding", b"Last-Event-ID", b"TE",
        b"Trailer", b"Upgrade", b"HTTP2-Settings", b"Connection", b"Keep-Alive", b"Range", b"If-None-Match", b"Date",
        b"traceparent", b"tracestate", b"baggage", b"Mcp-Session-Id", b"MCP-Protocol-Version", b"Sec-WebSocket-Key",
    ]
)  # fmt: skip
PATHS: Final = st.sampled_from(
    [
        b"/health",
        b"/v1/say/a",
        b"/v1/say/%61?text=b",
        b"/v1/hear?text=a",
        b"/mcp",
        b"/openapi.json",
        b"/nothing",
        b"*",
    ]
)
TARGETS: Final = st.one_of(
    PATHS,
    TEXT,
    st.tuples(PATHS, TEXT).map(b"".join),
    st.tuples(st.sampled_from([b"http://localhost", b"http://", b"https://[::1]:", b"//"]), TEXT, PATHS).map(
        b"".join
    ),
)
METHODS: Final = st.sampled_from(
    [b"GET", b"POST", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"CONNECT", b"TRACE"]
)
FIELDS: Final = st.lists(st.tuples(NAMES, TEXT), max_size=4)


def statuses_of(seen: bytes) -> list[int]:
    return [int(part[:3]) for part in seen.split(b"HTTP/1.1 ")[1:]]


def said(address: Address, *sent: bytes) -> bytes:
    """Send all of this and the end, and return all that comes until the other side ends the connection."""
    seen = b""
    with socket.create_connection(tuple(address), timeout=PATIENCE_S) as sock, suppress(ConnectionError):
        for piece in sent:
            sock.sendall(piece)
        sock.shutdown(socket.SHUT_WR)
        while piece := sock.recv(65_536):
            seen += piece
    return seen


@given(METHODS, TARGETS, FIELDS, st.one_of(st.just(b""), st.just(b"{}"), TEXT))
def test_any_request_of_http_1_is_answered_and_none_is_a_fault_of_the_service(
    address: Address, method: bytes, target: bytes, fields: list[tuple[bytes, bytes]], body: bytes
) -> None:
    head = b"%b %b HTTP/1.1\r\n" % (method, target)
    if not any(name == b"Host" for name, _ in fields):
        head += b"Host: localhost\r\n"
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    with capture_logs() as logs:
        statuses = statuses_of(said(address, head + lines + b"\r\n" + body, LAST))
    assert statuses, "an answer"
    assert max(statuses) < 500
    assert not [line for line in logs if line["log_level"] == "error"]


@given(st.lists(st.one_of(TEXT, st.just(b"\r\n"), st.just(b"0\r\n\r\n")), max_size=6))
def test_any_body_in_chunks_is_answered(address: Address, pieces: list[bytes]) -> None:
    head = b"POST /v1/say/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with capture_logs() as logs:
        statuses = statuses_of(said(address, head, *pieces))
    assert statuses, "an answer"
    assert max(statuses) < 500
    assert not [line for line in logs if line["log_level"] == "error"]


@given(METHODS, TARGETS, FIELDS, TEXT)
def test_any_request_of_http_2_is_answered_or_ends_its_connection_and_none_is_a_fault_of_the_service(
    address: Address, method: bytes, target: bytes, fields: list[tuple[bytes, bytes]], body: bytes
) -> None:
    own = [(b":method", method), (b":path", target), (b":scheme", b"http")]
    hosts = [(b":authority", value) for name, value in fields if name == b"Host"] or [
        (b":authority", b"localhost")
    ]
    others = [
        (name.lower(), value) for name, value in fields if name not in (b"Host", b"Connection", b"Upgrade")
    ]
    with capture_logs() as logs:
        for status in over_http_2(address, [*own, *hosts, *others], body):
            assert status < 500
    assert not [line for line in logs if line["log_level"] == "error"]


def over_http_2(address: Address, headers: list[tuple[bytes, bytes]], body: bytes) -> list[int]:
    config = h2.config.H2Configuration(
        client_side=True, validate_outbound_headers=False, normalize_outbound_headers=False
    )
    client = h2.connection.H2Connection(config)
    client.initiate_connection()
    client.send_headers(1, headers)
    for start in range(0, min(len(body), 65_535), 16_384):
        client.send_data(1, body[start : min(start + 16_384, 65_535)])
    client.end_stream(1)
    statuses: list[int] = []
    with (
        socket.create_connection(tuple(address), timeout=PATIENCE_S) as sock,
        suppress(ConnectionError, h2.exceptions.ProtocolError),
    ):
        sock.sendall(client.data_to_send())
        while data := sock.recv(65_536):
            for event in client.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    statuses.append(int(dict(event.headers)[b":status"]))
                if isinstance(
                    event, (h2.events.StreamEnded, h2.events.StreamReset, h2.events.ConnectionTerminated)
                ):
                    return statuses
    return statuses
