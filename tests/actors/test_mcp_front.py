"""The MCP front as an actor: it loads its sessions when they are wanted, and ends calls in flight."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from actors.fronts import mcp_front
from actors.fronts.connections import Connections
from actors.fronts.http_front import bind, bound_address
from actors.fronts.mcp_front import McpFront
from elf.config import Config, load
from elf.config.places import Address
from elf.families.notes.manifest import NOTES
from elf.identity.identify import anonymous
from tests.actors.outbox_kit import PATIENCE_S

pytestmark = pytest.mark.anyio

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_get", "arguments": {"note_id": "0" * 32}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def config() -> Config:
    return load(Path(__file__).resolve().parents[2] / "elf.example.toml")


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with bind(Address("127.0.0.1", 0), key="service.mcp_bind") as sock:
        yield sock


class SlowApi:
    """An API whose answer waits until the test lets it go."""

    def __init__(self) -> None:
        self.asked, self.may_answer = anyio.Event(), anyio.Event()

    def connect(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer), base_url="http://elf")

    async def _answer(self, _: httpx.Request) -> httpx.Response:
        self.asked.set()
        await self.may_answer.wait()
        return httpx.Response(200, json={"text": "Fact: it works."})


def front_of(config: Config, sock: socket.socket, api: SlowApi) -> McpFront:
    return McpFront(
        config,
        sock,
        families=[NOTES],
        identify=anonymous,
        connect=api.connect,
        connections=Connections("mcp_front", 100),
    )


async def run(front: McpFront, scope: anyio.CancelScope, *, task_status: Any) -> None:
    with scope:
        await front.run(task_status=task_status)


async def call(sock: socket.socket, answers: list[httpx.Response]) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        answers.append(await client.post(f"http://{bound_address(sock)}/mcp", json=CALL, headers=ACCEPT))


async def test_it_serves_once_it_is_ready_and_again_after_a_restart(
    config: Config, sock: socket.socket
) -> None:
    api = SlowApi()
    api.may_answer.set()
    front = front_of(config, sock, api)
    answers: list[httpx.Response] = []
    with anyio.fail_after(PATIENCE_S):
        for _ in range(2):
            async with anyio.create_task_group() as group:
                scope = anyio.CancelScope()
                await group.start(run, front, scope)
                await call(sock, answers)
                scope.cancel()
    assert ["Fact: it works." in answer.text for answer in answers] == [True, True]


async def test_a_call_in_flight_is_answered_when_it_stops(config: Config, sock: socket.socket) -> None:
    api = SlowApi()
    answers: list[httpx.Response] = []
    scope = anyio.CancelScope()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(
                run,
                front_of(config, sock, api),
                scope,
            )
            group.start_soon(call, sock, answers)
            await api.asked.wait()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            api.may_answer.set()
    assert "Fact: it works." in answers[0].text


async def test_it_stops_although_nobody_ever_asked_for_mcp(config: Config, sock: socket.socket) -> None:
    scope = anyio.CancelScope()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(
                run,
                front_of(config, sock, SlowApi()),
                scope,
            )
            scope.cancel()


async def test_sessions_that_cannot_be_loaded_crash_it_and_leave_no_request_waiting(
    config: Config, sock: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Any:
        raise ImportError("the SDK is damaged")

    monkeypatch.setattr(mcp_front, "_load", fail)
    answers: list[httpx.Response] = []

    async def ask() -> None:
        with suppress(httpx.TransportError):  # or the connection is closed first
            await call(sock, answers)

    async def serve(*, task_status: Any) -> None:
        with pytest.raises(ExceptionGroup) as caught:
            await McpFront(
                config,
                sock,
                families=[NOTES],
                identify=anonymous,
                connect=SlowApi().connect,
                connections=Connections("mcp_front", 100),
            ).run(task_status=task_status)
        assert caught.group_contains(ImportError, match="damaged")

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(serve)
            group.start_soon(ask)
    assert [answer.status_code for answer in answers] in ([503], [])
