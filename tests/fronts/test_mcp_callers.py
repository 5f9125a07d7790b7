"""Who speaks MCP, from the headers of a request, or a config at standard input, to the API: each checks who it is."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from werkzeug.datastructures import Headers

from actors.fronts.connections import Connections
from actors.fronts.http_front import bind, bound_address
from actors.fronts.mcp_front import McpFront
from actors.processes import mcp_process
from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.config import Config
from elf.config.places import Address
from elf.core.api_key import hash_of, new_key
from elf.core.errors import NotFound, Unauthorized
from elf.families.notes.api import operations
from elf.families.notes.manifest import NOTES
from elf.mcp.api import client_of_app
from elf.mcp.callers import Callers
from elf.mcp.sessions import memory_server
from elf.web.app import create_app
from elf.web.application import Application
from elf.web.readiness import Readiness
from tests.fronts.mcp_kit import MODES, config_with, failure, read
from tests.keys_kit import with_keys
from tests.system.service import write_config

pytestmark = pytest.mark.anyio

KEY = new_key()
BOUND = {"tenant_id": "acme", "agent_id": "bot", "read_profile": "private_only"}
NOTE_ID = "00000000-0000-4000-8000-000000000000"
PATIENCE_S = 30.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def by_key(headers: Headers) -> Caller:
    """Know one key, which binds, and one user, who has to say a project."""
    if headers.get("X-API-Key"):
        if headers["X-API-Key"] != KEY:
            raise Unauthorized("the key in X-API-Key is not listed")
        return Caller(client="bot", user=headers.get("X-User-ID"), bound=BOUND)
    if headers.get("Authorization") == "Bearer ana's":
        return Caller(user="ana", bound={"tenant_id": "acme"}, needed=frozenset({"project_id", "agent_id"}))
    raise Unauthorized("say who calls")


class Api:
    """The API of notes with no memory behind it: it says who asked, and for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[Caller, Any]] = []
        handlers = {operation.name: self._handler(operation) for operation in operations.OPERATIONS}
        ready = Readiness(ready=True, parts=[], process=None, warnings=[])
        self.app: Application = create_app(
            operations.OPERATIONS, handlers, readiness=lambda: ready, identify=by_key
        )

    def connect(self) -> httpx.AsyncClient:
        return client_of_app(self.app)

    def _handler(self, operation: Operation) -> Handler:
        async def handle(request: Any, caller: Caller) -> Any:
            self.asked.append((caller, request))
            if operation is not operations.LIST_NOTES:
                raise NotFound("there is nothing here")
            assert operation.response is not None
            return operation.response(items=[], next_cursor=None)

        return handle


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with bind(Address("127.0.0.1", 0), key="service.mcp_bind") as sock:
        yield sock


def required(**context: str) -> Config:
    """A config that requires a key and has no defaults, so that an agent says whatever nothing else does."""
    config = config_with({}, **context)
    tables = config.model_dump()
    keys = [{"name": "bot", "hash": hash_of(KEY), **BOUND}]
    tables["security"]["auth"] = {"mode": "required", "keys": keys}
    return type(config).model_validate(tables)


@asynccontextmanager
async def serving(api: Api, sock: socket.socket, config: Config) -> AsyncIterator[str]:
    front = McpFront(
        config,
        sock,
        families=[NOTES],
        identify=by_key,
        connect=api.connect,
        connections=Connections(McpFront.name, 100),
    )
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(lambda task_status: front.run(task_status=task_status))
            yield f"http://{bound_address(sock)}/mcp"
            group.cancel_scope.cancel()


@asynccontextmanager
async def client_with(url: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(headers=named) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def schemas(client: Client) -> Mapping[str, Mapping[str, Any]]:
    return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}


async def check_bound(client: Client, api: Api) -> None:
    """A bound caller sees no field that it cannot choose, and the API knows who it is and fills them in."""
    shown = await schemas(client)
    assert all(not BOUND.keys() & schema["properties"].keys() for schema in shown.values())
    assert shown["memory_list"]["required"] == ["project_id"]
    assert client.instructions is not None
    assert "tenant_id" not in client.instructions
    assert "project_id" in client.instructions

    assert read(await client.call_tool("memory_list", {"project_id": "p"}))["items"] == []
    caller, request = api.asked[-1]
    assert caller.client == "bot"
    assert (request.tenant_id, request.agent_id, request.project_id) == ("acme", "bot", "p")
    same = {"project_id": "p", "tenant_id": "acme"}
    assert read(await client.call_tool("memory_list", same))["items"] == []

    asked = len(api.asked)
    for name in BOUND:
        body = failure(await client.call_tool("memory_list", {"project_id": "p", name: "other"}))
        assert (body["error_code"], body["fields"]) == ("SCOPE_DENIED", [f"$.{name}"])
    assert len(api.asked) == asked


