"""Recalls, contexts and write-backs as orchestrators meet them: over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from elf.db.database import Database
from tests.db.graph.wire_kit import PLANNER, TENANT, WORDS_ONLY, Wire, wired
from tests.notes_kit import vector_of

pytestmark = pytest.mark.anyio
RECALL = {**PLANNER, "query": "Where is the office?"}


@pytest.fixture
async def wire(database: Database, tmp_path: Path) -> AsyncIterator[Wire]:
    async with wired(database, tmp_path) as wire:
        yield wire


@asynccontextmanager
async def opened_file(path: Path) -> AsyncIterator[apsw.Connection]:
    """Open a file around the family, by the one library that may."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(5_000)  # the family goes on writing
    try:
        yield connection
    finally:
        connection.close()


def recalled(bundle: dict[str, Any]) -> list[str]:
    return [node["memory"]["content"] for node in bundle["nodes"]]


async def test_message_a_creates_a_memory_and_message_b_recalls_it(wire: Wire) -> None:
    written = await wire.say("msg-a", "The office moved to Lisbon.", "slack:general")
    bundle = await wire.told("recall", query="Where is the office?")
    (node,) = bundle["nodes"]
    assert node["memory"]["memoryId"] == written["memories"][0]["memoryId"]
    assert (node["snippet"], node["unresolvedContradiction"], node["explain"]) == (
        "The office moved to Lisbon.",
        False,
        None,
    )
    assert bundle["citations"] == [
        {
            "memoryId": node["memory"]["memoryId"], "sourceType": "channel_transcript", "sourcePath": None,
            "conversationId": "slack:general", "workflowRunId": None, "stepId": None,
        }
    ]  # fmt: skip
    assert (bundle["edges"], bundle["mode"], bundle["degraded"]) == ([], "full_text_only", [])


async def test_recall_across_channels_of_the_same_orchestrator_is_allowed(wire: Wire) -> None:
    await wire.say("msg-a", "The office moved to Lisbon.", "slack:general")
    await wire.say("msg-b", "The office has tea.", "mail:7")
    assert len(recalled(await wire.told("recall", query="office", requesting_orchestrator_id="planner"))) == 2
    only = await wire.told("recall", query="office", conversations=["mail:7"])
    assert recalled(only) == ["The office has tea."]


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"requesting_orchestrator_id": "other"}, {}),
        ({}, {"x_agent": "other"}),
        ({"requesting_orchestrator_id": "planner"}, {"x_agent": "other"}),
        ({"requesting_orchestrator_id": "other"}, {"x_agent": "planner"}),
    ],
)
async def test_recall_across_orchestrators_is_denied_and_logged_with_both(
    wire: Wire, fields: dict[str, str], headers: dict[str, str]
) -> None:
    await wire.say("msg-a", "The office moved to Lisbon.")
    response = await wire.post("recall", {**RECALL, **fields}, **headers)
    assert (response.status_code, response.json()["error_code"]) == (403, "SCOPE_DENIED"), response.text
    assert "Lisbon" not in response.text
    (line,) = [one for one in wire.logged() if one["event"] == "memory.recall.scope_denied"]
    assert (line["requested_orchestrator_id"], line["available_orchestrator_id"]) == ("other", "planner")
    async with opened_file(wire.house.memory() / "memory.db") as connection:
        audited = connection.execute("SELECT event FROM memory_audit").fetchall()
    assert ("memory.recall.scope_denied",) in audited


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("context", {"purpose": "selector", "message_id": "m", "message": "x"}),
        ("writeback/transcript", {"message_id": "m", "conversation_id": "c", "text": "x"}),
        ("writeback/workflow_output", {"workflow_run_id": "r", "step_id": "s", "outputs": {"a": "b"}}),
        ("writeback/diagnostics", {"finding_id": "f", "text": "x"}),
    ],
)
async def test_no_orchestrator_gets_at_anothers_memory_otherwise(
    wire: Wire, path: str, fields: dict[str, Any]
) -> None:
    response = await wire.post(path, {**PLANNER, **fields}, x_agent="other")
    assert (response.status_code, response.json()["error_code"]) == (403, "SCOPE_DENIED"), response.text


