"""The client of the graph: it can ask for all that is offered, writes nothing twice, and reads what it is told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, assert_type
from urllib.parse import parse_qsl

import httpx
import msgspec
import pytest
from answering import URL, Script, failure
from family_calls import call_of, taken

from elf.client import NO_RETRIES, AsyncClient, Client, InvalidRequest, Retries
from elf.client.call import Call
from elf.client.families.graph import GraphClient, NewEdge, NewMemory, NewSource, inputs, results
from elf.client.family import methods_of
from elf.families.graph import model
from elf.families.graph.api import listing, overseeing, recalling, records, recovering, status, transferring
from elf.families.graph.manifest import GRAPH

pytestmark = pytest.mark.anyio

FAST = Retries(patience_s=60.0, first_pause_s=0.001, longest_pause_s=0.002)
AWAY = failure(503, "UNAVAILABLE", headers={"Retry-After": "0"})
WRITTEN = httpx.Response(200, json={"memories": [], "edges": [], "contradictions": []})
CHANGED = httpx.Response(200, json={"memories": [], "edges": []})
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MEMORY = NewMemory(content="The office is in Lisbon.", type="Fact", created_at=MOMENT)
EDGE = NewEdge(from_memory_id="m1", to_memory_id="m2", edge_type="RelatedTo", weight=0.5)
TOLD = {
    "content": "Ship it.", "type": "Goal", "importance": 5, "confidence": 1.0,
    "source": {"sourceType": "manual", "capturedBy": "user"},
}  # fmt: skip
STORED = {
    "memoryId": "m1", "orchestratorId": "planner", "type": "Fact", "importance": 50, "content": "x", "summary": "x",
    "confidence": 0.8, "status": "active", "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:04:05Z",
    "source": {
        "sourceType": "manual", "capturedBy": "user", "sourcePath": None, "conversationId": None,
        "workflowRunId": None, "stepId": None,
    },
}  # fmt: skip

# Values for every parameter that the methods have; what a method cannot have beside others is below.
SAMPLES: Mapping[str, Any] = {
    "query": "office", "top_n": 5, "types": ["Fact"], "conversations": ["c1"], "min_importance": 10,
    "superseded": True, "rrf_k": 10, "top_k_vector": 0, "top_k_text": 5, "explain": True, "message_id": "msg-1",
    "message": "Hi", "max_chars": 100, "purpose": "step", "prompt": "Plan it.", "content": "Ship it.",
    "type": "Goal", "importance": 5, "confidence": 1, "summary": "Ship", "memory_id": "m1", "status": "superseded",
    "source_type": "workflow_output", "captured_by": "system", "source_path": "/notes.md", "conversation_id": "c1",
    "workflow_run_id": "run", "step_id": "step", "memories": [MEMORY, TOLD], "edges": [EDGE],
    "source": NewSource(), "reason": "newer", "by_memory_id": "m2", "edge_id": "e1", "keep": "TO",
    "text": "The disk is full.", "outputs": {"decision": "Use Postgres."}, "attempt": 2, "finding_id": "f1",
    "related_memory_ids": ["m1"], "limit": 5, "cursor": "c", "direction": "incoming", "edge_type": "PartOf",
    "memory_ids": ["m1"], "lines": [{"memory": STORED, "version": 1}],
}  # fmt: skip
OF_METHODS: Mapping[str, Mapping[str, Any]] = {
    "ingested": {"status": "rejected"},
    "erase": {"conversation_id": None, "source_path": None},
}
UNDONE = {"resolve", "recover"}


def asking(network: Script, *, retries: Retries = NO_RETRIES) -> GraphClient[Client]:
    return Client(URL, transport=network, retries=retries, tenant_id="t", agent_id="planner").graph


def asked_of(name: str) -> Call[Any]:
    """Make the call of a method with a sample for each of its parameters."""
    build = methods_of(GraphClient)[name].build
    samples = {**SAMPLES, **OF_METHODS.get(name, {})}
    given = {one: samples[one] for one in [*inspect.signature(build).parameters][1:] if one in samples}
    return call_of(build(asking(Script(WRITTEN)), **given))


def test_every_operation_has_a_method_whose_arguments_it_takes() -> None:
    assert taken(map(asked_of, methods_of(GraphClient)), GRAPH) == {
        *GRAPH.operations,
        *GRAPH.admin_operations,
    }


@pytest.mark.parametrize("name", methods_of(GraphClient))
def test_only_what_a_repeat_leaves_as_it_is_is_sent_again(name: str) -> None:
    assert asked_of(name).repeat == ("undone" if name in UNDONE else "safe")


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (records.Memory, results.Memory), (records.Source, results.Source), (records.Edge, results.Edge),
        (records.Citation, results.Citation), (recalling.RecalledMemory, results.RecalledMemory),
        (recalling.Explained, results.ScoreTerms), (recalling.Bundle, results.Bundle),
        (recalling.Bulletin, results.Bulletin), (recalling.Evidence, results.Evidence),
        (recalling.Findings, results.Findings), (recalling.ContextAnswer, results.Context),
        (listing.MemoryVersion, results.MemoryVersion), (listing.Contradiction, results.Contradiction),
        (overseeing.OrchestratorState, results.OrchestratorState), (transferring.Imported, results.Imported),
        (recovering.Recovered, results.Recovered), (recovering.RetakenFile, results.RetakenFile),
        (status.Status, results.MemoryStatus), (status.MemoryCounts, results.MemoryCounts),
    ],
)  # fmt: skip
def test_answers_are_read_with_all_that_is_told(told: Any, read: Any) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(read)} == told.model_fields.keys()


def test_the_words_of_the_client_are_those_of_the_service() -> None:
    words = {"NodeType", "EdgeType", "Status", "SourceType", "CapturedBy"}
    assert {name: getattr(inputs, name) for name in words} == {name: getattr(model, name) for name in words}


def test_the_agent_of_the_context_is_the_orchestrator() -> None:
    network = Script(WRITTEN)
    asking(network).remember("Ship it.", "Goal", conversation_id="c1")
    (body,) = network.bodies
    (memory,) = body["memories"]
    assert (body["tenant_id"], body["orchestrator_id"]) == ("t", "planner")
    assert body.keys() == {"tenant_id", "orchestrator_id", "memories"}
    source = {"sourceType": "manual", "capturedBy": "user", "conversationId": "c1"}
    assert memory == {
        "memoryId": memory["memoryId"], "content": "Ship it.", "type": "Goal", "importance": 50, "confidence": 0.8,
        "source": source, "status": "active",
    }  # fmt: skip


WRITES: Mapping[str, Callable[[GraphClient[Client]], object]] = {
    "remember": lambda graph: graph.remember("x", "Fact"),
    "remember_all": lambda graph: graph.remember_all([MEMORY, TOLD], edges=[EDGE]),
    "supersede": lambda graph: graph.supersede("m1", memory=MEMORY),
}


def ids_of(body: Mapping[str, Any]) -> list[str]:
    return [one["memoryId"] for one in body.get("memories", [body.get("memory")])]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_is_tried_again_has_the_same_id_and_the_next_has_another(
    write: Callable[[GraphClient[Client]], object],
) -> None:
    network = Script(AWAY, httpx.ReadTimeout("too slow"), WRITTEN)
    graph = asking(network, retries=FAST)
    write(graph)
    write(graph)
    first, again, at_last, other = network.bodies
    assert first == again == at_last
    ids = [*ids_of(first), *ids_of(other)]
    assert len({*ids}) == len(ids)


def test_an_id_of_the_caller_is_kept_and_what_is_none_is_left_out() -> None:
    network = Script(WRITTEN)
    asking(network).remember_all([{**TOLD, "memoryId": "mine", "summary": None}], edges=[EDGE])
    (body,) = network.bodies
    assert body["memories"] == [{**TOLD, "memoryId": "mine"}]
    assert body["edges"] == [
        {"fromMemoryId": "m1", "toMemoryId": "m2", "edgeType": "RelatedTo", "weight": 0.5}
    ]


@pytest.mark.parametrize("memories", ["x", TOLD, 3, None])
def test_what_is_no_list_is_refused_before_it_is_sent(memories: Any) -> None:
    network = Script(WRITTEN)
    with pytest.raises(InvalidRequest, match=r"^memories: should be a list$") as caught:
        asking(network).remember_all(memories)
    assert (caught.value.fields, network.requests) == (("memories",), [])


def test_a_fault_of_the_one_memory_has_the_name_of_the_argument() -> None:
    refusing = httpx.Response(
        400,
        json={
            "error_code": "INVALID_REQUEST",
            "message": "$.memories[0].importance: should be at most 100",
            "fields": ["$.memories[0].importance"],
        },
    )
    with pytest.raises(InvalidRequest, match=r"^importance: should be") as caught:
        asking(Script(refusing)).remember("x", "Fact", importance=101)
    assert caught.value.fields == ("importance",)


def test_a_contradiction_is_resolved_once() -> None:
    network = Script(httpx.ReadTimeout("too slow"), CHANGED)
    with pytest.raises(Exception, match="too slow"):
        asking(network, retries=FAST).resolve("e1", "newer", keep="TO")
    assert len(network.requests) == 1
    network = Script(AWAY, CHANGED)
    assert asking(network, retries=FAST).resolve("e1", "newer", both_true=True).memories == []
    assert network.bodies[1]["both_true"] is True


async def test_a_listing_is_gone_through_page_by_page_by_either_client() -> None:
    pages = [
        httpx.Response(200, json={"items": [{**STORED, "memoryId": name}], "next_cursor": cursor})
        for name, cursor in (("m1", "c"), ("m2", None))
    ]
    network = Script(*pages)
    memories = [*asking(network).list(limit=1, status="all")]
    assert_type(memories, list[results.Memory])
    assert [(one.memory_id, one.source.captured_by) for one in memories] == [("m1", "user"), ("m2", "user")]
    query = {"tenant_id": "t", "orchestrator_id": "planner", "status": "all", "limit": "1"}
    asked = [dict(parse_qsl(request.url.query.decode())) for request in network.requests]
    assert asked == [query, {**query, "cursor": "c"}]
    async with AsyncClient(URL, transport=Script(*pages), tenant_id="t", agent_id="planner") as client:
        assert [one.memory_id async for one in client.graph.list()] == ["m1", "m2"]
