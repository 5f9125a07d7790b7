"""What is asked of memories in a running service, each by its own name: over HTTP, and once over MCP."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from mcp import Client, StdioServerParameters

from tests.fronts.mcp_kit import elf_mcp
from tests.system.service import REPO, RunningService, wait_for, write_config

SOURCE = {"sourceType": "manual", "capturedBy": "user"}


@dataclass(frozen=True)
class Orchestrator:
    """An orchestrator of a tenant of its own."""

    service: RunningService
    tenant: str
    name: str = "planner"

    @property
    def place(self) -> dict[str, str]:
        return {"tenant_id": self.tenant, "orchestrator_id": self.name}

    @property
    def folder(self) -> Path:
        """The folder of its memory."""
        return self.service.config.parent / ".elf" / "graph" / self.tenant / self.name / "memory"

    def ask(self, path: str, status: int = 200, /, **fields: Any) -> Any:
        """Return what is answered to a request, which has this status."""
        answer = self.service.client.post(f"/v1/graph/{path}", json={**self.place, **fields})
        assert answer.status_code == status, answer.text
        return answer.json()

    def read(self, path: str, **query: Any) -> Any:
        answer = self.service.client.get(f"/v1/graph/{path}", params={**self.place, **query})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def say(self, message_id: str, conversation_id: str, text: str) -> None:
        """Write a message of a channel back."""
        self.ask("writeback/transcript", message_id=message_id, conversation_id=conversation_id, text=text)

    def context(self, message_id: str, message: str, **more: Any) -> Any:
        """Return the context of a message, or of a step of its workflow."""
        purpose = "step" if "prompt" in more else "selector"
        return self.ask("context", purpose=purpose, message_id=message_id, message=message, **more)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of its log that tell of an event."""
        lines = map(json.loads, (self.folder / "logs" / "memory.log").read_text().splitlines())
        return [line for line in lines if line["event"] == event]


@pytest.fixture
def planner(service: RunningService) -> Orchestrator:
    return Orchestrator(service, f"t-{uuid4()}")


def fact(memory_id: str, content: str, **more: Any) -> dict[str, Any]:
    """Return a memory to write."""
    usual = {"type": "Fact", "importance": 50, "confidence": 0.8, "source": SOURCE}
    return {**usual, "memoryId": memory_id, "content": content, **more}


def test_ingest_folder_lifecycle_ends_in_processed_or_rejected(planner: Orchestrator) -> None:
    planner.say("m0", "c0", "Hello.")
    ingest = planner.folder / "ingest"
    (ingest / "good.md").write_text("We decided to use Postgres.")
    (ingest / "bad.json").write_text('{"memories": [{}], "edges": []}')
    wait_for(lambda: planner.ask("ingest/run") and not [*ingest.glob("*.*")], "both files have ended")
    processed = json.loads((ingest / "processed" / "good.md.processed.json").read_text())
    rejected = json.loads((ingest / "rejected" / "bad.json.rejection.json").read_text())
    assert (processed["status"], processed["orchestratorId"]) == ("processed", "planner")
    assert processed["sourcePath"] == str(ingest / "processed" / "good.md")
    assert (rejected["status"], rejected["error"]["code"]) == ("rejected", "invalid_shape")
    assert "$.memories[0].type" in rejected["error"]["fields"]
    (decision,) = planner.read("memories", type="Decision")["items"]
    assert decision["memoryId"] in processed["memoryIds"]
    assert decision["source"]["sourcePath"] == processed["sourcePath"]
    assert [line["reason_code"] for line in planner.logged("memory.ingest.rejected")] == ["invalid_shape"]
    (ingest / "good.md").write_text("We decided to use Postgres.")
    wait_for(lambda: planner.ask("ingest/run") and not [*ingest.glob("*.*")], "the same file has ended again")
    assert [one["memoryId"] for one in planner.read("memories", type="Decision")["items"]] == [
        decision["memoryId"]
    ]


def test_typed_node_and_edge_persistence_in_sqlite(planner: Orchestrator) -> None:
    edge = {"edgeId": "e", "fromMemoryId": "a", "toMemoryId": "b", "edgeType": "CausedBy", "weight": 0.5}
    memories = [fact("a", "We moved."), fact("b", "The lease ended.", type="Event")]
    planner.ask("memories", memories=memories, edges=[edge])
    planner.ask("memories", 404, memories=[fact("c", "It is so.")], edges=[{**edge, "toMemoryId": "none"}])
    script = (
        "import json, sqlite3, sys\n"
        "file = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n"
        "nodes = file.execute('SELECT memory_id, type, status FROM memories ORDER BY memory_id').fetchall()\n"
        "edges = file.execute('SELECT from_memory_id, edge_type, to_memory_id FROM memory_edges').fetchall()\n"
        "print(json.dumps([nodes, edges]))\n"
    )
    command = [sys.executable, "-c", script, str(planner.folder / "memory.db")]
    stored = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert stored == [[["a", "Fact", "active"], ["b", "Event", "active"]], [["a", "CausedBy", "b"]]]


