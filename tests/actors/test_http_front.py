"""The HTTP front: it takes its port at once, ends requests in flight, and may be started again."""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import httpx
import pytest
from anyio.lowlevel import checkpoint
from structlog.testing import capture_logs

from actors.fronts import http_front
from actors.fronts.connections import Connections
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.config.places import Address
from elf.core.errors import StartupError
from tests.actors.outbox_kit import PATIENCE_S

pytestmark = pytest.mark.anyio

LOOPBACK = Address("127.0.0.1", 0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class SlowApp:
    """An ASGI application whose one answer waits until the test lets it go."""

    def __init__(self) -> None:
        self.asked, self.may_answer, self.cancelled = anyio.Event(), anyio.Event(), anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        self.asked.set()
        try:
            await self.may_answer.wait()
        except BaseException:
            self.cancelled.set()
            raise
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with bind(LOOPBACK, key="service.http_bind") as sock:
        yield sock


async def run(front: HttpFront, scope: anyio.CancelScope, *, task_status: Any) -> None:
    with scope:
        await front.run(task_status=task_status)


async def get(url: str, answers: list[int]) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        answers.append((await client.get(url)).status_code)


def test_a_port_is_chosen_when_the_config_says_zero(sock: socket.socket) -> None:
    address = bound_address(sock)
    assert address.host == "127.0.0.1"
    assert address.port > 0


def test_a_busy_port_is_named_with_its_key(sock: socket.socket) -> None:
    sock.listen()
    address = bound_address(sock)
    with pytest.raises(StartupError, match=f"service.http_bind: cannot listen on {address}"):
        bind(address, key="service.http_bind")


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(StartupError, match="http_bind"):
        bind(Address("192.0.2.1", 0), key="service.http_bind")


async def test_a_port_that_somebody_else_listens_on_meanwhile_ends_the_start(sock: socket.socket) -> None:
    with bind(bound_address(sock), key="service.http_bind") as faster:
        faster.listen()
        front = HttpFront("http_front", SlowApp(), sock, Connections("http_front", 100))
        with pytest.raises(StartupError, match=str(bound_address(sock))):
            await front.run()


async def test_it_serves_once_it_is_ready_and_again_after_a_restart(sock: socket.socket) -> None:
    app = SlowApp()
    app.may_answer.set()
    front = HttpFront("http_front", app, sock, Connections("http_front", 100))
    answers: list[int] = []
    with anyio.fail_after(PATIENCE_S):
        for _ in range(2):
            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()
                await group.start(run, front, scope)
                await get(f"http://{bound_address(sock)}", answers)
                scope.cancel()
    assert answers == [200, 200]


async def test_a_request_in_flight_is_answered_when_it_stops(sock: socket.socket) -> None:
    app = SlowApp()
    answers: list[int] = []
    scope = anyio.CancelScope()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(run, HttpFront("http_front", app, sock, Connections("http_front", 100)), scope)
            group.start_soon(get, f"http://{bound_address(sock)}", answers)
            await app.asked.wait()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            app.may_answer.set()
    assert answers == [200]
    assert not app.cancelled.is_set()


async def test_a_request_that_never_ends_is_cut_off(
    sock: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_front, "GRACE_S", 0.05)
    app = SlowApp()
    scope = anyio.CancelScope()

    answers: list[int] = []

    async def ask() -> None:
        with suppress(httpx.TransportError):  # or an answer of the server that the request failed
            await get(f"http://{bound_address(sock)}", answers)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(run, HttpFront("http_front", app, sock, Connections("http_front", 100)), scope)
            group.start_soon(ask)
            await app.asked.wait()
            scope.cancel()
    assert app.cancelled.is_set()
    assert 200 not in answers


# A client that stops reading


class LargeApp(SlowApp):
    """Answers with more than the buffers of both sides hold, and knows when that has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer.set()
        self.ended = anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def large(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": []}
            if message["type"] == "http.response.body":
                message = message | {"body": b"x" * 30_000_000}
            await send(message)

        try:
            await super().__call__(scope, receive, send if scope["type"] == "lifespan" else large)
        finally:
            if scope["type"] == "http":
                self.ended.set()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such time limit")
async def test_a_client_that_stops_reading_its_answer_is_cut_off_without_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_front, "STALLED_S", 0.3)
    app, scope, logged = LargeApp(), anyio.CancelScope(), anyio.Event()

    def notice(logger: Any, method: str, line: Any) -> Any:
        logged.set()
        return line

    with (
        capture_logs(processors=[notice]) as logs,
        bind(LOOPBACK, key="service.http_bind") as sock,
        anyio.fail_after(PATIENCE_S),
    ):
        async with anyio.create_task_group() as group:
            await group.start(
                partial(run, HttpFront("http_front", app, sock, Connections("http_front", 100)), scope)
            )
            client = await anyio.connect_tcp(*bound_address(sock))
            async with client:
                await client.send(b"GET / HTTP/1.1\r\nHost: elf\r\n\r\n")
                await app.ended.wait()
                while not logged.is_set():
                    gc.collect()  # older Pythons tell of a task that failed when it is collected
                    await checkpoint()
            scope.cancel()
    assert [line["event"] for line in logs] == ["client_stalled"]
