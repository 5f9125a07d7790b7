"""The tools of the graph, by the official client, over the whole family in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp_types import Tool

from elf.families.graph.manifest import GRAPH
from elf.mcp.sessions import memory_server
from tests.db.graph.house import TENANT, House, fact, link
from tests.fronts.mcp_kit import config_with, failure, read

pytestmark = pytest.mark.anyio

MINE = {"tenant_id": TENANT, "orchestrator_id": "planner"}
PLACE = {"tenant_id", "orchestrator_id"}
ARGUMENTS: dict[str, tuple[set[str], set[str]]] = {
    "graph_recall": (
        {"query"}, {"top_n", "types", "min_importance", "conversations", "statuses"},
    ),
    "graph_remember": (
        {"content", "type"},
        {"importance", "confidence", "captured_by", "conversation_id", "memory_id", "links"},
    ),
    "graph_resolve": ({"edge_id", "reason"}, {"keep", "retract", "both_true"}),
    "graph_bulletin": ({"message_id", "message"}, {"max_chars"}),
}  # fmt: skip


@asynccontextmanager
async def agent(house: House, **context: str) -> AsyncIterator[Client]:
    """A client of the tools with a fixed context."""
    async with Client(memory_server(config_with({}, **context), house.client, GRAPH)) as client:
        yield client


async def shown(client: Client) -> dict[str, Tool]:
    return {tool.name: tool for tool in (await client.list_tools()).tools}


async def told(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The answer to a call that is to be served."""
    return read(await client.call_tool(tool, arguments))


async def refused(client: Client, tool: str, /, **arguments: Any) -> tuple[str, list[str] | None]:
    """The code of a call that is not to be served, and the arguments at fault."""
    body = failure(await client.call_tool(tool, arguments))
    return body["error_code"], body["fields"]


async def remember(client: Client, content: str, **more: Any) -> dict[str, Any]:
    return await told(client, "graph_remember", content=content, **{"type": "Fact", **more})


async def test_an_agent_sees_four_tools_and_what_each_of_their_arguments_is(house: House) -> None:
    async with agent(house) as client:
        tools = await shown(client)
        assert client.instructions is not None
        assert all(name in client.instructions for name in (*ARGUMENTS, "orchestrator_id"))
    assert tools.keys() == ARGUMENTS.keys()
    for name, (required, optional) in ARGUMENTS.items():
        schema = tools[name].input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert "$ref" not in json.dumps(schema)
        assert set(schema["required"]) == required | {"orchestrator_id"}
        assert set(schema["properties"]) == required | optional | PLACE
        assert all(one["description"] for key, one in schema["properties"].items() if key != "tenant_id")
    remembering = tools["graph_remember"].input_schema["properties"]
    assert {name: one["default"] for name, one in remembering.items() if one.get("default") is not None} == {
        "importance": 50, "confidence": 0.8, "captured_by": "system", "tenant_id": "default",
    }  # fmt: skip
    assert remembering["links"]["items"]["required"] == ["to_memory_id", "edge_type"]


async def test_each_tool_says_what_its_calls_may_do(house: House) -> None:
    async with agent(house) as client:
        tools = await shown(client)
    hints = {}
    for name, tool in tools.items():
        assert tool.title
        assert "Returns" in str(tool.description)
        told = tool.annotations
        assert told is not None
        assert (told.title, told.open_world_hint) == (tool.title, False)
        hints[name] = told.read_only_hint, told.destructive_hint, told.idempotent_hint
    assert hints == {
        "graph_recall": (True, False, False),
        "graph_remember": (False, True, False),
        "graph_resolve": (False, True, True),
        "graph_bulletin": (False, False, True),
    }


