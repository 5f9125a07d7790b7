"""HTTP/2 clients that end streams and connections as they like: nothing of it is an error of the service."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.lowlevel import checkpoint
from structlog.testing import capture_logs

from actors.fronts.connections import Connections
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.config.places import Address
from tests.actors.outbox_kit import PATIENCE_S

pytestmark = pytest.mark.anyio

LARGE = b"x" * 500_000


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


class App:
    """An ASGI application: /large answers much, /early without the body, /slow when the test lets it.

    /late reads the body when the test lets it answer.
    """

    def __init__(self) -> None:
        self.asked, self.may_answer = anyio.Event(), anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["type"] != "http":
            return
        if scope["path"] == "/late":
            self.asked.set()
            await self.may_answer.wait()
        while scope["path"] != "/early" and (await receive()).get("more_body"):
            pass
        self.asked.set()
        if scope["path"] == "/slow":
            await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": LARGE if scope["path"] == "/large" else b"ok"})


class Client:
    """One HTTP/2 connection, and the answers that have come on it."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        config = h2.config.H2Configuration(
            client_side=True, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.http = h2.connection.H2Connection(config)
        self.http.initiate_connection()
        self.answered: set[int] = set()
        self.statuses: dict[int, bytes] = {}
        self.reset: dict[int, int] = {}

    def ask(self, path: str, *headers: tuple[str, str], method: str = "GET", end_stream: bool = True) -> int:
        number = self.http.get_next_available_stream_id()
        own = [(":method", method), (":path", path), (":scheme", "http")]
        self.http.send_headers(number, [*own, *(headers or [(":authority", "elf")])], end_stream=end_stream)
        return number

    async def flush(self) -> None:
        await self._stream.send(self.http.data_to_send())

    async def until(self, holds: Callable[[], bool]) -> None:
        """Send what there is to send, and read until this holds."""
        await self.flush()
        while not holds():
            for event in self.http.receive_data(await self._stream.receive()):
                if isinstance(event, h2.events.DataReceived):
                    self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.ResponseReceived):
                    self.statuses[event.stream_id] = dict(event.headers)[b":status"]
                elif isinstance(event, h2.events.StreamEnded):
                    self.answered.add(event.stream_id)
                elif isinstance(event, h2.events.StreamReset):
                    self.reset[event.stream_id] = event.error_code
            await self.flush()

    async def answer(self, number: int) -> None:
        await self.until(lambda: number in self.answered)

    async def upload(self, number: int, size: int) -> None:
        """Send so many bytes of a body and its end, as far as its window lets this side at a time."""
        while size:
            room = min(self.http.local_flow_control_window(number), self.http.max_outbound_frame_size, size)
            if not room:
                await self.until(lambda: self.http.local_flow_control_window(number) > 0)
                continue
            size -= room
            self.http.send_data(number, bytes(room), end_stream=not size)
            await self.flush()

    def reset_connection(self) -> None:
        """Let the connection be reset when it is closed."""
        sock = self._stream.extra(SocketAttribute.raw_socket)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def reset_at_once(app: App, client: Client) -> None:
    for _ in range(20):
        client.http.reset_stream(client.ask("/slow"))
    await client.answer(client.ask("/"))


async def reset_while_it_is_worked_on(app: App, client: Client) -> None:
    number = client.ask("/slow")
    await client.flush()
    await app.asked.wait()
    client.http.reset_stream(number)
    await client.answer(client.ask("/"))


async def reset_within_its_answer(app: App, client: Client) -> None:
    number = client.ask("/large")
    await client.flush()
    await app.asked.wait()
    client.http.reset_stream(number)
    await client.answer(client.ask("/"))


async def send_more_after_the_answer(app: App, client: Client) -> None:
    number = client.ask("/early", method="POST", end_stream=False)
    await client.answer(number)
    client.http.send_data(number, b"more")
    client.http.send_data(number, b"and more", end_stream=True)
    await client.answer(client.ask("/"))