def test_hybrid_retrieval_returns_merged_results_with_citations(planner: Orchestrator) -> None:
    planner.ask(
        "memories",
        memories=[
            fact("words", "The lease of the office ends in May.", source={**SOURCE, "conversationId": "c1"}),
            fact("meaning", "Our workplace is rented until spring."),
        ],
    )
    wait_for(lambda: not planner.read("status")["counts"]["vectors_to_make"], "the vectors are made")
    bundle = planner.ask("recall", query="when does the lease of the office end?", explain=True)
    assert (bundle["mode"], bundle["degraded"]) == ("hybrid", [])
    explained = {one["memory"]["memoryId"]: one["explain"] for one in bundle["nodes"]}
    assert explained.keys() == {"words", "meaning"}
    assert (explained["words"]["textRank"], explained["meaning"]["textRank"]) == (1, None)
    assert {one["vectorRank"] for one in explained.values()} == {1, 2}
    assert {one["memoryId"]: one["conversationId"] for one in bundle["citations"]} == {
        "words": "c1", "meaning": None,
    }  # fmt: skip


def test_contradiction_handling_creates_graph_edges_and_status_transitions(planner: Orchestrator) -> None:
    planner.ask("memories", memories=[fact("old", "My favourite colour is blue.", type="Preference")])
    new = fact("new", "My favourite colour is green.", type="Preference")
    (edge,) = planner.ask("memories", memories=[new])["contradictions"]
    assert (edge["fromMemoryId"], edge["edgeType"], edge["toMemoryId"]) == ("new", "Contradicts", "old")
    assert {one["status"] for one in planner.read("memories", status="all")["items"]} == {"active"}
    (open_one,) = planner.read("contradictions")["items"]
    assert open_one["edge"]["edgeId"] == edge["edgeId"]
    planner.ask(f"contradictions/{edge['edgeId']}/resolve", keep="FROM", reason="It was said later.")
    told = {one["memoryId"]: one["status"] for one in planner.read("memories", status="all")["items"]}
    assert told == {"new": "active", "old": "superseded"}
    assert planner.read("contradictions")["items"] == []
    types = {one["edge"]["edgeType"] for one in planner.read("memories/old/edges")["items"]}
    assert types == {"Contradicts", "Updates"}
    planner.ask("memories/new/retract", reason="It was a joke.")
    assert [one["operation"] for one in planner.read("memories/new/history")["items"]] == ["ADD", "RETRACT"]


def test_same_orchestrator_cross_channel_recall_is_allowed(planner: Orchestrator) -> None:
    planner.say("m1", "mail", "The invoice of Contoso is late.")
    planner.say("m2", "chat", "The invoice of Fabrikam is paid.")
    found = planner.ask("recall", query="invoice", requesting_orchestrator_id="planner")
    assert {one["conversationId"] for one in found["citations"]} == {"mail", "chat"}


def test_cross_orchestrator_recall_is_denied_and_logged(planner: Orchestrator) -> None:
    planner.say("m1", "c1", "The office is in Lisbon.")
    denied = planner.ask("recall", 403, query="office", requesting_orchestrator_id="writer")
    assert (denied["error_code"], denied["fields"]) == ("SCOPE_DENIED", ["$.requesting_orchestrator_id"])
    (line,) = planner.logged("memory.recall.scope_denied")
    assert (line["requested_orchestrator_id"], line["available_orchestrator_id"]) == ("writer", "planner")
    writer = Orchestrator(planner.service, planner.tenant, "writer")
    assert writer.ask("recall", query="office")["nodes"] == []


def test_bulletin_is_injected_into_selector_and_step_context_for_every_message(planner: Orchestrator) -> None:
    planner.ask("memories", memories=[fact("goal", "Open a shop in Faro.", type="Goal")])
    for number in range(3):
        message = f"message {number} of the channel"
        selector = planner.context(f"m{number}", message)
        step = planner.context(f"m{number}", message, prompt="Where is the shop?")
        assert (selector["status"], step["status"]) == ("ok", "ok")
        assert "Open a shop in Faro. [goal]" in selector["bulletin"]["rendered"]
        assert step["bulletin"] == selector["bulletin"]
        assert [one["memory"]["memoryId"] for one in step["recall"]["nodes"]] == ["goal"]
        assert (planner.folder / "bulletins" / f"m{number}.json").exists()