async def test_who_is_denied_makes_no_memory(wire: Wire) -> None:
    await wire.say("msg-a", "The office moved to Lisbon.")
    response = await wire.post("recall", {**RECALL, "orchestrator_id": "new"}, x_agent="other")
    assert response.status_code == 403
    assert not wire.house.memory("new").exists()


async def test_an_orchestrator_recalls_nothing_of_another(wire: Wire) -> None:
    await wire.say("msg-a", "The office moved to Lisbon.")
    for other in ({"orchestrator_id": "writer"}, {"tenant_id": "rival"}):
        response = await wire.post("recall", {**RECALL, **other})
        assert response.json()["nodes"] == []


async def test_a_bulletin_is_in_the_context_of_every_message_and_of_its_steps(wire: Wire) -> None:
    seen = []
    for number in range(3):
        await wire.told(
            "writeback/workflow_output", workflow_run_id="run", step_id=f"s{number}",
            outputs={"goal": f"Ship number {number}."},
        )  # fmt: skip
        selector = await wire.selector(f"msg-{number}")
        step = await wire.told(
            "context", purpose="step", message_id=f"msg-{number}", message="office", prompt="number"
        )
        assert selector["status"] == step["status"] == "ok"
        assert step["bulletin"] == selector["bulletin"]
        assert len(step["recall"]["nodes"]) == number + 1
        seen.append(selector["bulletin"]["rendered"].count("Ship number"))
    assert seen == [1, 2, 3]


async def test_the_output_of_a_step_makes_a_decision_and_a_todo_that_the_next_context_tells(
    wire: Wire,
) -> None:
    written = await wire.told(
        "writeback/workflow_output", workflow_run_id="run", step_id="plan",
        outputs={"decision": "We use Postgres.", "todos": ["Order disks", "Call Ana"]},
    )  # fmt: skip
    ids = [one["memoryId"] for one in written["memories"]]
    bulletin = (await wire.selector("msg-1"))["bulletin"]
    assert bulletin["sections"]["recent_decisions"] == [
        {"memoryId": ids[0], "text": f"- We use Postgres. [{ids[0]}]"}
    ]
    assert bulletin["sections"]["open_todos"] == [
        {"memoryId": ids[1], "text": f"- Order disks; Call Ana [{ids[1]}]"}
    ]
    assert {one["memoryId"] for one in bulletin["citations"]} == set(ids)
    assert {one["workflowRunId"] for one in bulletin["citations"]} == {"run"}


async def test_diagnostics_retrieve_bounded_evidence_with_its_provenance(wire: Wire) -> None:
    for number in range(25):
        await wire.say(f"msg-{number}", f"The office {number} is loud. " + "It is. " * 100, "c9")
    context = await wire.told("context", purpose="diagnostics", prompt="Why is the office loud?")
    findings = context["findings"]
    assert (context["status"], context["bulletin"], context["recall"]) == ("ok", None, None)
    assert len(findings["evidence"]) == 20
    assert sum(len(one["text"]) for one in findings["evidence"]) <= 8000
    assert {one["conversationId"] for one in findings["citations"]} == {"c9"}


async def test_a_finding_is_written_back_with_edges_that_recall_returns(wire: Wire) -> None:
    said = (await wire.say("msg-a", "The office is loud."))["memories"][0]["memoryId"]
    written = await wire.told(
        "writeback/diagnostics", finding_id="f-1", text="The fan is broken.", related_memory_ids=[said]
    )
    (edge,) = (await wire.told("recall", query="office"))["edges"]
    assert written["edge_ids"] == [edge["edgeId"]]
    assert (edge["fromMemoryId"], edge["edgeType"], edge["weight"], edge["reason"]) == (
        said,
        "RelatedTo",
        0.7,
        None,
    )