async def test_an_agent_remembers_recalls_resolves_and_reads_what_matters(house: House) -> None:
    async with agent(house, **MINE) as client:
        old = await remember(client, "My favourite colour is blue.", type="Preference", captured_by="user")
        new = await remember(client, "My favourite colour is green.", type="Preference", conversation_id="c1")
        ((first,), (second,)) = old["memories"], new["memories"]
        assert (first["outcome"], second["outcome"], old["contradictions"]) == ("ADD", "ADD", [])
        (edge,) = new["contradictions"]
        found = await told(client, "graph_recall", query="favourite colour", types=["Preference"], top_n=5)
        assert {one["memory"]["memoryId"]: one["unresolvedContradiction"] for one in found["nodes"]} == {
            first["memoryId"]: True, second["memoryId"]: True,
        }  # fmt: skip
        sources = {one["memory"]["memoryId"]: one["memory"]["source"] for one in found["nodes"]}
        assert sources[first["memoryId"]]["capturedBy"] == "user"
        assert sources[second["memoryId"]] | {"sourcePath": None} == {
            "sourceType": "manual", "capturedBy": "system", "sourcePath": None, "conversationId": "c1",
            "workflowRunId": None, "stepId": None,
        }  # fmt: skip
        resolved = await told(
            client, "graph_resolve", edge_id=edge["edgeId"], keep="FROM", reason="it was said later"
        )
        assert [one["status"] for one in resolved["memories"]] == ["active", "superseded"]
        asked = {"message_id": "m-1", "message": "Which colour shall it be?"}
        bulletin = (await told(client, "graph_bulletin", **asked))["bulletin"]
        again = (await told(client, "graph_bulletin", **asked))["bulletin"]
    assert "My favourite colour is green." in bulletin["rendered"]
    assert [one["memoryId"] for one in bulletin["citations"]] == [second["memoryId"]]
    assert again == bulletin


async def test_what_is_remembered_anew_takes_the_place_of_what_was_and_keeps_its_history(
    house: House,
) -> None:
    async with agent(house, **MINE) as client:
        await remember(client, "The office is in Lisbon.", memory_id="office")
        changed = await remember(client, "The office is in Porto.", memory_id="office", importance=90)
        same = await remember(client, "The office is in Porto.", memory_id="office", importance=90)
    assert [one["memories"][0]["outcome"] for one in (changed, same)] == ["UPDATE", "NONE"]
    history = (await house.get("memories/office/history"))["items"]
    assert [one["memory"]["importance"] for one in history] == [50, 90]


async def test_a_memory_is_linked_to_those_that_there_are(house: House) -> None:
    await house.post("memories", memories=[fact("m1"), fact("m2", content="The lease ended.")])
    links = [
        {"to_memory_id": "m1", "edge_type": "PartOf"},
        {"to_memory_id": "m2", "edge_type": "CausedBy", "weight": 1},
    ]
    async with agent(house, **MINE) as client:
        written = await remember(client, "We moved to Porto.", links=links)
    assert [one["outcome"] for one in written["edges"]] == ["ADD", "ADD"]
    id = written["memories"][0]["memoryId"]
    edges = [one["edge"] for one in (await house.get(f"memories/{id}/edges", direction="outgoing"))["items"]]
    assert {(one["toMemoryId"], one["edgeType"], one["weight"]) for one in edges} == {
        ("m1", "PartOf", 0.7), ("m2", "CausedBy", 1.0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"content": " "}, "$.content"),
        ({"content": None}, "$.content"),
        ({"type": "Rumour"}, "$.type"),
        ({"importance": 101}, "$.importance"),
        ({"confidence": 2}, "$.confidence"),
        ({"captured_by": "nobody"}, "$.captured_by"),
        ({"conversation_id": "a b"}, "$.conversation_id"),
        ({"memory_id": "a b"}, "$.memory_id"),
        ({"memory_id": "a b", "links": [{"to_memory_id": "m1", "edge_type": "PartOf"}]}, "$.memory_id"),
        ({"content": "my key is AKIAIOSFODNN7EXAMPLQ"}, "$.content"),
        ({"links": "m1"}, "$.links"),
        ({"links": ["m1"]}, "$.links[0]"),
        ({"links": [{"to_memory_id": "m1", "edge_type": "Knows"}]}, "$.links[0].edge_type"),
        ({"links": [{"to_memory_id": "a b", "edge_type": "PartOf"}]}, "$.links[0].to_memory_id"),
        ({"links": [{"edge_type": "PartOf"}]}, "$.links[0].to_memory_id"),
        ({"mood": "good"}, "$.mood"),
    ],
)
async def test_what_cannot_be_remembered_is_refused_by_its_argument(
    house: House, wrong: dict[str, Any], field: str
) -> None:
    async with agent(house, **MINE) as client:
        body = failure(
            await client.call_tool("graph_remember", {"content": "It is so.", "type": "Fact", **wrong})
        )
        assert (body["error_code"], body["fields"]) == ("INVALID_REQUEST", [field])
        assert field in body["message"]
        assert (await house.get("memories"))["items"] == []


