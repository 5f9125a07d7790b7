"""Bodies of requests in flight: how much memory they may take, and how long one may take to arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from actors.fronts import http1_request
from actors.fronts.connections import Connections
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.config import load
from elf.config.access import EVERYBODY
from elf.config.places import Address
from elf.core.body_budget import SMALL_BYTES, BodyBudget, BodyBudgetExceeded
from elf.identity.identify import anonymous
from elf.mcp.callers import Callers
from elf.mcp.gate import McpGate
from elf.web.app import create_app
from elf.web.readiness import Readiness
from tests.actors.outbox_kit import PATIENCE_S
from tests.actors.test_http2 import Client

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
EXAMPLE = Path(__file__).resolve().parents[2] / "elf.example.toml"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture(autouse=True)
def answers_do_not_wait_for_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 0.0)


class Say(BaseModel):
    text: str


class Said(BaseModel):
    chars: int


class Service:
    """What answers a text with its length; /v1/hold does so when the test lets it."""

    def __init__(self) -> None:
        self.held = 0
        self.may_answer = anyio.Event()

    async def say(self, asked: Any, _: Caller) -> BaseModel:
        return Said(chars=len(asked.text))

    async def hold(self, asked: Any, caller: Caller) -> BaseModel:
        self.held += 1
        await self.may_answer.wait()
        return await self.say(asked, caller)

    def app(self, bodies: BodyBudget) -> Any:
        operations = [
            Operation(name, "POST", f"/v1/{name}", "Say", Say, Said, max_body_bytes=4 * MIB)
            for name in ("say", "hold")
        ]
        return create_app(
            operations,
            {"say": self.say, "hold": self.hold},
            readiness=lambda: Readiness(ready=True, parts=[]),
            bodies=bodies,
        )


class Served:
    """A front that runs, and connections to it."""

    def __init__(self, address: Address, bodies: BodyBudget, clients: AsyncExitStack) -> None:
        self.bodies = bodies
        self._address = address
        self._clients = clients

    async def connect(self) -> SocketStream:
        return await self._clients.enter_async_context(await anyio.connect_tcp(*self._address))

    async def asking(self, *pieces: bytes) -> SocketStream:
        stream = await self.connect()
        for piece in pieces:
            await stream.send(piece)
        return stream

    async def answer(self, *pieces: bytes) -> bytes:
        return await answer(await self.asking(*pieces))

    async def until_taken(self, size: int) -> None:
        while self.bodies.statistics().taken != size:
            await checkpoint()


@asynccontextmanager
async def served(app: Any, bodies: BodyBudget) -> AsyncIterator[Served]:
    with bind(Address("127.0.0.1", 0), key="service.http_bind") as sock, anyio.fail_after(PATIENCE_S):
        front = HttpFront("http_front", app, sock, Connections("http_front", 1000))
        async with anyio.create_task_group() as group:

            async def run(*, task_status: Any) -> None:
                await front.run(task_status=task_status)

            await group.start(run)
            async with AsyncExitStack() as clients:
                yield Served(bound_address(sock), bodies, clients)
            group.cancel_scope.cancel()


async def answer(stream: SocketStream) -> bytes:
    """Read one response whose length is told."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += await stream.receive()
    head, _, body = seen.partition(b"\r\n\r\n")
    (length,) = (
        int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")
    )
    while len(body) < length:
        body += await stream.receive()
    return head + b"\r\n\r\n" + body


def head(path: str, size: int | None) -> bytes:
    framing = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n".encode()


def text_of(size: int) -> bytes:
    """A body of so many bytes."""
    return json.dumps({"text": "x" * (size - 12)}).encode()


def request_of(size: int, path: str = "/v1/say") -> bytes:
    return head(path, size) + text_of(size)


def assert_refused(response: bytes) -> None:
    assert response.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in response
    assert b"in flight" in response


def budget(total: int = 8 * MIB, peer: int = 5 * MIB, timeout_s: float = 3600.0) -> BodyBudget:
    return BodyBudget(total_bytes=total, peer_bytes=peer, timeout_s=timeout_s)


async def test_half_sent_bodies_have_a_limit_and_what_is_beyond_it_is_refused_before_it_is_read() -> None:
    bodies = budget()
    async with served(Service().app(bodies), bodies) as front:
        halves = [await front.asking(head("/v1/say", 2 * MIB) + b"x") for _ in range(2)]
        await front.until_taken(4 * MIB)
        for _ in range(50):
            assert_refused(await front.answer(head("/v1/say", 2 * MIB) + b"x"))
        assert front.bodies.statistics() == (4 * MIB, 8 * MIB, 50)
        for half in halves:
            await half.aclose()
        await front.until_taken(0)
        assert (await front.answer(request_of(2 * MIB))).startswith(b"HTTP/1.1 200 ")


async def test_small_bodies_find_room_however_many_large_ones_do_not_arrive() -> None:
    bodies = budget(total=4 * MIB, peer=3 * MIB)
    async with served(Service().app(bodies), bodies) as front:
        for _ in range(3):
            await front.asking(head("/v1/say", MIB) + b"x")
        await front.until_taken(3 * MIB)
        assert_refused(await front.answer(request_of(SMALL_BYTES + 1)))
        assert (await front.answer(request_of(SMALL_BYTES))).startswith(b"HTTP/1.1 200 ")


async def test_a_body_of_unknown_length_is_refused_when_there_is_no_more_room_for_it() -> None:
    bodies = budget()
    async with served(Service().app(bodies), bodies) as front:
        await front.asking(head("/v1/say", 4 * MIB) + b"x")
        await front.until_taken(4 * MIB)
        chunk = b"%x\r\n%b\r\n" % (SMALL_BYTES, b"x" * SMALL_BYTES)
        growing = await front.asking(head("/v1/say", None), *[chunk] * 16)
        await front.until_taken(5 * MIB)
        await growing.send(chunk)
        assert_refused(await answer(growing))
        await front.until_taken(4 * MIB)