async def connect_to_somewhere(app: App, client: Client) -> None:
    number = client.http.get_next_available_stream_id()
    client.http.send_headers(number, [(":method", "CONNECT"), (":authority", "elf:22")])
    await client.until(lambda: number in client.reset)
    await client.answer(client.ask("/"))


async def send_data_and_leave(app: App, client: Client) -> None:
    number = client.ask("/early", method="POST", end_stream=False)
    client.http.send_data(number, b"some")
    client.http.close_connection()
    await client.flush()


async def leave_with_the_answer_unread(app: App, client: Client) -> None:
    client.ask("/large")
    await client.flush()
    await app.asked.wait()


async def reset_the_connection(app: App, client: Client) -> None:
    client.ask("/large")
    client.ask("/slow")
    await client.flush()
    await app.asked.wait()
    client.reset_connection()


async def send_what_is_not_http(app: App, client: Client) -> None:
    await client.flush()
    await client._stream.send(b"\xff" * 100)


@pytest.mark.parametrize(
    "act",
    [
        reset_at_once, reset_while_it_is_worked_on, reset_within_its_answer, send_more_after_the_answer,
        connect_to_somewhere, send_data_and_leave, leave_with_the_answer_unread, reset_the_connection,
        send_what_is_not_http,
    ],
)  # fmt: skip
async def test_whatever_a_client_ends_is_no_error_and_leaves_nothing_behind(act: Any) -> None:
    app, connections = App(), Connections("http_front", 100)
    with (
        capture_logs() as logs,
        bind(Address("127.0.0.1", 0), key="service.http_bind") as sock,
        anyio.fail_after(PATIENCE_S),
    ):
        front = HttpFront("http_front", app, sock, connections)
        async with anyio.create_task_group() as group:
            await group.start(partial(run, front))
            async with await anyio.connect_tcp(*bound_address(sock)) as stream:
                await act(app, Client(stream))
            app.may_answer.set()
            while connections.statistics().open:
                await checkpoint()
            group.cancel_scope.cancel()
    assert not [line for line in logs if line["log_level"] not in ("debug", "info")]


async def run(front: HttpFront, *, task_status: Any) -> None:
    await front.run(task_status=task_status)


@asynccontextmanager
async def asking() -> AsyncIterator[tuple[App, Client]]:
    """Give an application that is served, and a client of it; nothing of what it does is a fault of the front."""
    app = App()
    with (
        capture_logs() as logs,
        bind(Address("127.0.0.1", 0), key="service.http_bind") as sock,
        anyio.fail_after(PATIENCE_S),
    ):
        front = HttpFront("http_front", app, sock, Connections("http_front", 100))
        async with anyio.create_task_group() as group:
            await group.start(partial(run, front))
            async with await anyio.connect_tcp(*bound_address(sock)) as stream:
                yield app, Client(stream)
            app.may_answer.set()
            group.cancel_scope.cancel()
    assert not [line for line in logs if line["log_level"] not in ("debug", "info")]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("http://[", []),
        ("http://[::1/", []),
        ("http://elf:65536/", []),
        ("elf", []),
        ("/\xff", []),
        ("/\xe9?x", []),
        ("/a b", []),
        ("/", [("content-length", "0" * 4000 + "3")]),
    ],
)
@pytest.mark.parametrize("end_stream", [True, False])
async def test_what_is_no_request_is_refused_and_costs_no_other_request_its_answer(
    path: str, headers: list[tuple[str, str]], end_stream: bool
) -> None:
    async with asking() as (app, client):
        slow = client.ask("/slow")
        wrong = client.ask(path, (":authority", "elf"), *headers, method="POST", end_stream=end_stream)
        await client.answer(wrong)
        if not end_stream:
            client.http.send_data(wrong, b"abc", end_stream=True)
        app.may_answer.set()
        await client.answer(slow)
    assert client.statuses == {slow: b"200", wrong: b"400"}