async def test_each_write_back_is_idempotent_by_its_own_id(wire: Wire) -> None:
    first = await wire.say("msg-a", "The office moved.")
    again = await wire.say("msg-a", "The office moved.")
    assert (first["status"], again["status"], again["key"]) == (
        "written",
        "duplicate",
        "channel_transcript:msg-a",
    )
    assert len(recalled(await wire.told("recall", query="office"))) == 1


async def test_a_finding_that_follows_from_nothing_known_is_refused_by_name(wire: Wire) -> None:
    response = await wire.post(
        "writeback/diagnostics",
        {**PLANNER, "finding_id": "f", "text": "x", "related_memory_ids": ["gone"]},
    )
    assert (response.status_code, response.json()["fields"]) == (404, ["$.related_memory_ids[0]"])


async def test_a_recall_explains_each_term_when_it_is_asked_to(wire: Wire) -> None:
    await wire.say("msg-a", "The office moved.")
    (node,) = (await wire.told("recall", query="office", explain=True))["nodes"]
    terms = node["explain"]
    assert (terms["textRank"], terms["vectorRank"], terms["textTerm"]) == (1, None, 1 / 61)
    assert terms["finalScore"] == node["finalScore"]


async def test_what_a_recall_leaves_open_is_as_the_config_says(database: Database, tmp_path: Path) -> None:
    async with wired(database, tmp_path, f"{WORDS_ONLY}top_n = 2\nrrf_k = 10\n") as wire:
        for number in range(3):
            await wire.say(f"msg-{number}", "The office moved.")
        nodes = (await wire.told("recall", query="office", explain=True))["nodes"]
        assert [node["explain"]["textTerm"] for node in nodes] == [1 / 11, 1 / 12]
        assert len((await wire.told("recall", query="office", top_n=3))["nodes"]) == 3


async def test_both_legs_merge_and_without_a_model_the_words_go_on(
    database: Database, tmp_path: Path
) -> None:
    async with wired(database, tmp_path, table="") as wire:
        wire.house.model.known["What is near the sea?"] = vector_of("The office moved to Lisbon.")
        await wire.say("msg-a", "The office moved to Lisbon.")
        await wire.say("msg-b", "Cats sleep near the window.")
        asked = {"query": "What is near the sea?", "explain": True}
        while len((bundle := await wire.told("recall", **asked))["nodes"]) < 2:
            pass  # the vectors are made behind the writing
        terms = {node["memory"]["content"]: node["explain"] for node in bundle["nodes"]}
        assert terms["The office moved to Lisbon."]["vectorRank"] == 1
        assert terms["The office moved to Lisbon."]["textRank"] is None
        assert terms["Cats sleep near the window."]["textRank"] == 1
        assert (len(bundle["citations"]), bundle["mode"], bundle["degraded"]) == (2, "hybrid", [])
        wire.house.model.away = True
        await wire.say("msg-c", "A new office by the sea.")
        bundle = await wire.told("recall", query="office")
        assert {"The office moved to Lisbon.", "A new office by the sea."} == set(recalled(bundle))
        assert (bundle["mode"], bundle["degraded"]) == ("full_text_only", ["embedding"])


