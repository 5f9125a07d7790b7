"""The graph by its client and by the commands made from it: everything it can be asked, against the whole service."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, assert_type
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from elf.client import AsyncClient, Client, Conflict, InvalidRequest, NotFound
from elf.client.families.graph import Bundle, GraphClient, Memory, NewEdge, NewMemory, NewSource
from elf.client.families.graph.results import Context, LookedNow
from tests.families.command_line import CommandLine, Ended
from tests.system.service import RunningService, wait_for, write_config

OFFICE = "The office is in Lisbon."
SECRET = "the key is AKIAIOSFODNN7EXAMPLE"
Elf = Callable[..., Ended]


@pytest.fixture
def tenant() -> str:
    """A tenant whose name a folder may have."""
    return f"t-{uuid4()}"


@pytest.fixture
def known(service: RunningService, tenant: str) -> Iterator[GraphClient[Client]]:
    with Client(service.url, tenant_id=tenant, agent_id="planner") as client:
        yield client.graph


@pytest.fixture
def operated(service: RunningService, tenant: str) -> Iterator[GraphClient[Client]]:
    """The client of an operator, at the admin address."""
    with Client(service.admin_url, tenant_id=tenant, agent_id="planner") as client:
        yield client.graph


@pytest.fixture
def folder(service: RunningService, tenant: str) -> Path:
    """The folder of the planner's memory, once there is one."""
    return service.config.parent / ".elf" / "graph" / tenant / "planner" / "memory"


