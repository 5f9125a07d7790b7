"""The connections of a front: they end when their clients end them, and there are never too many of them."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.lowlevel import checkpoint
from structlog.testing import capture_logs

from actors.fronts import http1_request, http_connection, http_front
from actors.fronts.connections import Connections, Occasional
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.config.places import Address
from tests.actors.outbox_kit import PATIENCE_S

pytestmark = pytest.mark.anyio

GET = b"GET / HTTP/1.1\r\nHost: elf\r\n\r\n"
GET_SLOW = b"GET /slow HTTP/1.1\r\nHost: elf\r\n\r\n"
LARGE = b"x" * (16 << 20)
GET_LARGE = b"GET /large HTTP/1.1\r\nHost: elf\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: elf\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


class App:
    """An ASGI application.

    /slow answers when the test lets it, /begun tells the head of its answer before that and not how long it is,
    /unread answers without reading the request, and /large with more than is buffered for a client.
    """

    def __init__(self) -> None:
        self.asked, self.may_answer = anyio.Event(), anyio.Event()
        self.sent = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["path"] != "/unread":
            while (event := await receive())["type"] == "http.request" and event["more_body"]:
                pass
            if event["type"] != "http.request":
                return
        if scope["path"] == "/slow":
            self.asked.set()
            await self.may_answer.wait()
        headers = [] if scope["path"] in ("/begun", "/large") else [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["path"] == "/begun":
            await self.may_answer.wait()
        if scope["path"] == "/large":
            self.sent += 1
            await send({"type": "http.response.body", "body": LARGE, "more_body": True})
        await send({"type": "http.response.body", "body": b"ok"})


async def _live(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


class Served:
    """A front that runs, and how its clients reach it."""

    def __init__(self, app: App, connections: Connections, address: Address, clients: AsyncExitStack) -> None:
        self.app = app
        self.connections = connections
        self.address = address
        self._clients = clients

    async def connect(self) -> SocketStream:
        """Return a connection, which is closed in the end."""
        return await self._clients.enter_async_context(await anyio.connect_tcp(*self.address))

    async def asking(self, request: bytes) -> SocketStream:
        """Return a connection on which this has been sent."""
        stream = await self.connect()
        await stream.send(request)
        return stream

    async def until(self, holds: Callable[[Any], bool]) -> None:
        """Wait until the counts are so."""
        while not holds(self.connections.statistics()):
            await checkpoint()


@asynccontextmanager
async def served(*, limit: int = 100) -> AsyncIterator[Served]:
    app, connections = App(), Connections("http_front", limit)
    with bind(Address("127.0.0.1", 0), key="service.http_bind") as sock, anyio.fail_after(PATIENCE_S):
        front = HttpFront("http_front", app, sock, connections)
        async with anyio.create_task_group() as group:
            await group.start(partial(_run, front))
            async with AsyncExitStack() as clients:
                yield Served(app, connections, bound_address(sock), clients)
            group.cancel_scope.cancel()


async def _run(front: HttpFront, *, task_status: Any) -> None:
    await front.run(task_status=task_status)


@pytest.fixture(autouse=True)
def keep_alive_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_front, "KEEP_ALIVE_S", 3600)


async def answer(stream: SocketStream) -> bytes:
    """Read until the answer is there, or until the other side ends the connection."""
    seen = b""
    try:
        while not seen.endswith(b"ok"):
            seen += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        pass
    return seen


async def test_an_answer_of_a_known_length_leaves_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[bytes] = []
    write = asyncio.StreamWriter.write

    def noted(writer: asyncio.StreamWriter, data: bytes) -> None:
        pieces.append(data)
        write(writer, data)

    monkeypatch.setattr(asyncio.StreamWriter, "write", noted)
    async with served() as front:
        seen = await answer(await front.asking(GET))
    assert pieces == [seen]


async def test_the_head_of_an_answer_that_is_still_made_does_not_wait_for_the_rest() -> None:
    async with served() as front:
        stream = await front.asking(GET.replace(b"/", b"/begun", 1))
        assert (await stream.receive()).endswith(b"\r\n\r\n")
        front.app.may_answer.set()
        assert b"ok" in await stream.receive()


# The end of a connection


async def test_an_idle_connection_is_closed_in_time_and_one_at_work_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_front, "KEEP_ALIVE_S", 0.05)
    async with served() as front:
        busy = await front.asking(GET_SLOW)
        await front.app.asked.wait()
        idle = [await front.connect(), await front.asking(GET)]
        assert b"200" in await answer(idle[1])
        for stream in idle:
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
        front.app.may_answer.set()
        assert b"200" in await answer(busy)
        with pytest.raises(anyio.EndOfStream):
            await busy.receive()


async def test_a_connection_that_its_client_closes_is_closed_here_at_once() -> None:
    async with served() as front:
        for _ in range(3):
            stream = await front.asking(GET)
            assert b"200" in await answer(stream)
            await stream.aclose()
        await (await front.connect()).aclose()  # without a request
        await front.until(lambda counts: counts.accepted == 4 and counts.open == 0)


async def test_a_client_that_has_closed_its_side_gets_the_answers_to_all_it_asked() -> None:
    async with served() as front:
        stream = await front.asking(GET + GET_SLOW)
        await stream.send_eof()
        await front.app.asked.wait()
        front.app.may_answer.set()
        seen = b""
        async for chunk in stream:
            seen += chunk
        assert seen.count(b"200 ") == 2
        await front.until(lambda counts: counts.open == 0)


async def test_a_request_that_its_client_cuts_short_is_refused_and_its_connection_closed() -> None:
    async with served() as front:
        stream = await front.asking(POST % 10 + b"12345")
        await stream.send_eof()
        assert (await answer(stream)).startswith(b"HTTP/1.1 400 ")
        await front.until(lambda counts: counts.open == 0)


async def test_a_connection_that_is_reset_ends_with_the_request_on_it() -> None:
    with capture_logs() as logs:
        async with served() as front:
            stream = await front.asking(GET_SLOW)
            await front.app.asked.wait()
            _reset(stream)
            await stream.aclose()
            front.app.may_answer.set()
            await front.until(lambda counts: counts.open == 0)
    assert not [line for line in logs if line["log_level"] not in ("debug", "info")]


async def test_an_answer_that_did_not_want_the_request_leaves_no_connection_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_connection, "LINGER_S", 0.05)
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 0.0)
    async with served() as front:
        stream = await front.asking(POST.replace(b"/", b"/unread", 1) % 100_000_000)
        with pytest.raises(anyio.BrokenResourceError):
            await _send_for_ever(stream)
        await stream.aclose()
        await front.until(lambda counts: counts.open == 0)


async def _send_for_ever(stream: SocketStream) -> None:
    while True:
        await stream.send(b"x" * 65_536)


def _reset(stream: SocketStream) -> None:
    sock = stream.extra(SocketAttribute.raw_socket)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# Too many of them


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET / HTTP/1.1\r\nHost: e", POST % 10 + b"123", GET],
    ids=["nothing", "half of a header", "half of a body", "an answered request"],
)
async def test_connections_that_wait_for_their_clients_make_room_for_one_that_asks(beginning: bytes) -> None:
    async with served(limit=3) as front:
        idle = [await front.asking(beginning) for _ in range(3)]
        await front.until(lambda counts: counts.accepted == 3)
        if beginning == GET:
            for stream in idle:
                await answer(stream)
        assert b"200" in await answer(await front.asking(GET))
        counts = front.connections.statistics()
        assert (counts.displaced, counts.refused) == (1, 0)
        assert not (await answer(idle[0])).endswith(b"ok")  # the oldest of them has been closed


async def test_clients_that_do_not_read_their_answers_make_room_for_one_that_asks() -> None:
    async with served(limit=3) as front:
        for _ in range(3):
            await front.asking(GET_LARGE)
        while front.app.sent < 3 or len(front.connections._waiting) < 3:
            await checkpoint()
        assert b"200" in await answer(await front.asking(GET))
        counts = front.connections.statistics()
        assert (counts.displaced, counts.refused) == (1, 0)


async def test_connections_that_come_while_as_many_end_are_all_served() -> None:
    async with served(limit=8) as front:
        ending = [_connected(front.address) for _ in range(8)]
        await front.until(lambda counts: counts.accepted == 8)
        for sock in ending:
            sock.close()
        coming = [_connected(front.address) for _ in range(8)]  # the front has had no turn since
        for sock in coming:
            with sock:
                await front.until(lambda counts: counts.accepted == 16)
                sock.sendall(GET)
                assert b"200" in await anyio.to_thread.run_sync(sock.recv, 4096)


def _connected(address: Address) -> socket.socket:
    sock = socket.create_connection(address)
    sock.settimeout(PATIENCE_S)
    return sock


async def test_a_connection_at_work_is_never_closed_for_another_which_is_refused_instead() -> None:
    with capture_logs() as logs:
        async with served(limit=1) as front:
            working = await front.asking(GET_SLOW)
            await front.app.asked.wait()
            for _ in range(20):
                async with await front.connect() as refused:
                    assert (await answer(refused)).startswith(b"HTTP/1.1 503 ")
            front.app.may_answer.set()
            assert b"200" in await answer(working)
            assert b"200" in await answer(await front.asking(GET))
            counts = front.connections.statistics()
            assert (counts.refused, counts.displaced, counts.accepted) == (20, 1, 2)
    told = [line for line in logs if line["event"] == "connections_short"]
    assert told == [
        {
            "event": "connections_short",
            "log_level": "warning",
            "front": "http_front",
            "limit": 1,
            "refused": 1,
        }
    ]


async def test_a_client_whose_connection_is_refused_can_read_why_although_it_has_sent_a_request() -> None:
    async with served(limit=1) as front:
        await front.asking(GET_SLOW)
        await front.app.asked.wait()
        with _connected(front.address) as sock:
            sock.sendall(POST % 10 + b"0123456789")  # before it is accepted: the front has had no turn since
            await front.until(lambda counts: counts.refused == 1)
            seen = b""
            while piece := await anyio.to_thread.run_sync(sock.recv, 4096):
                seen += piece
        assert seen.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in seen
        front.app.may_answer.set()


def test_what_comes_often_is_told_at_once_and_then_every_ten_seconds_with_a_count() -> None:
    now = 0.0
    tell = Occasional("short", clock=lambda: now, front="f")
    with capture_logs() as logs:
        for now in (0.0, 1.0, 9.9, 10.0, 19.0, 100.0):
            tell("refused" if now != 1.0 else "displaced")
    assert [{key: line.get(key) for key in ("refused", "displaced")} for line in logs] == [
        {"refused": 1, "displaced": None},
        {"refused": 2, "displaced": 1},
        {"refused": 2, "displaced": None},
    ]


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_front_that_ran_out_of_descriptors_serves_on_when_there_are_some() -> None:
    with capture_logs() as logs:
        async with served() as front:
            waiting = socket.socket()
            waiting.setblocking(False)
            with no_descriptor_left():
                waiting.connect_ex(front.address)
                while not logs:
                    await checkpoint()
            with waiting:
                waiting.setblocking(True)
                waiting.sendall(GET)
                assert b"200" in await anyio.to_thread.run_sync(waiting.recv, 4096)
            assert b"200" in await answer(await front.asking(GET))
    assert {line["event"] for line in logs} == {"cannot_accept"}
    assert logs[0]["EMFILE"] == 1
