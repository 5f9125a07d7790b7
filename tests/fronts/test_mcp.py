"""The official MCP client at the running service, over HTTP and over standard input and output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from mcp import Client, MCPError

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
    within,
)
from tests.system.service import RunningService, note, wait_for, write_config

pytestmark = pytest.mark.anyio

NOWHERE = "00000000-0000-4000-8000-000000000000"
RED_PANDA = "The office mascot is a red panda."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call_every_tool(client: Client, service: RunningService, tenant: str) -> None:
    """A note's life by way of the tools; the client itself holds each answer against the tool's output schema."""
    place = context(tenant)
    note_id = await add_one(client, RED_PANDA, place=place)

    question = "Which animal is the mascot?"
    service.wait_found(tenant, question, note_id)

    asked = place | {"read_profile": "all_scopes", "query": question, "top_k": 3}
    (item,) = read(await client.call_tool("memory_search", asked))["items"]
    assert (item["note_id"], item["snippet"]) == (note_id, RED_PANDA)
    handle = {"result_handle": item["result_handle"], "tenant_id": tenant}
    explain = "/v1/memory/search/explain"
    wait_for(lambda: service.client.get(explain, params=handle).is_success, "the search is traced")
    assert read(await client.call_tool("memory_search_explain", handle))["item"]["note_id"] == note_id

    listed = read(await client.call_tool("memory_list", {"tenant_id": tenant, "project_id": "p", "limit": 5}))
    assert [item["note_id"] for item in listed["items"]] == [note_id]
    changed = place | {"note_id": note_id, "importance": 0.75}
    assert read(await client.call_tool("memory_update", changed))["op"] == "UPDATE"
    assert read(await client.call_tool("memory_get", {"note_id": note_id}))["importance"] == 0.75
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
        assert all(name in client.instructions for name in ("memory_search", "memory_add_note", "tenant_id"))
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


async def test_schemas_are_whole_and_say_of_every_argument_what_it_means(service: RunningService) -> None:
    async with Client(service.mcp_url) as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.output_schema is not None
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "$ref" not in json.dumps(schema)
            assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
            undescribed = [name for name, part in schema["properties"].items() if not part.get("description")]
            assert undescribed == [], tool.name
    by_name = {tool.name: tool.input_schema for tool in tools}
    text = by_name["memory_add_note"]["properties"]["notes"]["items"]["properties"]["text"]
    assert "240 characters" in text["description"]
    assert "private_plus_project" in by_name["memory_search"]["properties"]["read_profile"]["description"]


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
        assert read(await client.call_tool("memory_list", nulls))["items"] == []


async def test_a_tool_that_does_not_exist_is_a_protocol_error(service: RunningService) -> None:
    async with Client(service.mcp_url) as client:
        with pytest.raises(MCPError, match="memory_forget"):
            await client.call_tool("memory_forget", {})


async def test_a_fixed_context_is_filled_in_and_cannot_be_chosen(
    service: RunningService, tenant: str
) -> None:
    fixed = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "read_profile": "private_plus_project"}
    async with within(service, **fixed) as client:
        for tool in (await client.list_tools()).tools:
            assert not fixed.keys() & tool.input_schema["properties"].keys()
            assert not fixed.keys() & set(tool.input_schema["required"])
        assert client.instructions is not None
        assert "tenant_id" not in client.instructions

        note_id = await add_one(client, RED_PANDA, place={})
        mine = read(await client.call_tool("memory_get", {"note_id": note_id}))
        assert {name: mine[name] for name in ("tenant_id", "project_id", "agent_id")} == context(tenant)
        assert not (await client.call_tool("memory_search", {"query": "the mascot"})).is_error

        for name, value in fixed.items():
            body = failure(await client.call_tool("memory_search", {"query": "the mascot", name: value}))
            assert (body["error_code"], body["fields"]) == ("INVALID_REQUEST", [f"$.{name}"])


async def test_a_fixed_context_hides_the_notes_of_others(service: RunningService, tenant: str) -> None:
    (theirs,) = service.add(f"{tenant}2"[-128:], note("The office mascot is a penguin."))
    (private,) = service.add(tenant, note("I hide the biscuits."), agent_id="b", scope="agent_private")
    async with within(service, tenant_id=tenant, project_id="p", agent_id="a") as client:
        for note_id in (theirs["note_id"], private["note_id"]):
            body = failure(await client.call_tool("memory_get", {"note_id": note_id}))
            assert body["error_code"] == "NOT_FOUND"
        assert read(await client.call_tool("memory_list", {"scope": "agent_private"}))["items"] == []


async def test_what_is_not_fixed_the_agent_says(service: RunningService, tenant: str) -> None:
    async with within(service, tenant_id=tenant) as client:
        body = failure(await client.call_tool("memory_list", {}))
        assert body["fields"] == ["$.project_id"]
        assert read(await client.call_tool("memory_list", {"project_id": "p"}))["items"] == []


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