async def test_a_body_counts_until_its_request_is_answered() -> None:
    bodies, service = budget(), Service()
    async with served(service.app(bodies), bodies) as front:
        held = [await front.asking(request_of(2 * MIB, "/v1/hold")) for _ in range(2)]
        while service.held < 2:
            await checkpoint()
        assert_refused(await front.answer(request_of(2 * MIB)))
        service.may_answer.set()
        for stream in held:
            assert (await answer(stream)).startswith(b"HTTP/1.1 200 ")
        await front.until_taken(0)


async def test_one_address_does_not_take_the_room_of_another() -> None:
    bodies = budget(peer=4 * MIB)
    with bodies.one(("192.0.2.7", 1)) as other:
        async with served(Service().app(bodies), bodies) as front:
            await front.asking(head("/v1/say", 4 * MIB) + b"x")
            await front.until_taken(4 * MIB)
            assert_refused(await front.answer(head("/v1/say", MIB) + b"x"))
            other.grow(2 * MIB)


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("192.0.2.7", "192.0.2.8", False),
    ],
)
async def test_a_network_of_ipv6_is_one_peer_and_an_address_of_ipv4_is_the_same_in_either_form(
    first: str, second: str, is_one: bool
) -> None:
    bodies = budget(peer=MIB)
    with bodies.one((first, 1)) as one, bodies.one((second, 1)) as other:
        one.grow(MIB)
        with pytest.raises(BodyBudgetExceeded, match="one address") if is_one else nullcontext():
            other.grow(MIB)


async def test_a_body_that_does_not_arrive_in_time_is_given_up_and_its_room_is_free() -> None:
    bodies = budget(timeout_s=0.01)
    async with served(Service().app(bodies), bodies) as front:
        response = await front.answer(head("/v1/say", SMALL_BYTES) + b"x")
        assert response.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close\r\n" in response
        await front.until_taken(0)


async def test_clients_of_http_2_are_held_to_the_same_and_are_let_send_no_more() -> None:
    bodies = budget()
    async with served(Service().app(bodies), bodies) as front:
        await front.asking(head("/v1/say", 4 * MIB) + b"x")
        await front.until_taken(4 * MIB)
        client = Client(await front.connect())
        declared = client.ask(
            "/v1/say", (":authority", "localhost"), ("content-length", str(2 * MIB)), method="POST", end_stream=False
        )  # fmt: skip
        await client.answer(declared)
        undeclared = client.ask("/v1/say", (":authority", "localhost"), method="POST", end_stream=False)
        await client.upload(undeclared, 2 * MIB)
        await client.answer(undeclared)
        fits = client.ask("/v1/say", (":authority", "localhost"), method="POST", end_stream=False)
        client.http.send_data(fits, text_of(1000), end_stream=True)
        await client.answer(fits)
        assert client.statuses == {declared: b"503", undeclared: b"503", fits: b"200"}
        await front.until_taken(4 * MIB)


def gate_of(bodies: BodyBudget) -> McpGate:
    async def handle(_scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        content = b"%d" % len(body)
        headers = [(b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    gate = McpGate(EVERYBODY, Callers(load(EXAMPLE), anonymous), ["/mcp"], bodies=bodies)
    gate.open({"/mcp": handle})
    return gate


async def test_mcp_is_held_to_the_same() -> None:
    bodies = budget(timeout_s=3600.0, total=4 * MIB, peer=3 * MIB)
    async with served(gate_of(bodies), bodies) as front:
        halves = [await front.asking(head("/mcp", MIB) + b"x") for _ in range(3)]
        await front.until_taken(3 * MIB)
        assert_refused(await front.answer(head("/mcp", MIB) + b"x"))
        assert (await front.answer(request_of(1000, "/mcp"))).endswith(b"\r\n\r\n1000")
        for half in halves:
            await half.aclose()
        await front.until_taken(0)


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [("/mcp", "localhost", 413), ("/other", "localhost", 404), ("/mcp", "evil.example/", 421)],
)
async def test_a_client_of_mcp_that_sends_all_first_can_read_why_it_is_refused(
    path: str, host: str, status: int
) -> None:
    bodies = budget()
    async with served(gate_of(bodies), bodies) as front:
        begun = head(path, 64 * MIB).replace(b"localhost", host.encode())
        response = await front.answer(begun, *[b"x" * MIB] * 64)
    assert response.startswith(b"HTTP/1.1 %d " % status)
    assert b"connection: close\r\n" in response


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/say", [], b"413"),
        ("/v1/other", [], b"404"),
        ("/v1/say", ["Host: evil.example#"], b"421"),
        ("/v1/say", ["Origin: https://evil.example"], b"400"),
    ],
)
async def test_a_client_that_sends_all_first_can_read_why_it_is_refused(
    path: str, headers: Sequence[str], status: bytes
) -> None:
    bodies = budget()
    async with served(Service().app(bodies), bodies) as front:
        begun = head(path, 64 * MIB)
        for line in headers:
            begun = begun.replace(b"\r\n", f"\r\n{line}\r\n".encode(), 1)
        if headers and headers[0].startswith("Host"):
            begun = begun.replace(b"Host: localhost\r\n", b"")
        response = await front.answer(begun, *[b"x" * MIB] * 64)
    assert response.startswith(b"HTTP/1.1 " + status)
    assert b"connection: close\r\n" in response
