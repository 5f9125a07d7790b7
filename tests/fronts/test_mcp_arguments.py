"""What the schema of a tool allows is done, or refused for a reason and at an argument that the agent can see."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import anyio
import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp import Client

from elf.api.tool import Tool
from elf.families.notes.api.tools import TOOLS
from elf.mcp.api import Api, client_of_address, client_of_app
from elf.mcp.callers import NOBODY
from elf.mcp.sessions import memory_server
from elf.mcp.toolbox import Toolbox
from elf.memory.manifest import MEMORY
from tests.fronts.mcp_kit import NAMES, address_of, config_with, failure, read, within
from tests.system.service import RunningService

EXAMPLES = 12
REASONS = {"INVALID_REQUEST", "NON_ENGLISH_INPUT", "NOT_FOUND", "SCOPE_DENIED"}
SOME_ID = "00000000-0000-4000-8000-000000000000"
WORDS = st.sampled_from(["The kettle is blue.", "blue_kettle", SOME_ID, "", " ", "好き"])


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """What a schema allows, as far as those of tools go."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "type" not in schema:  # any JSON
        return st.none() | WORDS | st.integers(-1, 101) | st.lists(WORDS, max_size=2)
    match schema["type"]:
        case "string":
            return WORDS | st.text(max_size=20)
        case "number":
            return st.sampled_from([0, 0.5, 1, -1, 30, 1e300])
        case "integer":
            return st.integers(-1, 101)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
    parts = {name: values(part) for name, part in schema.get("properties", {}).items()}
    if not parts:
        return st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=2)
    required = {name: parts.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(required, optional=parts)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_what_a_schema_allows_is_done_or_refused_at_an_argument(
    service: RunningService, tenant: str, name: str
) -> None:
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    schema = Toolbox(config_with(**place), Api(client_of_app(None)), TOOLS).input_schema(name)
    assert schema is not None
    asked = 0
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(within(service, **place)) as client,
    ):

        @seed(1)
        @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
        @given(values(schema))
        def ask(arguments: dict[str, Any]) -> None:
            nonlocal asked
            asked += 1
            Draft202012Validator(schema).validate(arguments)
            result = portal.call(client.call_tool, name, arguments)
            if result.is_error:
                body = failure(result)
                assert body["error_code"] in REASONS, body
                at = {re.split(r"[.\[]", path)[1] for path in body["fields"] if path != "$"}
                assert at <= schema["properties"].keys(), body

        ask()
    assert asked >= EXAMPLES


FAMILIES = ("assistant", "conversations", "graph", "knowledge", "notes")
EVERY_TOOL: Sequence[Tool] = (
    *MEMORY.tools,
    *(tool for family in FAMILIES for tool in import_module(f"elf.families.{family}.api.tools").TOOLS),
)


def requests_of(tool: Tool, *calls: dict[str, Any]) -> list[tuple[str, bytes]]:
    """What the API is asked by calls of a tool."""
    asked: list[tuple[str, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((str(request.url), request.content))
        return httpx.Response(200, json={})

    async def call() -> None:
        async with httpx.AsyncClient(
            base_url="http://elf.invalid", transport=httpx.MockTransport(answer)
        ) as http:
            toolbox = Toolbox(config_with(), Api(http), [tool])
            for arguments in calls:
                await toolbox.call(tool.name, arguments, NOBODY)

    anyio.run(call)
    return asked


def as_text(value: Any) -> Any:
    """A value as a model may write it: arrays, objects, numbers and booleans as the text that is JSON for them."""
    return value if isinstance(value, str) else json.dumps(value)


def is_free(schema: dict[str, Any]) -> bool:
    return not schema.keys() & {"type", "enum"}


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)
def test_null_is_left_out_and_json_that_is_written_as_text_is_read(tool: Tool) -> None:
    schema = Toolbox(config_with(), Api(client_of_app(None)), [tool]).input_schema(tool.name)
    assert schema is not None
    parts = schema["properties"]
    asked = 0

    @seed(1)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
    @given(values(schema))
    def ask(arguments: dict[str, Any]) -> None:
        nonlocal asked
        arguments = {name: value for name, value in arguments.items() if not is_free(parts[name])}
        arguments |= dict.fromkeys(parts.keys() & {*tool.operation.path_parameters}, SOME_ID)
        nulls = dict.fromkeys(parts.keys() - arguments.keys() - set(schema["required"]))
        written = {name: as_text(value) for name, value in arguments.items()}
        plain, *others = requests_of(tool, arguments, {**nulls, **arguments}, written) or [None]
        assert all(other == plain for other in others)
        asked += plain is not None

    ask()
    assert asked > 0


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_tools_of_the_memory_take_nulls_and_texts(service: RunningService, tenant: str) -> None:
    messages = [{"role": "user", "content": "I live in Porto."}, {"role": "user", "content": "[1, 2]"}]
    async with client_of_address(address_of(service)) as http:
        server = memory_server(config_with(tenant_id=tenant, user="ana"), http, MEMORY)
        async with Client(server) as client:
            for dry_run in ("true", True):
                arguments = {"messages": json.dumps(messages), "dry_run": dry_run, "wait_ms": "5000"}
                shown = read(await client.call_tool("remember", arguments))
                assert {one["state"] for one in shown["families"]} == {"shown", "refused"}
            arguments = {"messages": messages, "dry_run": None, "conversation": None, "wait_ms": "30000"}
            done = read(await client.call_tool("remember", arguments))
            assert done["done"]
            for top_k in (None, "5", 5, "5.0"):
                arguments = {
                    "query": "Where do I live?",
                    "top_k": top_k,
                    "since": None,
                    "min_relevance": "0.1",
                }
                found = read(await client.call_tool("recall", arguments))
                texts = [item["text"] for item in found["items"]]
                assert "I live in Porto." in " ".join(texts), (top_k, texts)
            # A text stays one where the schema has text, and what is no JSON of the type is refused by its name.
            for query in ("[1, 2]", "5", "true", "null"):
                read(await client.call_tool("recall", {"query": query}))
            for name, value in (("top_k", "five"), ("top_k", "[5]"), ("top_k", ""), ("min_relevance", "NaN")):
                body = failure(await client.call_tool("recall", {"query": "5", name: value}))
                assert body["fields"] == [f"$.{name}"], value
            body = failure(await client.call_tool("remember", {"messages": "I live in Porto."}))
            assert body["fields"] == ["$.messages"]
