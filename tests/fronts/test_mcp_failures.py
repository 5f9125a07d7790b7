"""Every kind of failure of the API, and no API at all, as a tool error that an agent can read."""

from __future__ import annotations

import socket
from typing import Any
from uuid import UUID

import httpx
import pytest
from pydantic import BaseModel

from elf.api.operation import for_anyone
from elf.config.places import Address
from elf.core.errors import (
    DatabaseUnavailable,
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    PayloadTooLarge,
    ScopeDenied,
    ServiceError,
)
from elf.families.notes.api import operations as o
from elf.families.notes.api.tools import TOOLS
from elf.mcp.api import MAX_ANSWER_BYTES, MAX_ANSWER_VALUES, client_of_address, client_of_app
from elf.web.app import create_app
from elf.web.application import Application
from elf.web.readiness import Readiness
from tests.fronts.mcp_kit import failure, in_process

pytestmark = pytest.mark.anyio

NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
CALL = ("memory_delete", {"tenant_id": "t", "project_id": "p", "agent_id": "a", "note_id": "0" * 32})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def api_that_raises(error: ServiceError) -> Application:
    async def handle(_: BaseModel) -> BaseModel:
        raise error

    handlers = {o.DELETE_NOTE.name: for_anyone(handle)}
    return create_app([o.DELETE_NOTE], handlers, readiness=lambda: Readiness(ready=True, parts=[]))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidRequest("$.note_id: is odd", fields=["$.note_id"]), "INVALID_REQUEST"),
        (ScopeDenied("the scope is read only"), "SCOPE_DENIED"),
        (NotFound("there is no such note"), "NOT_FOUND"),
        (PayloadTooLarge("too much"), "PAYLOAD_TOO_LARGE"),
        (NonEnglishInput("CJK", fields=["$.text"]), "NON_ENGLISH_INPUT"),
        (DatabaseUnavailable("Postgres is away"), "UNAVAILABLE"),
    ],
)
async def test_a_failure_of_the_api_is_told_word_for_word(error: ServiceError, code: str) -> None:
    async with in_process(client_of_app(api_that_raises(error))) as client:
        body = failure(await client.call_tool(*CALL))
    assert body == {"error_code": code, "message": error.message, "fields": list(error.fields) or None}


async def test_an_internal_error_shows_no_more_than_the_api_does() -> None:
    async with in_process(client_of_app(api_that_raises(InternalError("the secret detail")))) as client:
        body = failure(await client.call_tool(*CALL))
    assert body["error_code"] == "INTERNAL_ERROR"
    assert "secret" not in body["message"]


async def test_when_nothing_listens_a_call_says_where_it_looked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
    async with in_process(client_of_address(address)) as client:
        assert (await client.list_tools()).tools
        body = failure(await client.call_tool(*CALL))
    assert body["error_code"] == "UNAVAILABLE"
    assert f"http://{address}" in body["message"]


@pytest.mark.parametrize("content", [b"<html>Bad gateway</html>", b"[]", b""])
async def test_what_answers_but_is_not_elf_is_named(content: bytes) -> None:
    async def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(502, content=content)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://proxy")
    async with in_process(http) as client:
        body = failure(await client.call_tool(*CALL))
    assert body["error_code"] == "INTERNAL_ERROR"
    assert "http://proxy is not ELF (HTTP 502)" in body["message"]


@pytest.mark.parametrize(
    "body", [{"k": [0] * (MAX_ANSWER_VALUES + 1)}, {"k": "x" * MAX_ANSWER_BYTES}], ids=["values", "bytes"]
)
async def test_an_answer_that_is_too_large_for_a_tool_says_what_to_do(body: dict[str, Any]) -> None:
    async def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=body)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://elf")
    async with in_process(http) as client:
        refused = failure(await client.call_tool(*CALL))
    assert refused["error_code"] == "PAYLOAD_TOO_LARGE"
    assert "ask for fewer items" in refused["message"]


async def test_arguments_travel_as_they_are() -> None:
    sent: list[httpx.Request] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(404, json={"error_code": "NOT_FOUND", "message": "no", "fields": None})

    odd: dict[str, Any] = {"note_id": NOTE_ID.upper(), "tenant_id": "Zoë & co", "agent_id": "a\ud800"}
    http = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://elf")
    async with in_process(http) as client:
        await client.call_tool("memory_get", odd)
    (request,) = sent
    assert request.url.path == f"/v1/memory/notes/{NOTE_ID}"
    assert request.url.params["tenant_id"] == "Zoë & co"


@pytest.mark.parametrize(
    "odd",
    [
        f"{NOTE_ID}/history",
        f"{NOTE_ID}%2Fhistory",
        f"../list?tenant_id=t#{NOTE_ID}",
        "..",
        "a\ud800",
        5,
        [NOTE_ID],
    ],
)
async def test_no_argument_leads_to_another_endpoint(odd: Any) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"asked for {request.url}")

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://elf")
    async with in_process(http) as client:
        body = failure(await client.call_tool("memory_get", {"note_id": odd}))
    assert (body["error_code"], body["fields"]) == ("INVALID_REQUEST", ["$.note_id"])


def test_every_argument_that_stands_in_a_path_is_an_id() -> None:
    operations = [text.operation for text in TOOLS]
    fields = {op.request.model_fields[name].annotation for op in operations for name in op.path_parameters}
    assert fields == {UUID}
