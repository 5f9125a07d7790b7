"""MCP as agents speak it: the official client, over each way to the tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from elf.config import Config, load
from elf.config.places import Address, parse_address
from elf.families.notes.manifest import NOTES
from elf.mcp.api import client_of_address
from elf.mcp.sessions import memory_server
from tests.system.fork_server import fork_server
from tests.system.service import REPO, RunningService

MODES = ("auto", "legacy")  # each request by itself, and with the handshake of older clients
NAMES = {
    "memory_add_note", "memory_add_event", "memory_search", "memory_search_explain",
    "memory_list", "memory_get", "memory_update", "memory_delete",
}  # fmt: skip


def elf_mcp(*arguments: str) -> list[str]:
    """The command line of the process `elf-mcp`."""
    return fork_server().command("elf.commands:elf_mcp", *arguments)


def over_stdio(config: Path) -> Client:
    command, *arguments = elf_mcp("-c", str(config), "--stdio", "--family", "notes")
    return Client(StdioServerParameters(command=command, args=arguments, cwd=REPO))


@asynccontextmanager
async def in_process(
    http: httpx.AsyncClient, *, defaults: Mapping[str, str] | None = None, **context: str
) -> AsyncIterator[Client]:
    """A client of a server in this process whose tools ask the API behind `http`, with a fixed context.

    `defaults` are those of the config, without it the example's.
    """
    async with http, Client(memory_server(config_with(defaults, **context), http, NOTES)) as client:
        yield client


def within(
    service: RunningService, *, defaults: Mapping[str, str] | None = None, **context: str
) -> AbstractAsyncContextManager[Client]:
    """The same, asking the running service."""
    return in_process(client_of_address(address_of(service)), defaults=defaults, **context)


def address_of(service: RunningService) -> Address:
    return parse_address(service.url.removeprefix("http://"))


def config_with(defaults: Mapping[str, str] | None = None, **context: str) -> Config:
    config = load(REPO / "elf.example.toml")
    tables = config.model_dump() | {"mcp": {"context": context}}
    return type(config).model_validate(tables if defaults is None else tables | {"defaults": defaults})


def text_of(result: CallToolResult) -> str:
    """The one text that every result has."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def read(result: CallToolResult) -> dict[str, Any]:
    """The body of a call that was served. It comes once, as text: a model may be shown both forms, or either."""
    text = text_of(result)
    assert not result.is_error, text
    assert result.structured_content is None
    body: dict[str, Any] = json.loads(text)
    return body


def failure(result: CallToolResult) -> dict[str, Any]:
    """The error body of a call that was not."""
    assert result.is_error
    assert result.structured_content is None
    body: dict[str, Any] = json.loads(text_of(result))
    assert set(body) == {"error_code", "message", "fields"}
    return body


def context(tenant: str) -> dict[str, Any]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}


async def add_one(client: Client, text: str, *, place: Mapping[str, Any]) -> str:
    """Add one note that the project shares and return its id."""
    return await add_note(client, {**place, "scope": "project_shared", "text": text})


async def add_note(client: Client, arguments: dict[str, Any]) -> str:
    """Store a new note with these arguments and return its id."""
    (result,) = read(await client.call_tool("memory_add_note", arguments))["results"]
    assert result["op"] == "ADD"
    return str(result["note_id"])
