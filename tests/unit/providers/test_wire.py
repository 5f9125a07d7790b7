"""What stands behind `local:` as an app: a clear answer to every bad request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import msgspec
import pytest
import structlog

from elf.providers.local.wire import MAX_BODY_BYTES, JsonApp, decode

pytestmark = pytest.mark.anyio


class _Wanted(msgspec.Struct):
    input: str


async def echo(content: bytes) -> object:
    return {"input": decode(DECODER, content).input}


async def fail(content: bytes) -> object:
    raise MemoryError("secret text of a note")


DECODER = msgspec.json.Decoder(_Wanted)
APP = JsonApp({"/v1/echo": echo, "/v1/fail": fail})


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=APP)
    async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
        yield client


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"input": "\\ud800"}', b"[" * 99_999])
async def test_what_is_not_the_json_expected_is_refused(client: httpx.AsyncClient, content: bytes) -> None:
    response = await client.post("/v1/echo", content=content)
    assert response.status_code == 400
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert "not the JSON expected" in error["message"]


async def test_an_answer_is_json(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/echo", json={"input": "tea"})
    assert response.json() == {"input": "tea"}
    assert response.headers["content-type"] == "application/json"
    assert int(response.headers["content-length"]) == len(response.content)


async def test_another_path_is_not_found(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/models", json={})
    assert response.status_code == 404
    assert "/v1/echo, /v1/fail" in response.json()["error"]["message"]


async def test_another_method_is_not_allowed(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/echo")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


async def test_a_body_too_large_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/echo", content=b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413


async def test_a_fault_of_the_app_is_a_500_that_tells_no_text(client: httpx.AsyncClient) -> None:
    with structlog.testing.capture_logs() as logs:
        response = await client.post("/v1/fail", json={"input": "x"})
    assert response.status_code == 500
    assert response.json()["error"] == {
        "message": "the local provider failed: MemoryError",
        "type": "server_error",
        "param": None,
        "code": None,
    }
    assert [log["event"] for log in logs] == ["local_provider.request_failed"]


async def test_the_lifespan_protocol_is_spoken() -> None:
    received = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    with anyio.fail_after(5):
        await APP({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_websockets_are_refused() -> None:
    async def unused(*_: Any) -> Any:
        raise AssertionError

    with pytest.raises(ValueError, match="http only"):
        await APP({"type": "websocket", "path": "/"}, unused, unused)


async def test_a_client_that_goes_away_is_not_waited_for() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/echo"}
    with anyio.fail_after(5):
        await APP(scope, receive, send)
    assert sent[0]["status"] == 400
