"""An answer that needs no body leaves the connection usable, or says that it does not."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from elf.web import exchange as exchanges
from elf.web.app import create_app
from elf.web.readiness import Readiness

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Exchange:
    """A POST to where nothing is; its body comes when `body` is set, and `begun` is set by the first of the answer."""

    def __init__(self, http_version: str = "1.1") -> None:
        self.body, self.begun = anyio.Event(), anyio.Event()
        self.headers: dict[bytes, bytes] = {}
        self._version = http_version

    async def run(self) -> None:
        app = create_app([], {}, readiness=lambda: Readiness(ready=True, parts=[]))
        scope: Any = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": self._version, "method": "POST",
            "scheme": "http", "path": "/nothing", "raw_path": b"/nothing", "query_string": b"", "root_path": "",
            "headers": [(b"host", b"localhost"), (b"content-length", b"2")], "client": None, "server": None,
            "extensions": {}, "state": {},
        }  # fmt: skip
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Any:
        await self.body.wait()
        if self.begun.is_set():
            await anyio.sleep_forever()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def _send(self, event: Any) -> None:
        if event["type"] == "http.response.start":
            assert event["status"] == 404
            self.headers = dict(event["headers"])
            self.begun.set()


async def test_it_waits_for_a_body_that_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "BODY_GRACE_S", 60.0)
    exchange = Exchange()
    async with anyio.create_task_group() as group:
        group.start_soon(exchange.run)
        await anyio.wait_all_tasks_blocked()
        assert not exchange.begun.is_set()
        exchange.body.set()
        await exchange.begun.wait()
    assert b"connection" not in exchange.headers


async def test_it_says_that_the_connection_ends_when_the_body_does_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges, "BODY_GRACE_S", 0.0)
    exchange = Exchange()
    await exchange.run()
    assert exchange.headers[b"connection"] == b"close"


async def test_http_2_has_no_such_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "BODY_GRACE_S", 0.0)
    exchange = Exchange("2")
    await exchange.run()
    assert b"connection" not in exchange.headers
