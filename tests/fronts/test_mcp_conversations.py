"""The tools of conversations, by the official client: over HTTP, and over standard input and output."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from elf.client import Client as ElfClient
from elf.core.api_key import new_key
from elf.families.conversations.manifest import CONVERSATIONS
from elf.mcp.api import client_of_address
from elf.mcp.sessions import memory_server
from tests.folders import fresh_folder
from tests.fronts.mcp_kit import address_of, config_with, elf_mcp, read, text_of
from tests.keys_kit import with_keys
from tests.system.service import REPO, RunningService, write_config

pytestmark = pytest.mark.anyio

ACTING, ALONE = new_key(), new_key()
TOOLS = {"conversation_list", "conversation_context", "conversation_search"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


@pytest.fixture
def talk(service: RunningService, ana: str) -> str:
    """A conversation of ana, of which her bot remembers something."""
    with ElfClient(service.url, token=ana, headers={"X-Client-ID": "bot"}) as client:
        said = [{"role": "AI", "text": "The ferry leaves at nine."}]
        id = client.conversations.append(
            uuid4(), said, channel="history", indexed_content="the ferry"
        ).conversation_id
        client.conversations.sync(id, [{"gist": "ferry at nine"}])
    return str(id)


@asynccontextmanager
async def over_http(service: RunningService, **headers: str) -> AsyncIterator[Client]:
    """A client of the service's own front."""
    url = service.mcp_url.removesuffix("/mcp") + CONVERSATIONS.mcp_path
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(headers=named) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(
    service: RunningService, folder: Path, *, user: str, client: str, key_file: str = '""'
) -> AsyncIterator[Client]:
    """A client of a process of its own, whose config fixes who calls."""
    config = write_config(
        folder,
        http_bind=f'"{address_of(service)}"',
        user=f'"{user}"',
        client=f'"{client}"',
        key_file=key_file,
    )
    command, *arguments = elf_mcp("-c", str(config), "--stdio", "--family", "conversations")
    async with Client(StdioServerParameters(command=command, args=arguments, cwd=REPO)) as process:
        yield process


def refusal(result: CallToolResult) -> dict[str, Any]:
    """The body of a call that failed, as this family tells it."""
    assert result.is_error
    body: dict[str, Any] = json.loads(text_of(result))
    return body


async def call_all(client: Client, talk: str) -> None:
    """Call every tool as ana's bot, as a model does that goes by what it has read."""
    assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
    listed = read(await client.call_tool("conversation_list", {"query": "ferry"}))
    assert [one["id"] for one in listed["data"]] == [talk]
    found = read(await client.call_tool("conversation_search", {"query": "ferry", "searchType": "fulltext"}))
    assert [one["conversationId"] for one in found["data"]] == [talk]
    assert found["nextCursor"] is None
    context = read(await client.call_tool("conversation_context", {"conversationId": talk}))
    assert (context["source"], context["truncated"]) == ("memory", False)
    assert [one["content"] for one in context["entries"]] == [[{"gist": "ferry at nine"}]]


async def test_every_tool_is_called_over_http(service: RunningService, ana: str, talk: str) -> None:
    async with over_http(service, authorization=f"Bearer {ana}", x_client_id="bot") as client:
        await call_all(client, talk)


async def test_every_tool_is_called_over_stdio_as_whom_the_config_names(
    service: RunningService, tmp_path: Path, ana: str, talk: str
) -> None:
    async with over_stdio(service, tmp_path, user=ana, client="bot") as client:
        await call_all(client, talk)


async def test_another_user_finds_nothing_of_it_over_stdio(
    service: RunningService, tmp_path: Path, talk: str
) -> None:
    async with over_stdio(service, tmp_path, user=f"bob-{uuid4()}", client="bot") as client:
        assert read(await client.call_tool("conversation_list", {}))["data"] == []
        assert read(await client.call_tool("conversation_search", {"query": "ferry"}))["data"] == []
        told = refusal(await client.call_tool("conversation_context", {"conversationId": talk}))
    assert (told["code"], told["details"]["message"]) == (
        "forbidden",
        "you are no member of this conversation",
    )


