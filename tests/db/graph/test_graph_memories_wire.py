"""Writing, changing and reading memories over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.db.graph.house import FACT, House, fact, link

pytestmark = pytest.mark.anyio


async def test_what_is_written_is_read_with_the_wires_names(house: House) -> None:
    assert await house.post("memories", memories=[FACT]) == {
        "memories": [{"memoryId": "m1", "outcome": "ADD"}],
        "edges": [],
        "contradictions": [],
    }
    now = house.clock.now().isoformat().replace("+00:00", "Z")
    assert (await house.get("memories/m1"))["memory"] == {
        **FACT,
        "orchestratorId": "planner",
        "summary": "The office is in Lisbon.",
        "source": {
            "sourceType": "manual", "capturedBy": "user", "sourcePath": None, "conversationId": None,
            "workflowRunId": None, "stepId": None,
        },
        "status": "active",
        "createdAt": now,
        "updatedAt": now,
    }  # fmt: skip
    assert sorted(path.name for path in house.memory().iterdir()) == [
        ".lock", ".open", ".recover", "bulletins", "ingest", "logs", "memory.db", "memory.db-shm", "memory.db-wal",
    ]  # fmt: skip


async def test_a_request_is_written_whole_or_not_at_all(house: House) -> None:
    refused = await house.post("memories", 404, memories=[FACT], edges=[link("m1", "m2")])
    assert refused["fields"] == ["$.edges[0].toMemoryId"]
    assert (await house.get("memories"))["items"] == []
    written = await house.post("memories", memories=[FACT, fact("m2")], edges=[link("m1", "m2", edgeId="e1")])
    assert written["edges"] == [{"edgeId": "e1", "outcome": "ADD"}]
    (edge,) = (await house.get("memories/m2/edges", direction="incoming"))["items"]
    assert (edge["edge"]["edgeId"], edge["resolution"]) == ("e1", None)


async def test_the_same_again_is_an_upsert(house: House) -> None:
    await house.post("memories", memories=[FACT, fact("m2")], edges=[link("m1", "m2", edgeId="e1")])
    house.clock.turn(hours=1)
    again = await house.post("memories", memories=[FACT, fact("m2", importance=60)], edges=[link("m1", "m2")])
    assert [one["outcome"] for one in again["memories"]] == ["NONE", "UPDATE"]
    assert again["edges"] == [{"edgeId": "e1", "outcome": "NONE"}]
    memory = (await house.get("memories/m2"))["memory"]
    assert memory["importance"] == 60
    assert memory["createdAt"] < memory["updatedAt"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": "Rumour"}, "$.memories[0].type"),
        ({"importance": 101}, "$.memories[0].importance"),
        ({"confidence": 1.1}, "$.memories[0].confidence"),
        ({"content": "  "}, "$.memories[0].content"),
        ({"content": "x" * 16_385}, "$.memories[0].content"),
        ({"summary": "x" * 281}, "$.memories[0].summary"),
        ({"memoryId": "a b"}, "$.memories[0].memoryId"),
        ({"status": "gone"}, "$.memories[0].status"),
        ({"orchestratorId": "other"}, "$.memories[0].orchestratorId"),
        ({"unknown": 1}, "$.memories[0].unknown"),
        ({"createdAt": "yesterday"}, "$.memories[0].createdAt"),
        ({"source": {"sourceType": "hearsay", "capturedBy": "user"}}, "$.memories[0].source.sourceType"),
        ({"source": {"sourceType": "manual", "capturedBy": "nobody"}}, "$.memories[0].source.capturedBy"),
        (
            {"source": {"sourceType": "channel_transcript", "capturedBy": "user"}},
            "$.memories[0].source.conversationId",
        ),
        (
            {"source": {"sourceType": "manual", "capturedBy": "user", "sourcePath": "/no/such"}},
            "$.memories[0].source.sourcePath",
        ),
        ({"content": "my key is AKIAIOSFODNN7EXAMPLQ"}, "$.memories[0].content"),
    ],
)
async def test_what_breaks_a_rule_is_refused_by_its_path(
    house: House, change: dict[str, Any], field: str
) -> None:
    refused = await house.post("memories", 400, memories=[{**FACT, **change}])
    assert (refused["error_code"], refused["fields"]) == ("INVALID_REQUEST", [field])


async def test_times_may_be_seconds_since_1970(house: House) -> None:
    await house.post(
        "memories", memories=[fact("m1", createdAt=86_400, updatedAt="1970-01-03T00:00:00+01:00")]
    )
    memory = (await house.get("memories/m1"))["memory"]
    assert (memory["createdAt"], memory["updatedAt"]) == ("1970-01-02T00:00:00Z", "1970-01-02T23:00:00Z")


async def test_a_source_may_be_a_file_in_the_memorys_folder_and_none_elsewhere(
    house: House, tmp_path: Path
) -> None:
    (house.memory() / "ingest").mkdir(parents=True)
    (tmp_path / "elsewhere.txt").touch()
    (house.memory() / "ingest" / "here.txt").touch()

    def sourced(path: Path) -> dict[str, Any]:
        return fact("m1", source={"sourceType": "ingest_file", "capturedBy": "user", "sourcePath": str(path)})

    denied = await house.post("memories", 403, memories=[sourced(tmp_path / "elsewhere.txt")])
    assert (denied["error_code"], denied["fields"]) == ("SCOPE_DENIED", ["$.memories[0].source.sourcePath"])
    await house.post("memories", memories=[sourced(house.memory() / "ingest" / "here.txt")])


async def test_another_value_of_the_same_is_a_contradiction_until_it_is_resolved(house: House) -> None:
    first = fact("old", type="Preference", content="I prefer tea.")
    await house.post("memories", memories=[{**first, "content": "My favourite colour is blue."}])
    written = await house.post(
        "memories", memories=[fact("new", type="Preference", content="My favourite colour is green.")]
    )
    (edge,) = written["contradictions"]
    assert (edge["edgeType"], edge["fromMemoryId"], edge["toMemoryId"]) == ("Contradicts", "new", "old")
    (found,) = (await house.get("contradictions"))["items"]
    assert (found["edge"], found["fromMemory"]["memoryId"]) == (edge, "new")
    path = f"contradictions/{edge['edgeId']}/resolve"
    resolved = await house.post(path, keep="FROM", reason="it was said later")
    assert [(one["memoryId"], one["status"]) for one in resolved["memories"]] == [
        ("new", "active"), ("old", "superseded"),
    ]  # fmt: skip
    assert (await house.get("contradictions"))["items"] == []
    edges = (await house.get("memories/old/edges"))["items"]
    assert sorted(one["edge"]["edgeType"] for one in edges) == ["Contradicts", "Updates"]
    assert {one["resolution"] and one["resolution"]["outcome"] for one in edges} == {None, "keep_from"}
    assert (await house.post(path, 409, keep="FROM", reason="again"))["error_code"] == "CONFLICT"


@pytest.mark.parametrize(
    ("how", "statuses"),
    [
        ({"keep": "TO"}, ["superseded", "active"]),
        ({"retract": "FROM"}, ["retracted", "active"]),
        ({"retract": "TO"}, ["active", "retracted"]),
        ({"retract": "BOTH"}, ["retracted", "retracted"]),
        ({"both_true": True}, ["active", "active"]),
    ],
)
async def test_a_contradiction_is_resolved_in_each_way(
    house: House, how: dict[str, Any], statuses: list[str]
) -> None:
    edge = link("m1", "m2", "Contradicts", edgeId="c")
    await house.post("memories", memories=[FACT, fact("m2", content="No office.")], edges=[edge])
    resolved = await house.post("contradictions/c/resolve", **how, reason="asked")
    assert [one["status"] for one in resolved["memories"]] == statuses
    assert (await house.get("contradictions"))["items"] == []


@pytest.mark.parametrize(
    "how", [{}, {"keep": "FROM", "both_true": True}, {"keep": "BOTH"}, {"both_true": False}]
)
async def test_a_contradiction_is_resolved_in_one_way(house: House, how: dict[str, Any]) -> None:
    await house.post("contradictions/c/resolve", 400, **how, reason="asked")


async def test_a_memory_is_changed_superseded_retracted_and_restored_with_its_history(house: House) -> None:
    await house.post("memories", memories=[FACT])
    house.clock.turn(hours=1)
    changed = await house.post("memories/m1/update", content="The office is in Porto.", reason="moved")
    assert changed["memories"][0]["summary"] == "The office is in Porto."
    superseded = await house.post("memories/m1/supersede", memory=fact("m2", content="No office."))
    assert [one["status"] for one in superseded["memories"]] == ["superseded", "active"]
    (edge,) = superseded["edges"]
    assert (edge["edgeType"], edge["fromMemoryId"], edge["toMemoryId"]) == ("Updates", "m2", "m1")
    await house.post("memories/m1/restore")
    await house.post("memories/m1/retract", reason="never true")
    first = await house.get("memories/m1/history", limit=2)
    rest = await house.get("memories/m1/history", limit=10, cursor=first["next_cursor"])
    assert [(one["operation"], one["reason"]) for one in first["items"] + rest["items"]] == [
        ("ADD", None), ("UPDATE", "moved"), ("SUPERSEDE", None), ("RESTORE", None), ("RETRACT", "never true"),
    ]  # fmt: skip
    assert rest["next_cursor"] is None
    assert (await house.get("memories"))["items"][0]["memoryId"] == "m2"
    assert len((await house.get("memories", status="all"))["items"]) == 2


@pytest.mark.parametrize("path", ["update", "supersede", "retract", "restore"])
async def test_what_is_not_there_is_not_found(house: House, path: str) -> None:
    body = {"by_memory_id": "m2"} if path == "supersede" else {}
    assert (await house.post(f"memories/none/{path}", 404, **body))["error_code"] == "NOT_FOUND"


async def test_a_listing_goes_on_behind_its_cursor_and_knows_a_strange_one(house: House) -> None:
    await house.post("memories", memories=[fact(f"m{number}") for number in range(5)])
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await house.get("memories", limit=2, **cursor)
        seen += [one["memoryId"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [f"m{number}" for number in range(5)]
    assert (await house.get("memories", 400, type="Fact", **cursor))["fields"] == ["$.cursor"]


async def test_another_orchestrators_memory_is_denied_and_logged_in_its_file(house: House) -> None:
    await house.post("memories", memories=[FACT])
    denied = await house.get("memories/m1", 403, requesting_orchestrator_id="other")
    assert denied["error_code"] == "SCOPE_DENIED"
    log = (house.memory() / "logs" / "memory.log").read_text()
    assert '"memory.recall.scope_denied"' in log
    assert '"requested_orchestrator_id": "other"' in log


async def test_another_tenant_has_another_memory_of_the_same_name(house: House) -> None:
    await house.post("memories", memories=[FACT])
    theirs = await house.client.get(
        "/v1/graph/memories", params={"orchestrator_id": "planner"}, headers={"x-tenant": "rival"}
    )
    assert theirs.json()["items"] == []