@pytest.fixture
def elf(service: RunningService, tenant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Elf:
    """Runs a command for the planner, or for another orchestrator that is named."""
    binds = {"http_bind": service.url, "admin_bind": service.admin_url}
    lines = {name: f'"{urlsplit(url).netloc}"' for name, url in binds.items()}
    line = CommandLine(write_config(tmp_path, **lines), tenant, capsys)

    def run(verb: str, *arguments: str, agent: str = "planner") -> Ended:
        return line(GraphClient, verb, *arguments, "--agent", agent)

    return run


def data(ended: Ended) -> Any:
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def ids(graph: GraphClient[Client], **which: Any) -> list[str]:
    return sorted(memory.memory_id for memory in graph.list(**which))


def test_what_is_remembered_is_recalled_with_where_it_is_from(known: GraphClient[Client]) -> None:
    written = known.remember(OFFICE, "Fact", importance=80, conversation_id="c1", memory_id="office")
    assert [(one.memory_id, one.outcome) for one in written.memories] == [("office", "ADD")]
    assert (
        known.remember(OFFICE, "Fact", importance=80, conversation_id="c1", memory_id="office")
        .memories[0]
        .outcome
        == "NONE"
    )
    bundle = known.recall("where is the office?", explain=True)
    assert_type(bundle, Bundle)
    (found,) = bundle.nodes
    assert (found.memory.content, found.memory.orchestrator_id, found.snippet) == (OFFICE, "planner", OFFICE)
    assert found.explain is not None
    assert found.final_score == found.explain.final_score
    assert [(one.memory_id, one.conversation_id) for one in bundle.citations] == [("office", "c1")]
    assert known.recall("office", types=["Goal"]).nodes == []
    assert known.show("office") == found.memory
    with pytest.raises(NotFound):
        known.show("none")
    with pytest.raises(InvalidRequest, match="content"):
        known.remember(SECRET, "Fact")


def test_memories_and_edges_are_written_together_and_listed_in_pages(known: GraphClient[Client]) -> None:
    memories: list[NewMemory | dict[str, object]] = [
        NewMemory(content=OFFICE, type="Fact", memory_id="a", source=NewSource(conversation_id="c1")),
        {
            "content": "Move by May.", "type": "Goal", "importance": 5, "confidence": 1.0, "memoryId": "b",
            "source": {"sourceType": "manual", "capturedBy": "user"},
        },
    ]  # fmt: skip
    edge = NewEdge(from_memory_id="b", to_memory_id="a", edge_type="CausedBy", weight=0.7, edge_id="e")
    assert [one.outcome for one in known.remember_all(memories, edges=[edge]).edges] == ["ADD"]
    assert [one.outcome for one in known.link([edge]).edges] == ["NONE"]
    (of_a,) = known.edges("a", direction="incoming")
    assert (of_a.edge.edge_id, of_a.edge.from_memory_id, of_a.resolution) == ("e", "b", None)
    pages = [*known.list(limit=1).pages()]
    assert sorted(one.memory_id for page in pages for one in page.items) == ["a", "b"]
    assert_type(pages[0].items, list[Memory])
    assert len(pages) == 2
    assert ids(known, type="Goal") == ids(known, min_importance=0, type="Goal") == ["b"]
    with pytest.raises(InvalidRequest) as caught:
        known.remember_all([NewMemory(content=OFFICE, type="Fact", importance=101)])
    assert caught.value.fields == ("memories[0].importance",)


def test_what_is_no_longer_true_is_said_so_and_stays_in_the_history(known: GraphClient[Client]) -> None:
    for memory_id, content in (("a", OFFICE), ("b", "The office is in Porto."), ("c", "It rains.")):
        known.remember(content, "Fact", memory_id=memory_id)
    known.update("c", content="It snows.", reason="winter")
    assert [one.operation for one in known.history("c")] == ["ADD", "UPDATE"]
    assert known.retract("c", reason="it was a joke").memories[0].status == "retracted"
    assert known.restore("c").memories[0].status == "active"
    known.link(
        [NewEdge(from_memory_id="a", to_memory_id="b", edge_type="Contradicts", weight=1, edge_id="e")]
    )
    (contradiction,) = known.contradictions()
    assert (contradiction.from_memory.memory_id, contradiction.to_memory.memory_id) == ("a", "b")
    resolved = known.resolve("e", "it moved", keep="TO")
    assert {one.memory_id: one.status for one in resolved.memories} == {"a": "superseded", "b": "active"}
    with pytest.raises(Conflict):
        known.resolve("e", "again", both_true=True)
    winner = NewMemory(content="The office is in Braga.", type="Fact", memory_id="d")
    assert known.supersede("b", memory=winner).edges[0].edge_type == "Updates"
    assert ids(known) == ["c", "d"]
    assert ids(known, status="superseded") == ["a", "b"]


def test_a_message_gets_a_bulletin_and_what_is_done_is_written_back(known: GraphClient[Client]) -> None:
    said = known.write_transcript("msg-1", "c1", "The goal is to move by May.")
    assert (said.status, known.write_transcript("msg-1", "c1", "The goal is to move by May.").status) == (
        "written", "duplicate",
    )  # fmt: skip
    output = known.write_output("run-1", "plan", {"decision": "Use Postgres.", "todo": "Order disks."})
    assert [one.outcome for one in output.memories] == ["ADD", "ADD"]
    found = known.write_diagnostics(
        "f-1", "The disk is full.", related_memory_ids=[output.memories[1].memory_id]
    )
    assert len(found.edge_ids) == 1
    told = known.bulletin("msg-2", "What about Postgres and the disks?")
    assert_type(told, Context)
    assert told.bulletin is not None
    assert "Use Postgres." in told.bulletin.rendered
    assert {one.memory_id for one in told.bulletin.citations} >= {one.memory_id for one in output.memories}
    assert known.bulletin("msg-2", "Something else").bulletin == told.bulletin
    findings = known.context("diagnostics", prompt="why is the disk full?").findings
    assert findings is not None
    assert "The disk is full." in {one.text for one in findings.evidence}


def test_a_dropped_file_is_taken_in_and_told(known: GraphClient[Client], folder: Path) -> None:
    known.remember("It rains.", "Fact")
    (folder / "ingest" / "notes.md").write_text("We decided to use Postgres.", encoding="utf-8")

    def looked() -> LookedNow | None:
        return now if (now := known.ingest()).files else None

    (ended,) = wait_for(looked, "the file is taken in").files
    assert (ended.status, ended.source_path) == (
        "processed",
        str(folder / "ingest" / "processed" / "notes.md"),
    )
    (file,) = known.ingested(status="processed")
    assert (file.memories_written, file.error) == (2, None)
    assert ids(known, source_path=file.source_path) == sorted(file.memory_ids)
    status = known.status()
    assert status.counts is not None
    assert (status.status, status.counts.memories["active"]["Decision"]) == ("ok", 1)


def test_no_orchestrator_asks_for_another_ones_memory(service: RunningService, tenant: str) -> None:
    with Client(service.url, tenant_id=tenant, agent_id="planner") as client:
        client.graph.remember(OFFICE, "Fact", memory_id="a")
        other = client.within(agent_id="writer").graph
        assert other.recall("office").nodes == []
        with pytest.raises(NotFound):
            client.within(tenant_id=f"{tenant}2").graph.show("a")
        with pytest.raises(InvalidRequest):
            client.within(agent_id="../planner").graph.recall("office")


def test_a_damaged_memory_is_recovered_while_the_service_runs(
    known: GraphClient[Client], operated: GraphClient[Client], folder: Path
) -> None:
    test_a_dropped_file_is_taken_in_and_told(known, folder)
    before = {memory.memory_id for memory in known.list() if memory.source.source_type == "ingest_file"}
    assert operated.recover().put_aside == []
    (folder / "memory.db").write_bytes(b"no database" * 100)
    recovered = operated.recover()
    assert (folder / recovered.put_aside[0]).exists()
    assert [(one.memories_written, one.error) for one in recovered.files] == [(2, None)]
    assert set(ids(known)) == before
    assert known.status().status == "ok"
    with pytest.raises(NotFound):
        known.recover()


def test_a_memory_is_exported_imported_and_erased(
    service: RunningService, known: GraphClient[Client], operated: GraphClient[Client], tenant: str
) -> None:
    known.remember(OFFICE, "Fact", memory_id="a")
    known.update("a", content="The office is in Porto.")
    with operated.export() as lines:
        exported = [*lines]
    assert [next(iter(line)) for line in exported] == ["memory", "memory_version", "memory_version"]
    with Client(service.admin_url, tenant_id=f"{tenant}2", agent_id="planner") as elsewhere:
        assert elsewhere.graph.take_in(exported).new == 3
        with elsewhere.graph.export() as lines:
            assert [*lines] == exported
        with pytest.raises(InvalidRequest) as caught:
            elsewhere.graph.take_in([{}])
        assert caught.value.fields == ("items[0]",)
    assert operated.erase(memory_ids=["a"]).erased["versions"] == 2
    assert ids(known, status="all") == []
    with pytest.raises(InvalidRequest):
        operated.erase(everything=True, conversation_id="c1")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_same_client_serves_async_code(service: RunningService, tenant: str) -> None:
    async with AsyncClient(service.url, tenant_id=tenant, agent_id="planner") as client:
        await client.graph.remember(OFFICE, "Fact", memory_id="a")
        assert [one.memory.memory_id for one in (await client.graph.recall("office")).nodes] == ["a"]
        assert [memory.memory_id async for memory in client.graph.list(limit=1)] == ["a"]
    async with (
        AsyncClient(service.admin_url, tenant_id=tenant, agent_id="planner") as operated,
        operated.graph.export() as lines,
    ):
        assert [next(iter(line)) async for line in lines] == ["memory", "memory_version"]


def test_there_is_a_command_for_each_call(elf: Elf) -> None:
    data(elf("remember", OFFICE, "Fact", "--memory-id", "a", "--importance", "80", "--json"))
    data(elf("remember", "The office is in Porto.", "Fact", "--memory-id", "b", "--json"))
    edge = {"fromMemoryId": "a", "toMemoryId": "b", "edgeType": "Contradicts", "weight": 1, "edgeId": "e"}
    assert data(elf("link", json.dumps(edge), "--json"))["edges"] == [{"edgeId": "e", "outcome": "ADD"}]
    recalled = elf("recall", "Where is the office?").out.splitlines()
    assert [line.split("  ")[1:4] for line in recalled[:2]] == [
        ["Fact", "a", "contradicted"], ["Fact", "b", "contradicted"],
    ]  # fmt: skip
    assert (recalled[0].endswith(OFFICE), recalled[2]) == (True, "a  Contradicts  b  e")
    assert [line.split()[0] for line in elf("list").out.splitlines()] == ["b", "a"]
    assert "--cursor" in elf("list", "--limit", "1").err
    shown = dict(line.split(maxsplit=1) for line in elf("show", "a").out.splitlines())
    assert (shown["content"], shown["capturedBy"], "stepId" in shown) == (OFFICE, "user", False)
    assert "Lisbon" in elf("bulletin", "msg-1", "Where is the office?").out
    assert elf("edges", "a").out.startswith("a  Contradicts  b  e")
    assert elf("contradictions").out.splitlines() == [
        "a  Contradicts  b  e",
        f"  a  Fact  active  80  {OFFICE}",
        "  b  Fact  active  50  The office is in Porto.",
    ]
    assert f"Fact  a  contradicted  {OFFICE}" in elf("context", "diagnostics", "--prompt", "office").out
    resolved = elf("resolve", "e", "it moved", "--keep", "TO").out.splitlines()
    assert resolved[:2] == [
        f"a  Fact  superseded  80  {OFFICE}",
        "b  Fact  active      50  The office is in Porto.",
    ]
    assert [line.split("  ")[:3] for line in resolved[2:]][:1] == [["a", "Contradicts", "b"]]
    assert "keep_to  it moved" in elf("edges", "a").out
    assert [line.split("  ")[2] for line in elf("history", "a").out.splitlines()] == ["ADD", "SUPERSEDE"]
    assert [one["memoryId"] for one in data(elf("list", "--status", "superseded", "--json"))["items"]] == [
        "a"
    ]
    assert data(elf("ingest", "--json"))["files"] == []
    assert data(elf("status", "--json"))["counts"]["edges"] == {"Contradicts": 1, "Updates": 1}
    gone = elf("show", "none")
    assert (gone.code, gone.err.startswith("elf: NOT_FOUND: ")) == (1, True)


def test_commands_for_operators_recover_export_import_and_erase(
    elf: Elf, folder: Path, tmp_path: Path
) -> None:
    for number in range(3):
        elf("remember", f"{OFFICE} {number}", "Fact", "--memory-id", f"m{number}")
    assert elf("recover").err == "elf: the memory is sound\n"
    shared = dict(line.split(maxsplit=1) for line in elf("share", "m0").out.splitlines())
    assert (shared["memoryId"], shared["shared"]) == ("m0", "true")
    assert "shared" not in data(elf("share", "m0", "--no-shared", "--json"))["memory"]
    assert elf("share", "none").err.startswith("elf: NOT_FOUND: ")
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert elf("export", str(first)).err.startswith("elf: 8 lines exported; ")
    assert elf("import", str(first), agent="writer").out == "8 lines were new, 0 were known\n"
    assert data(elf("import", str(first), "--json", agent="writer")) == {"new": 0, "known": 8}
    elf("export", str(second), agent="writer")
    assert second.read_text().replace('"writer"', '"planner"') == first.read_text()
    assert elf("export", agent="writer").out == second.read_text()
    (folder / "memory.db").write_bytes(b"no database" * 100)
    assert elf("recover").out.startswith("put aside  memory.db.damaged-")
    taken = data(
        elf("import", str(first), "--json")
    )  # some of it may have been kept from the log of the database
    assert taken["new"] + taken["known"] == 8
    assert sorted(elf("export").out.splitlines()) == sorted(first.read_text().splitlines())
    assert data(elf("erase", "--everything", "--json"))["erased"]["memories"] == 3
    assert elf("export", agent="none").code == 1


def test_a_line_that_cannot_be_imported_is_named_by_its_number(elf: Elf, tmp_path: Path) -> None:
    elf("remember", OFFICE, "Fact", "--memory-id", "a")
    file = tmp_path / "export.jsonl"
    elf("export", str(file))
    lines = file.read_text().splitlines()
    wrong = {"not JSON": "{", "a secret": lines[0].replace(OFFICE, SECRET, 1), "nothing": "{}"}
    for what, line in wrong.items():
        file.write_text("\n".join([lines[0], "", line]))
        ended = elf("import", str(file), agent=f"w-{what.split()[-1]}")
        assert (ended.code, ended.err.startswith("elf: line 3: ")) == (1, True), (what, ended.err)
    assert elf("import", str(tmp_path / "none.jsonl")).code == 2


def test_asking_about_many_orchestrators_makes_none_of_them(
    known: GraphClient[Client], operated: GraphClient[Client], service: RunningService, elf: Elf, folder: Path
) -> None:
    assert (known.recall("office").nodes, ids(known), [*known.ingested()]) == ([], [], [])
    context = known.bulletin("msg-1", "Where is the office?")
    assert (context.status, context.bulletin and context.bulletin.citations) == ("ok", [])
    counts = known.status().counts
    assert counts is not None
    assert (counts.memories, counts.file_bytes) == ({}, 0)
    assert known.ingest() == LookedNow(here=True, files=[])
    for number in range(20):
        name = f"o{number}"
        assert elf("recall", "office", agent=name).err == "elf: nothing found\n"
        assert data(elf("status", "--json", agent=name))["status"] == "ok"
        assert elf("retract", "m1", "--reason", "it is wrong", agent=name).err.startswith(
            "elf: NOT_FOUND: $.memory_id: "
        )
    assert [*operated.orchestrators()] == []
    assert not folder.parent.parent.exists()
    known.remember(OFFICE, "Fact")
    assert [one.orchestrator_id for one in operated.orchestrators()] == ["planner"]
    assert [one.name for one in folder.parent.parent.iterdir()] == ["planner"]


def test_a_memory_whose_folder_is_lost_is_told_and_given_up_at_the_command_line(
    known: GraphClient[Client], service: RunningService, elf: Elf, folder: Path
) -> None:
    elf("remember", OFFICE, "Fact")
    shutil.rmtree(folder.parent)
    lost = elf("recall", "office")
    assert (lost.code, lost.err.startswith("elf: memory_db_lost: the memory.db of planner is gone")) == (
        3,
        True,
    )
    assert str(folder.parent.parent) not in lost.err
    assert known.context("selector", message_id="m", message=OFFICE).status == "disabled"
    assert not folder.exists()
    (told,) = data(elf("orchestrators", "--json"))["items"]
    assert (told["state"], told["error_code"]) == ("disabled", "memory_db_lost")
    assert (told["folder"], told["lost_at"] is None) == (str(folder.parent), False)
    assert "lost its files" in str(service.admin.get("/ready").json()["warnings"])
    assert str(folder.parent) in str(service.events("graph.memories_lost"))
    assert elf("recover").err == "elf: memory.db was lost, and an empty one was begun\n"
    assert elf("recall", "office").err == "elf: nothing found\n"
    assert elf("recover").err == "elf: the memory is sound\n"