async def test_a_connection_may_have_any_number_of_requests() -> None:
    async with asking() as (_, client):
        for _ in range(30):
            numbers = {client.ask("/") for _ in range(50)}
            await client.until(lambda numbers=numbers: numbers <= client.answered)
    assert set(client.statuses.values()) == {b"200"}
    assert len(client.statuses) == 1500


async def test_priorities_that_depend_on_one_another_count_for_nothing() -> None:
    async with asking() as (_, client):
        for number in range(3, 4003, 2):
            client.http.prioritize(number, depends_on=number - 2)
            await client.flush()
        number = client.http.get_next_available_stream_id()
        await client.flush()
        own = [(":method", "GET"), (":path", "/"), (":scheme", "http"), (":authority", "elf")]
        client.http.send_headers(number, own, end_stream=True, priority_depends_on=3999)
        await client.answer(number)
    assert client.statuses == {number: b"200"}


async def test_a_client_that_sends_all_of_a_large_body_finds_the_answer_that_did_not_want_it() -> None:
    async with asking() as (_, client):
        number = client.ask("/early", method="POST", end_stream=False)
        await client.upload(number, 64 << 20)
        await client.answer(number)
        await client.answer(client.ask("/"))
    assert set(client.statuses.values()) == {b"200"}
    assert not client.reset


async def test_a_client_that_never_stops_sending_has_its_stream_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("actors.fronts.http2.DISCARD_S", 0.0)
    async with asking() as (_, client):
        number = client.ask("/early", method="POST", end_stream=False)
        await client.answer(number)
        client.http.send_data(number, b"more")
        await client.until(lambda: number in client.reset)
        await client.answer(client.ask("/"))
    assert client.reset == {number: h2.errors.ErrorCodes.NO_ERROR}


async def test_a_client_may_send_more_when_the_application_comes_for_it() -> None:
    async with asking() as (app, client):
        held = client.ask("/late", method="POST", end_stream=False)
        await client.until(lambda: client.http.local_flow_control_window(held) > 0)
        window = client.http.remote_settings.initial_window_size
        for _ in range(window // 16_384):
            client.http.send_data(held, bytes(16_384))
        client.http.send_data(held, bytes(client.http.local_flow_control_window(held)))
        await client.flush()
        await app.asked.wait()
        await client.answer(client.ask("/"))  # and all that has come before it has been seen
        assert client.http.local_flow_control_window(held) == 0
        other = client.ask("/", method="POST", end_stream=False)
        await client.upload(other, 1 << 20)  # which the one that is not read does not hold up
        await client.answer(other)
        app.may_answer.set()
        await client.until(lambda: client.http.local_flow_control_window(held) > 0)
        client.http.end_stream(held)
        await client.answer(held)


async def test_a_body_in_very_small_frames_is_taken_as_one_in_large_ones() -> None:
    async with asking() as (_, client):
        for path in ("/", "/early"):
            number = client.ask(path, method="POST", end_stream=False)
            for _ in range(5000):
                client.http.send_data(number, b"x")
                client.http.send_data(number, b"")
            client.http.end_stream(number)
            await client.answer(number)
    assert set(client.statuses.values()) == {b"200"}


@pytest.mark.parametrize(
    "hosts",
    [
        [("host", "elf"), ("host", "evil")],
        [(":authority", "elf"), ("host", "evil")],
        [(":authority", "evil"), ("host", "elf")],
    ],
)
async def test_a_request_that_names_two_hosts_is_not_served(hosts: list[tuple[str, str]]) -> None:
    with (
        bind(Address("127.0.0.1", 0), key="service.http_bind") as sock,
        anyio.fail_after(PATIENCE_S),
    ):
        front = HttpFront("http_front", App(), sock, Connections("http_front", 100))
        async with anyio.create_task_group() as group:
            await group.start(partial(run, front))
            async with await anyio.connect_tcp(*bound_address(sock)) as stream:
                client = Client(stream)
                number = client.ask("/", *hosts)
                with pytest.raises(anyio.EndOfStream):
                    await client.answer(number)
            group.cancel_scope.cancel()
    assert not client.answered