@pytest.mark.parametrize("name", ["user", "userId", "client", "X-User-ID"])
async def test_nobody_else_can_be_named_in_a_call(
    service: RunningService, ana: str, talk: str, name: str
) -> None:
    async with over_http(service, authorization="Bearer bob") as client:
        for tool, arguments in (
            ("conversation_list", {}),
            ("conversation_context", {"conversationId": talk}),
        ):
            told = refusal(await client.call_tool(tool, {**arguments, name: ana}))
            assert told["code"] == "validation_error"
            assert [one["field"] for one in told["details"]["violations"]] == [name]


async def test_without_a_memory_the_history_is_the_context(
    service: RunningService, ana: str, talk: str
) -> None:
    async with over_http(service, authorization=f"Bearer {ana}", x_client_id="other") as client:
        context = read(
            await client.call_tool("conversation_context", {"conversationId": talk, "maxChars": 10})
        )
    assert (context["source"], [one["channel"] for one in context["entries"]]) == ("history", ["history"])


async def test_what_is_wrong_is_told_with_its_argument(service: RunningService, ana: str) -> None:
    async with over_http(service, authorization=f"Bearer {ana}") as client:
        told = refusal(await client.call_tool("conversation_search", {"query": " "}))
        assert [one["field"] for one in told["details"]["violations"]] == ["query"]
        gone = refusal(await client.call_tool("conversation_context", {"conversationId": str(uuid4())}))
    assert gone["code"] == "not_found"


async def test_what_is_asked_for_has_bounds_and_defaults_that_a_model_sees(service: RunningService) -> None:
    async with client_of_address(address_of(service)) as http, Client(
        memory_server(config_with(), http, CONVERSATIONS)
    ) as client:  # fmt: skip
        shown: dict[str, Any] = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert "conversation_context" in str(client.instructions)
    assert {name: schema["required"] for name, schema in shown.items()} == {
        "conversation_list": [], "conversation_context": ["conversationId"], "conversation_search": ["query"],
    }  # fmt: skip
    assert shown["conversation_search"]["properties"]["searchType"]["enum"] == [
        "auto",
        "semantic",
        "fulltext",
    ]
    assert shown["conversation_context"]["properties"]["maxChars"]["default"] == 40_000
    described = {
        name for schema in shown.values() for name, one in schema["properties"].items() if one["description"]
    }
    assert described == {name for schema in shown.values() for name in schema["properties"]}


@pytest.fixture(scope="module")
def guarded(model_folder: Path) -> Iterator[RunningService]:
    """A service whose clients have to prove who they are: one may act for users, the other for nobody."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        keys = {"key": ACTING, "name": "bot", "acts_for_users": True}, {"key": ALONE, "name": "lonely"}
        config.write_text(with_keys(config.read_text(encoding="utf-8"), *keys), encoding="utf-8")
        with RunningService(config) as service:
            yield service


@asynccontextmanager
async def by_key(service: RunningService, folder: Path, key: str, *, user: str) -> AsyncIterator[Client]:
    """A client over standard input and output that has a key in a file, and a user that the config names."""
    (folder / "bot.key").write_text(key, encoding="utf-8")
    (folder / "bot.key").chmod(0o600)
    async with over_stdio(service, folder, user=user, client="", key_file='"bot.key"') as client:
        yield client


async def test_a_key_over_stdio_acts_for_the_user_that_the_config_fixes(
    guarded: RunningService, tmp_path: Path, ana: str
) -> None:
    with ElfClient(guarded.url, api_key=ACTING, for_user=ana) as client:
        talk = client.conversations.create(title="The ferry").id
        client.conversations.sync(talk, ["ferry at nine"])
    async with by_key(guarded, tmp_path, ACTING, user=ana) as process:
        context = read(await process.call_tool("conversation_context", {"conversationId": str(talk)}))
    assert (context["source"], [one["content"] for one in context["entries"]]) == (
        "memory",
        [["ferry at nine"]],
    )


async def test_a_key_alone_over_stdio_is_told_how_to_say_for_whom(
    guarded: RunningService, tmp_path: Path
) -> None:
    async with by_key(guarded, tmp_path, ALONE, user="") as process:
        told = refusal(await process.call_tool("conversation_list", {}))
    assert told["code"] == "unauthorized"
    assert "by a key that has a user" in told["details"]["message"]
