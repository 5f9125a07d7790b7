"""Whose memory a call of a tool is about: what the config fixes, what it fills in, and what an agent says."""

from __future__ import annotations

import pytest

from tests.fronts.mcp_kit import add_note, add_one, context, failure, read, within
from tests.system.service import RunningService, note

pytestmark = pytest.mark.anyio

RED_PANDA = "The office mascot is a red panda."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
        assert not (await client.call_tool("memory_search", {"query": "the mascot"} | fixed)).is_error
        assert failure(await client.call_tool("memory_list", {"scope": "org_shared"}))["fields"] == [
            "$.scope"
        ]

        for name in fixed:
            body = failure(await client.call_tool("memory_search", {"query": "the mascot", name: "x"}))
            assert (body["error_code"], body["fields"]) == ("SCOPE_DENIED", [f"$.{name}"])


async def test_a_fixed_context_hides_the_notes_of_others(service: RunningService, tenant: str) -> None:
    (theirs,) = service.add(f"{tenant}2"[-128:], note("The office mascot is a penguin."))
    (private,) = service.add(tenant, note("I hide the biscuits."), agent_id="b", scope="agent_private")
    async with within(service, tenant_id=tenant, project_id="p", agent_id="a") as client:
        for note_id in (theirs["note_id"], private["note_id"]):
            body = failure(await client.call_tool("memory_get", {"note_id": note_id}))
            assert body["error_code"] == "NOT_FOUND"
        assert read(await client.call_tool("memory_list", {"scope": "agent_private"}))["items"] == []


async def test_what_neither_is_fixed_nor_has_a_default_the_agent_says(
    service: RunningService, tenant: str
) -> None:
    async with within(service, defaults={}, tenant_id=tenant) as client:
        (listing,) = [tool for tool in (await client.list_tools()).tools if tool.name == "memory_list"]
        assert listing.input_schema["required"] == ["project_id"]
        assert client.instructions is not None
        assert 'project_id is "default", agent_id is your own name.' in client.instructions
        body = failure(await client.call_tool("memory_list", {}))
        assert body["fields"] == ["$.project_id"]
        assert read(await client.call_tool("memory_list", {"project_id": "p"}))["items"] == []


async def test_a_default_is_for_whoever_does_not_say(service: RunningService, tenant: str) -> None:
    defaults = context(tenant) | {"read_profile": "private_only", "scope": "project_shared"}
    async with within(service, defaults=defaults) as client:
        shared = await add_note(client, {"text": "The kettle is on the second floor."})
        private = await add_note(client, {"text": "I forgot the kettle once.", "scope": "agent_private"})
        assert read(await client.call_tool("memory_get", {"note_id": shared}))["scope"] == "project_shared"
        for arguments, ids in (
            ({}, {private}),
            ({"read_profile": "all_scopes"}, {shared, private}),
            ({"read_profile": "all_scopes", "scope": "project_shared"}, {shared}),
            ({"read_profile": "all_scopes", "agent_id": "b", "tenant_id": None}, {shared}),
        ):
            listed = read(await client.call_tool("memory_list", arguments))
            assert {item["note_id"] for item in listed["items"]} == ids
        event = {"messages": [{"role": "user", "content": "I prefer tea in the morning."}]}
        (kept,) = read(await client.call_tool("memory_add_event", event))["results"]
        stored = read(await client.call_tool("memory_get", {"note_id": kept["note_id"]}))
        assert (stored["scope"], stored["agent_id"]) == ("project_shared", "a")