@pytest.mark.parametrize(
    ("path", "fields", "field"),
    [
        ("recall", {"query": ""}, "$.query"),
        ("recall", {"query": "x" * 8193}, "$.query"),
        ("recall", {"query": "x", "top_n": 0}, "$.top_n"),
        ("recall", {"query": "x", "top_n": 101}, "$.top_n"),
        ("recall", {"query": "x", "rrf_k": 1001}, "$.rrf_k"),
        ("recall", {"query": "x", "top_k_text": -1}, "$.top_k_text"),
        ("recall", {"query": "x", "top_k_vector": 1001}, "$.top_k_vector"),
        ("recall", {"query": "x", "statuses": ["retracted"]}, "$.statuses[0]"),
        ("recall", {"query": "x", "types": ["Rumour"]}, "$.types[0]"),
        ("recall", {"query": "x", "min_importance": 101}, "$.min_importance"),
        ("recall", {"query": "x", "unknown": 1}, "$.unknown"),
        ("recall", {"query": "x", "orchestrator_id": "../up"}, "$.orchestrator_id"),
        ("context", {"purpose": "guess"}, "$.purpose"),
        ("context", {"purpose": "selector", "message_id": "a b", "message": "x"}, "$.message_id"),
        (
            "context",
            {"purpose": "selector", "message_id": "m", "message": "x", "max_chars": 20_001},
            "$.max_chars",
        ),
        ("writeback/transcript", {"message_id": "m", "text": "x"}, "$.conversation_id"),
        (
            "writeback/workflow_output",
            {"workflow_run_id": "r", "step_id": "s", "outputs": {f"o{n}": "x" for n in range(101)}},
            "$.outputs",
        ),
        (
            "writeback/workflow_output",
            {"workflow_run_id": "r", "step_id": "s", "outputs": {"": "x"}},
            "$.outputs",
        ),
        (
            "writeback/workflow_output",
            {"workflow_run_id": "r", "step_id": "s", "outputs": {"a\0": "x"}},
            '$.outputs["a\\u0000"]',
        ),
    ],
)
async def test_what_is_out_of_bounds_is_refused_by_its_name(
    wire: Wire, path: str, fields: dict[str, Any], field: str
) -> None:
    response = await wire.post(path, {**PLANNER, **fields})
    body = response.json()
    assert (response.status_code, body["error_code"], body["fields"]) == (400, "INVALID_REQUEST", [field])


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"purpose": "selector"}, "message_id, message"),
        ({"purpose": "step", "message_id": "m", "message": "x"}, "prompt"),
        ({"purpose": "diagnostics"}, "prompt"),
    ],
)
async def test_a_context_says_what_its_purpose_needs(
    wire: Wire, fields: dict[str, str], missing: str
) -> None:
    response = await wire.post("context", {**PLANNER, **fields})
    assert response.status_code == 400
    assert f"needs {missing}" in response.json()["message"]


async def test_a_damaged_file_disables_context_and_refuses_recall(database: Database, tmp_path: Path) -> None:
    async with wired(database, tmp_path) as wire:
        await wire.told(
            "writeback/workflow_output", workflow_run_id="run", step_id="s", outputs={"goal": "Ship."}
        )
        await wire.selector("msg-1")
        memory = wire.house.memory()
    (memory / "memory.db").write_bytes(b"no database at all" * 500)
    for beside in ("memory.db-wal", "memory.db-shm"):
        (memory / beside).unlink(missing_ok=True)
    async with wired(database, tmp_path) as wire:
        recall = await wire.post("recall", RECALL)
        assert (recall.status_code, recall.json()["error_code"]) == (503, "memory_db_corrupt")
        context = await wire.selector("msg-2")
        assert (context["status"], context["bulletin"]["status"]) == ("disabled", "previous")
        assert "Ship." in context["bulletin"]["rendered"]


async def test_a_disabled_orchestrator_gets_contexts_and_nothing_else(
    database: Database, tmp_path: Path
) -> None:
    listed = (
        f'[[graph.orchestrators]]\ntenant_id = "{TENANT}"\norchestrator_id = "planner"\nenabled = false\n'
    )
    async with wired(database, tmp_path, listed) as wire:
        assert (await wire.post("recall", RECALL)).json()["error_code"] == "memory_disabled"
        context = await wire.selector("msg-1")
        assert (context["status"], context["bulletin"]["status"]) == ("disabled", "empty")
        assert not wire.house.memory().exists()


async def test_a_memory_that_is_written_around_us_is_named_in_the_log_when_it_is_recalled(
    wire: Wire, capsys: pytest.CaptureFixture[str]
) -> None:
    written = await wire.say("msg-a", "The office moved.")
    async with opened_file(wire.house.memory() / "memory.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON; UPDATE memories SET importance = 101")
    response = await wire.post("recall", RECALL)
    assert (response.status_code, response.json()["error_code"]) == (500, "memory_row_invalid")
    assert f"memories '{written['memories'][0]['memoryId']}'" in capsys.readouterr().out
