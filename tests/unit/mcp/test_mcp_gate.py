"""What stands before the MCP server, with time that is virtual."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from exchange import Exchange
from trio.testing import MockClock

from elf.config import load
from elf.config.access import Visitors
from elf.core.body_budget import DEFAULT_TIMEOUT_S, MIN_BYTES_PER_S
from elf.identity.identify import anonymous
from elf.mcp.callers import Callers
from elf.mcp.gate import MAX_BODY_BYTES, MAX_VALUES, McpGate

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"
CALLERS = Callers(load(EXAMPLE), anonymous)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


async def echo(_scope: Any, receive: Any, send: Any) -> None:
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def open_gate(handler: Any = echo, *, local_only: bool = True) -> McpGate:
    gate = McpGate(Visitors(local_only=local_only), CALLERS, ["/mcp"])
    gate.open({"/mcp": handler})
    return gate


async def test_a_body_that_trickles_in_is_given_up() -> None:
    assert await Exchange(pieces=[0, DEFAULT_TIMEOUT_S / 2]).go(open_gate()) == 200
    assert await Exchange(pieces=[0, DEFAULT_TIMEOUT_S / 2, DEFAULT_TIMEOUT_S]).go(open_gate()) == 408


async def test_a_body_that_comes_at_some_pace_has_longer() -> None:
    second = b"x" * MIN_BYTES_PER_S
    assert await Exchange(pieces=[0, 0, DEFAULT_TIMEOUT_S + 1.9], body=second).go(open_gate()) == 200
    assert await Exchange(pieces=[0, 0, DEFAULT_TIMEOUT_S + 2.1], body=second).go(open_gate()) == 408


async def test_a_call_may_take_longer_than_its_body() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await echo(scope, receive, send)
        await anyio.sleep(DEFAULT_TIMEOUT_S * 2)
        raise TimeoutError("one of the handler's own")

    with pytest.raises(TimeoutError, match="own"):
        await Exchange().go(open_gate(slow))


async def test_a_body_comes_whole_and_then_what_comes_after_it() -> None:
    heard: list[Any] = []

    async def listen(_scope: Any, receive: Any, send: Any) -> None:
        heard.append(await receive())
        heard.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})

    assert await Exchange(pieces=[0, 0, 0, 0], body=b"ab").go(open_gate(listen)) == 200
    assert heard == [
        {"type": "http.request", "body": b"abababab", "more_body": False}, {"type": "http.disconnect"}
    ]  # fmt: skip


async def test_a_body_that_is_too_large_or_holds_too_many_values_is_refused() -> None:
    for body, pieces, status in (
        (b"x" * MAX_BODY_BYTES, [0], 200),
        (b"x" * MAX_BODY_BYTES, [0, 0], 413),
        (b"x" * 1024, [0] * (MAX_BODY_BYTES // 1024 + 5), 413),
        (b"[" + b"1," * (MAX_VALUES + 1) + b"1]", [0], 413),
        (b"[" + b"1," * (MAX_VALUES - 10) + b"1]", [0], 200),
        (b'["' + b"1," * (MAX_VALUES * 2) + b'"]', [0], 200),
    ):
        exchange = Exchange(pieces=pieces, body=body)
        assert await exchange.go(open_gate()) == status
        if status == 413:
            assert json.loads(exchange.sent[1]["body"])["error"]["message"].startswith("the body ")


async def test_a_client_that_goes_away_within_its_body_gets_no_answer() -> None:
    exchange = Exchange()

    async def gone() -> Any:
        return {"type": "http.disconnect"}

    await open_gate()(exchange.scope, gone, exchange.send)
    assert exchange.sent == []


@pytest.mark.parametrize(
    ("local_only", "host", "origin", "status"),
    [
        (True, "127.0.0.1:8766", None, 200),
        (True, "[::1]:8766", "http://[::1]:1", 200),
        (True, "localhost", "https://localhost", 200),
        (True, "elf.example", None, 421),
        (True, "", None, 421),
        (True, "[", None, 421),
        (True, "localhost/.elf.example", None, 421),
        (True, "localhost:8766", "http://elf.example", 403),
        (False, "elf.example", None, 200),
        (False, "elf.example", "https://elf.example", 200),
        (False, "elf.example", "https://other.example", 403),
        (False, "elf.example", "http://[", 403),
        (False, "elf.example", "null", 403),
    ],
)
async def test_who_may_come_in(local_only: bool, host: str, origin: str | None, status: int) -> None:
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    exchange = Exchange(headers=headers)
    assert await exchange.go(open_gate(local_only=local_only)) == status
    if status != 200:
        assert json.loads(exchange.sent[1]["body"])["error"]["message"]


async def test_the_first_request_waits_for_the_handler_it_has_made_wanted() -> None:
    gate = McpGate(Visitors(local_only=True), CALLERS, ["/mcp"])
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append(await Exchange().go(gate))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await gate.wanted.wait()
        await anyio.wait_all_tasks_blocked()
        assert statuses == []
        gate.open({"/mcp": echo})
    gate.give_up()
    await ask()
    assert statuses == [200, 503]


async def test_websockets_are_closed() -> None:
    exchange = Exchange()
    await open_gate()({"type": "websocket"}, exchange.receive, exchange.send)
    assert [message["type"] for message in exchange.sent] == ["websocket.close"]