def test_message_a_creates_memory_and_message_b_in_the_same_orchestrator_recalls_it(
    planner: Orchestrator,
) -> None:
    planner.ask("memories", memories=[fact("goal", "Ship the beta by Friday.", type="Goal")])
    planner.say("a", "mail", "The beta needs a changelog.")
    told = planner.context("b", "What does the beta need?")["bulletin"]
    assert "The beta needs a changelog." in told["rendered"]
    assert "Ship the beta by Friday." in told["rendered"]
    assert {one["conversationId"] for one in told["citations"]} == {"mail", None}


def test_workflow_step_output_produces_decision_and_todo_and_affects_subsequent_context(
    planner: Orchestrator,
) -> None:
    before = planner.context("m1", "Plan the release.", prompt="What is left?")
    outputs = {"decision": "Release on Monday.", "todo": "Write the changelog."}
    step = {"workflow_run_id": "r1", "step_id": "plan", "attempt": 1, "outputs": outputs}
    assert planner.ask("writeback/workflow_output", **step)["status"] == "written"
    assert planner.ask("writeback/workflow_output", **step)["status"] == "duplicate"
    after = planner.context("m2", "Plan the release.", prompt="What is left?")
    assert "Release on Monday." not in before["bulletin"]["rendered"]
    sections = after["bulletin"]["sections"]
    assert [line["text"].split(" [")[0] for line in sections["recent_decisions"]] == ["- Release on Monday."]
    assert [line["text"].split(" [")[0] for line in sections["open_todos"]] == ["- Write the changelog."]
    wait_for(lambda: _recalled_types(planner) == {"Decision", "Todo"}, "both are found by what they mean")
    assert {one["workflowRunId"] for one in after["bulletin"]["citations"]} == {"r1"}


def _recalled_types(planner: Orchestrator) -> set[str]:
    found = planner.context("m3", "Plan the release.", prompt="What is left?")
    return {one["memory"]["type"] for one in found["recall"]["nodes"]}


def test_diagnostics_request_retrieves_bounded_evidence_with_provenance(planner: Orchestrator) -> None:
    long = "The ledger was slow because its disk was full. " * 40
    planner.ask("memories", memories=[fact(f"f{number}", f"{number}: {long}") for number in range(30)])
    told = planner.ask("context", purpose="diagnostics", prompt="Why was the ledger slow?")
    evidence = told["findings"]["evidence"]
    assert 0 < len(evidence) <= 20
    assert sum(len(one["text"]) for one in evidence) <= 8_000
    cited = {one["memoryId"]: one["sourceType"] for one in told["findings"]["citations"]}
    assert cited == {one["memoryId"]: "manual" for one in evidence}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_an_agent_remembers_over_mcp_is_recalled_over_http(planner: Orchestrator) -> None:
    async with Client(f"{planner.service.mcp_url}/graph") as agent:
        content = "The office is in Lisbon."
        said = {**planner.place, "content": content, "type": "Fact", "memory_id": "office"}
        written = await agent.call_tool("graph_remember", said)
        assert not written.is_error, written.content
        asked = {**planner.place, "message_id": "m1", "message": "Where is the office?"}
        told = json.loads((await agent.call_tool("graph_bulletin", asked)).content[0].text)
    assert content in told["bulletin"]["rendered"]
    (node,) = planner.ask("recall", query="office")["nodes"]
    assert (node["memory"]["memoryId"], node["memory"]["source"]["capturedBy"]) == ("office", "system")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_the_config_fixes_no_agent_on_standard_input_chooses(
    planner: Orchestrator, tmp_path: Path
) -> None:
    planner.ask("memories", memories=[fact("office", "The office is in Lisbon.")])
    binds = {"http_bind": f'"{urlsplit(planner.service.url).netloc}"'}
    fixed = {name: f'"{value}"' for name, value in planner.place.items()}
    program, *arguments = elf_mcp(
        "-c", str(write_config(tmp_path, **binds, **fixed)), "--stdio", "--family", "graph"
    )
    async with Client(StdioServerParameters(command=program, args=arguments, cwd=REPO)) as agent:
        for tool in (await agent.list_tools()).tools:
            assert not {"tenant_id", "orchestrator_id"} & tool.input_schema["properties"].keys()
        found = json.loads((await agent.call_tool("graph_recall", {"query": "office"})).content[0].text)
        assert [one["memory"]["memoryId"] for one in found["nodes"]] == ["office"]
        other = await agent.call_tool("graph_recall", {"query": "office", "orchestrator_id": "writer"})
        assert json.loads(other.content[0].text)["error_code"] == "SCOPE_DENIED"