async def test_a_link_to_what_there_is_not_leaves_nothing_behind(house: House) -> None:
    async with agent(house, **MINE) as client:
        gone = [{"to_memory_id": "none", "edge_type": "PartOf"}]
        assert await refused(
            client, "graph_remember", content="It is so.", type="Fact", links=gone
        ) == ("NOT_FOUND", ["$.links[0].to_memory_id"])  # fmt: skip
    assert (await house.get("memories"))["items"] == []


async def test_many_are_remembered_in_the_form_of_the_api(house: House) -> None:
    async with agent(house, **MINE) as client:
        many = {"memories": [fact("m1"), fact("m2")], "edges": [link("m1", "m2")]}
        written = await told(client, "graph_remember", **many)
        assert [one["memoryId"] for one in written["memories"]] == ["m1", "m2"]
        many["memories"][1]["importance"] = -1
        assert await refused(client, "graph_remember", **many) == (
            "INVALID_REQUEST", ["$.memories[1].importance"],
        )  # fmt: skip


async def test_a_contradiction_is_resolved_in_one_way_and_once(house: House) -> None:
    edge = link("m1", "m2", "Contradicts", edgeId="c")
    await house.post("memories", memories=[fact("m1"), fact("m2", content="No office.")], edges=[edge])
    async with agent(house, **MINE) as client:
        how = {"edge_id": "c", "reason": "asked"}
        code, _ = await refused(client, "graph_resolve", **how)
        assert code == "INVALID_REQUEST"
        await told(client, "graph_resolve", **how, retract="BOTH")
        assert await refused(client, "graph_resolve", **how, both_true=True) == ("CONFLICT", ["$.edge_id"])


async def test_a_fixed_orchestrator_is_filled_in_and_cannot_be_chosen(house: House) -> None:
    async with agent(house, **MINE) as client:
        assert client.instructions is not None
        assert "orchestrator_id" not in client.instructions
        for tool in (await shown(client)).values():
            assert not PLACE & (tool.input_schema["properties"].keys() | set(tool.input_schema["required"]))
        same = {"query": "office", "orchestrator_id": "planner"}
        assert (await told(client, "graph_recall", **same))["nodes"] == []
        for name in ARGUMENTS:
            assert await refused(client, name, orchestrator_id="other") == (
                "SCOPE_DENIED", ["$.orchestrator_id"],
            )  # fmt: skip
    assert not house.memory("other").exists()


async def test_an_agent_says_whose_memory_it_is_where_nothing_fixes_it(house: House) -> None:
    async with agent(house, tenant_id=TENANT) as client:
        await remember(client, "The office is in Lisbon.", orchestrator_id="planner")
        mine = await told(client, "graph_recall", query="office", orchestrator_id="planner")
        theirs = await told(client, "graph_recall", query="office", orchestrator_id="other")
        assert await refused(client, "graph_recall", query="office") == (
            "INVALID_REQUEST", ["$.orchestrator_id"],
        )  # fmt: skip
        denied = await refused(
            client, "graph_recall", query="office", orchestrator_id="planner", requesting_orchestrator_id="other"
        )  # fmt: skip
    assert (len(mine["nodes"]), theirs["nodes"], denied[0]) == (1, [], "SCOPE_DENIED")
