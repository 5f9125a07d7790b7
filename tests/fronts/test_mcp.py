"""The official MCP client at the running service, over HTTP and over standard input and output."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters

from elf.config.model import NOTE_TYPES
from ops.bench.mcp_sizes import NOTES, QUESTION, store, wire
from tests.fronts.mcp_kit import (
    MODES,
    NAMES,
    add_one,
    address_of,
    context,
    failure,
    over_stdio,
    read,
    text_of,
)
from tests.system.fork_server import run_elf
from tests.system.service import RunningService, wait_for, write_config

pytestmark = pytest.mark.anyio

IDS = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}
NOWHERE = "00000000-0000-4000-8000-000000000000"
RED_PANDA = "The office mascot is a red panda."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call_every_tool(client: Client, service: RunningService, tenant: str) -> None:
    """A note's life by way of the tools, with no more arguments than they need."""
    place = context(tenant)
    note_id = await add_one(client, RED_PANDA, place=place)

    question = "Which animal is the mascot?"
    service.wait_found(tenant, question, note_id)

    found = read(await client.call_tool("memory_search", place | {"query": question, "top_k": 3}))
    today = service.client.get(f"/v1/memory/notes/{note_id}").json()["updated_at"][:10]
    assert found.keys() == {"trace_id", "items"}
    assert found["items"] == [{"note_id": note_id, "text": RED_PANDA, "type": "fact", "updated": today}]
    traced = {"trace_id": found["trace_id"], **place}
    path = f"/v1/memory/search/traces/{found['trace_id']}"
    wait_for(lambda: service.client.get(path, params=place).is_success, "the search is traced")
    explained = read(await client.call_tool("memory_search_explain", traced))
    (item,) = explained["items"]
    assert item["relevance"] > 0.45
    elsewhere = place | {"query": "Which chess opening won the tournament?"}
    assert read(await client.call_tool("memory_search", elsewhere))["weak_match"] is True
    assert (item["rank"], item["note_id"]) == (1, note_id)
    assert sum(item["terms"].values()) == pytest.approx(item["score"], abs=1e-3)
    assert (explained["dropped"], explained["dropped_count"]) == ([], 0)

    listed = read(await client.call_tool("memory_list", {**place, "limit": 5}))
    assert listed == {"items": found["items"]}
    changed = place | {"note_id": note_id, "importance": 0.75}
    assert read(await client.call_tool("memory_update", changed))["op"] == "UPDATE"
    assert read(await client.call_tool("memory_get", place | {"note_id": note_id}))["importance"] == 0.75
    assert read(await client.call_tool("memory_delete", place | {"note_id": note_id}))["op"] == "DELETE"

    messages = [{"role": "user", "content": "I prefer answers in English."}]
    event = place | {"dry_run": True, "messages": messages}
    extracted = read(await client.call_tool("memory_add_event", event))
    assert [result["op"] for result in extracted["results"]] == ["ADD"]


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_can_be_called_over_http(service: RunningService, tenant: str, mode: str) -> None:
    async with Client(service.mcp_url, mode=mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == NAMES
        await call_every_tool(client, service, tenant)


async def test_every_tool_can_be_called_over_stdio(
    service: RunningService, tenant: str, tmp_path: Path
) -> None:
    config = write_config(tmp_path, http_bind=f'"{address_of(service)}"', log_level='"debug"')
    async with over_stdio(config) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == NAMES
        await call_every_tool(client, service, tenant)


async def test_each_tool_says_what_it_is_and_what_it_may_do(service: RunningService) -> None:
    async with Client(service.mcp_url) as client:
        tools = (await client.list_tools()).tools
        assert client.instructions is not None
        assert all(
            name in client.instructions
            for name in ("memory_search", "memory_add_note", "Leave out tenant_id")
        )
    for tool in tools:
        assert tool.title
        assert tool.description is not None
        assert "Returns" in tool.description
        hints = tool.annotations
        assert hints is not None
        assert hints.title == tool.title
        assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
        assert hints.open_world_hint is False
    reading = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
    assert reading == {"memory_search", "memory_search_explain", "memory_list", "memory_get"}


async def test_schemas_are_whole_and_say_of_every_argument_what_it_may_be(service: RunningService) -> None:
    async with Client(service.mcp_url) as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.output_schema is None  # its structured content would be shown to a model beside the text
        schema = tool.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
        assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
        assert all({"description", "enum", "default"} & part.keys() for part in schema["properties"].values())
    by_name = {tool.name: tool.input_schema["properties"] for tool in tools}
    add, search = by_name["memory_add_note"], by_name["memory_search"]
    assert "240 characters" in add["text"]["description"]
    assert add["type"]["enum"] == list(NOTE_TYPES)
    defaults = {name: part["default"] for name, part in add.items() if "default" in part}
    assert defaults == IDS | {"type": "fact", "importance": 0.5, "confidence": 0.8, "scope": "agent_private"}
    assert add["scope"]["enum"] == ["agent_private", "project_shared", "org_shared"]
    assert search["read_profile"]["enum"] == ["private_only", "private_plus_project", "all_scopes"]
    assert "private_plus_project: agent_private, project_shared;" in search["read_profile"]["description"]
    assert {tool.name: tool.input_schema["required"] for tool in tools if tool.input_schema["required"]} == {
        "memory_add_event": ["messages"],
        "memory_search": ["query"],
        "memory_search_explain": ["trace_id"],
        "memory_get": ["note_id"],
        "memory_update": ["note_id"],
        "memory_delete": ["note_id"],
    }


async def test_the_tools_and_an_answer_of_twelve_notes_take_little_of_a_context(
    service: RunningService,
) -> None:
    """Four times as much would be 44 KB and 22 KB, which is more than some agents have for all their tools."""
    store(service)
    async with Client(service.mcp_url) as client:
        assert len(wire(await client.list_tools())) <= 11_000
        found = await client.call_tool("memory_search", {"query": QUESTION})
        assert len(read(found)["items"]) == len(NOTES) == 12
        assert len(wire(found)) <= 5_500
        assert len(wire(await client.call_tool("memory_list", {}))) <= 5_500
        explained = {"trace_id": read(found)["trace_id"]}
        path = f"/v1/memory/search/traces/{explained['trace_id']}"
        wait_for(lambda: service.client.get(path, params=IDS).is_success, "the search is traced")
        assert len(wire(await client.call_tool("memory_search_explain", explained))) <= 5_500


async def test_a_tool_error_is_the_error_body_of_the_api(service: RunningService, tenant: str) -> None:
    place = context(tenant)
    search = place | {"read_profile": "all_scopes"}
    long = {"role": "user", "content": "many words " * 1000}
    wrong: list[tuple[str, dict[str, Any], str, httpx.Response | None]] = [
        ("memory_search", search, "INVALID_REQUEST", service.post("search", search)),
        (
            "memory_search",
            search | {"query": "好き"},
            "NON_ENGLISH_INPUT",
            service.post("search", search | {"query": "好き"}),
        ),
        (
            "memory_list",
            {"tenant_id": tenant, "project_id": "p", "scope": "nobody's"},
            "SCOPE_DENIED",
            service.client.get(
                "/v1/memory/list", params={"tenant_id": tenant, "project_id": "p", "scope": "nobody's"}
            ),
        ),
        (
            "memory_get",
            {"note_id": NOWHERE},
            "NOT_FOUND",
            service.client.get(f"/v1/memory/notes/{NOWHERE}"),
        ),
        ("memory_add_event", place | {"messages": [long] * 100}, "PAYLOAD_TOO_LARGE", None),
    ]
    async with Client(service.mcp_url) as client:
        for name, arguments, code, of_the_api in wrong:
            result = await client.call_tool(name, arguments)
            assert failure(result)["error_code"] == code
            assert of_the_api is None or text_of(result) == of_the_api.text


async def test_arguments_that_no_request_can_carry_are_the_apis_to_judge(
    service: RunningService, tenant: str
) -> None:
    search = context(tenant) | {"read_profile": "all_scopes"}
    async with Client(service.mcp_url) as client:
        for name, arguments, fields in [
            ("memory_get", {}, ["$.note_id"]),
            ("memory_get", {"note_id": ".."}, ["$.note_id"]),
            ("memory_get", {"note_id": 5}, ["$.note_id"]),
            ("memory_list", {"tenant_id": tenant, "project_id": "p", "limit": "ten"}, ["$.limit"]),
            ("memory_list", {"tenant_id": tenant, "project_id": "p", "colour": "red"}, ["$.colour"]),
            ("memory_search", search | {"query": "tea", "colour": None}, ["$.colour"]),
        ]:
            body = failure(await client.call_tool(name, arguments))
            assert (body["error_code"], body["fields"]) == ("INVALID_REQUEST", fields)
        nulls = {"tenant_id": tenant, "project_id": "p", "agent_id": None, "cursor": None}
        assert read(await client.call_tool("memory_list", nulls)) == {"items": []}


async def test_a_tool_that_does_not_exist_is_a_protocol_error(service: RunningService) -> None:
    async with Client(service.mcp_url) as client:
        with pytest.raises(MCPError, match="memory_forget"):
            await client.call_tool("memory_forget", {})


async def test_what_is_installed_for_a_program_stores_and_the_next_process_finds(
    service: RunningService, tmp_path: Path
) -> None:
    config = write_config(tmp_path, http_bind=f'"{address_of(service)}"')
    server = StdioServerParameters(**installed(config, home=tmp_path), cwd="/")
    text = f"We decided that keeper {tmp_path.name} collects postcards."
    said = {"messages": [{"content": text}], "wait_ms": 30_000}
    async with Client(server) as client:
        told = read(await client.call_tool("remember", said))
        assert told["done"]
    async with Client(server) as client:
        found = read(await client.call_tool("recall", {"query": text}))["items"]
        assert text in found[0]["text"]


def installed(config: Path, *, home: Path) -> dict[str, Any]:
    """The entry that `elf mcp install` writes for a program of this user, whose home is a folder of its own."""
    environment = os.environ | {"HOME": str(home)}
    done = run_elf("mcp", "install", "-c", config, "--client", "cursor", environment=environment)
    assert done.returncode == 0, done.stderr
    entry: dict[str, Any] = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["elf"]
    return entry


def test_the_front_is_a_part_that_ready_shows(service: RunningService) -> None:
    def is_ready() -> bool:
        parts = service.client.get("/ready").json()["parts"]
        return any(part["name"] == "mcp_front" and part["state"] == "ready" for part in parts)

    wait_for(is_ready, "mcp_front is ready")


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "http://elf.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://rebound.example", "host": "rebound.example"}, 421),
        ({"host": "rebound.example"}, 421),
    ],
)
def test_pages_of_other_sites_are_kept_out(
    service: RunningService, headers: dict[str, str], status: int
) -> None:
    answer = httpx.post(service.mcp_url, json=PING, headers=ACCEPT | headers)
    assert answer.status_code == status
    assert ("result" in answer.json()) is (status == 200)


def test_only_posts_at_its_path_are_taken(service: RunningService) -> None:
    streaming = httpx.get(service.mcp_url, headers={"accept": "text/event-stream"})
    assert (streaming.status_code, streaming.headers["allow"]) == (405, "POST")
    base = service.mcp_url.removesuffix("/mcp")
    assert httpx.post(f"{base}/elsewhere", json=PING).status_code == 404
    assert httpx.get(f"{base}/health").json() == {"status": "ok"}
