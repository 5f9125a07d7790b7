"""HTTP/2 clients that end streams and connections as they like: nothing of it is an error of the service."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import h2.config
import h2.connection
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
    """An ASGI application: /large answers much, /early without the body, /slow when the test lets it."""

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
                elif isinstance(event, h2.events.StreamEnded):
                    self.answered.add(event.stream_id)
                elif isinstance(event, h2.events.StreamReset):
                    self.reset[event.stream_id] = event.error_code
            await self.flush()

    async def answer(self, number: int) -> None:
        await self.until(lambda: number in self.answered)

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