@pytest.mark.parametrize("mode", MODES)
async def test_a_bound_key_over_http(api: Api, sock: socket.socket, mode: str) -> None:
    async with serving(api, sock, required()) as url:
        async with client_with(url, mode, x_api_key=KEY, x_user_id="ana") as client:
            await check_bound(client, api)
        assert api.asked[-1][0].user == "ana"


async def test_each_caller_sees_tools_of_its_own(api: Api, sock: socket.socket) -> None:
    async with serving(api, sock, required()) as url:
        for _ in range(2):
            async with client_with(url, x_api_key=KEY) as client:
                assert (await schemas(client))["memory_get"]["required"] == ["note_id"]
            async with client_with(url, authorization="Bearer ana's") as client:
                shown = await schemas(client)
                assert shown["memory_get"]["required"] == ["note_id", "agent_id", "project_id"]
                assert "tenant_id" not in shown["memory_get"]["properties"]
                body = failure(await client.call_tool("memory_get", {"note_id": NOTE_ID}))
                assert (body["error_code"], body["fields"]) == (
                    "INVALID_REQUEST",
                    ["$.agent_id", "$.project_id"],
                )


async def test_whoever_does_not_prove_it_is_not_served(api: Api, sock: socket.socket) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with serving(api, sock, required()) as url, httpx.AsyncClient() as http:
        for headers, said in (
            ({}, "say who calls"),
            ({"X-API-Key": "elf_wrong"}, "the key in X-API-Key is not listed"),
            (
                {"X-API-Key": "elf_wrong", "Authorization": "Bearer ana's"},
                "the key in X-API-Key is not listed",
            ),
        ):
            response = await http.post(url, json=ping, headers=headers)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
            assert response.json()["error"]["message"] == said
            assert "elf_wrong" not in response.text
        assert (await http.get(url.replace("/mcp", "/health"))).status_code == 200
    assert api.asked == []


async def test_what_the_config_fixes_and_a_key_binds_otherwise_is_refused_by_the_api(
    api: Api, sock: socket.socket
) -> None:
    async with (
        serving(api, sock, required(tenant_id="other", project_id="p")) as url,
        client_with(url, x_api_key=KEY) as client,
    ):
        body = failure(await client.call_tool("memory_list", {}))
        assert (body["error_code"], body["fields"]) == ("SCOPE_DENIED", ["$.tenant_id"])
    assert api.asked == []


# Standard input and output


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "bot.key"
    file.write_text(KEY)
    file.chmod(0o600)
    return file


async def test_a_bound_key_of_a_file_at_standard_input(api: Api, key_file: Path) -> None:
    config = required(key_file=str(key_file), user="ana")
    by = await Callers(config, by_key).of_config(source="elf.toml")
    async with api.connect() as http, Client(memory_server(config, http, NOTES, by=by)) as client:
        await check_bound(client, api)
    assert api.asked[-1][0].user == "ana"


@pytest.fixture
def config_file(tmp_path: Path) -> Callable[[str], Path]:
    """Write a config that names this key file, and requires a key."""

    def written(name: str) -> Path:
        file = write_config(tmp_path, http_bind='"127.0.0.1:1"', key_file=f'"{name}"')
        file.write_text(with_keys(file.read_text(), {"key": KEY}))
        return file

    return written


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("", None, "is missing"),
        ("none.key", None, "cannot be read: No such file or directory"),
        ("empty.key", " \n", "is empty"),
    ],
)
def test_without_a_key_the_process_says_so_and_ends(
    config_file: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | None,
    problem: str,
) -> None:
    # What is the whole process's to set stays as the tests have it.
    monkeypatch.setattr(mcp_process, "start_log", lambda *_, **__: None)
    monkeypatch.setattr(mcp_process.signal, "signal", lambda *_: None)
    config = config_file(name)
    if content is not None:
        (config.parent / name).write_text(content)
        (config.parent / name).chmod(0o600)
    assert mcp_process.main(["-c", str(config), "--stdio"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mcp.context.key_file: " in captured.err
    assert problem in captured.err
    assert "Traceback" not in captured.err
