"""Write-backs: messages, outputs of steps and findings become memories, once."""

from __future__ import annotations

import json

import apsw
import pytest

from elf.families.graph.errors import NoSuchMemory
from elf.families.graph.model import MemoryNode, Source
from elf.families.graph.rules.captures import WriteBack, of_finding, of_message, of_outputs
from elf.families.graph.rules.ids import derived_id
from elf.families.graph.store.edges import need_edge
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.nodes import change_status, need_memory
from elf.families.graph.writeback import WrittenBack, prepare, write_back
from tests.db.graph.graph_kit import VERSION, memory, put

pytestmark = pytest.mark.anyio
OUTPUT = Source(source_type="workflow_output", captured_by="system", workflow_run_id="r", step_id="s")
MESSAGE = Source(source_type="channel_transcript", captured_by="system", conversation_id="c")
DIAGNOSTICS = Source(source_type="diagnostics", captured_by="system")


async def written(file: MemoryFile, asked: WriteBack) -> WrittenBack:
    return await file.write(lambda change: write_back(change, prepare(asked), embedding_version=VERSION))


async def read(file: MemoryFile, memory_id: str) -> MemoryNode:
    return (await file.read(lambda snapshot: need_memory(snapshot, memory_id))).memory


def outputs(values: dict[str, object], *, attempt: int = 1) -> WriteBack:
    return of_outputs("r", "s", attempt, values, OUTPUT)


def outcomes(answer: WrittenBack) -> list[str]:
    return [one.outcome for one in answer.memories]


async def test_a_message_becomes_an_observation_of_its_conversation(file: MemoryFile) -> None:
    answer = await written(file, of_message("msg-1", "The office moved to Lisbon.", MESSAGE))
    assert (answer.status, outcomes(answer)) == ("written", ["ADD"])
    found = await read(file, answer.memories[0].memory_id)
    assert (found.type, found.importance, found.confidence, found.source) == ("Observation", 45, 0.7, MESSAGE)
    assert (found.content, found.summary, found.status) == (*["The office moved to Lisbon."] * 2, "active")


async def test_the_same_message_again_writes_nothing(file: MemoryFile) -> None:
    first = await written(file, of_message("msg-1", "The office moved.", MESSAGE))
    again = await written(file, of_message("msg-1", "Something else.", MESSAGE))
    assert (again.status, outcomes(again)) == ("duplicate", ["NONE"])
    assert (await read(file, first.memories[0].memory_id)).content == "The office moved."


async def test_a_step_makes_decisions_and_todos_and_a_later_attempt_updates_them(file: MemoryFile) -> None:
    first = await written(file, outputs({"decision": "Use Postgres.", "todo": "Order disks."}))
    later = await written(file, outputs({"decision": "Use SQLite.", "todo": "Order disks."}, attempt=2))
    assert (outcomes(first), outcomes(later)) == (["ADD", "ADD"], ["UPDATE", "NONE"])
    found = await read(file, derived_id("w", "r", "s", "decision"))
    assert (found.type, found.content, found.source) == ("Decision", "Use SQLite.", OUTPUT)


async def test_an_earlier_attempt_that_comes_late_changes_nothing(file: MemoryFile) -> None:
    await written(file, outputs({"decision": "Use SQLite."}, attempt=2))
    late = await written(file, outputs({"decision": "Use Postgres."}, attempt=1))
    assert (late.status, late.memories) == ("outdated", ())
    assert (await read(file, derived_id("w", "r", "s", "decision"))).content == "Use SQLite."
    assert (await written(file, outputs({"decision": "x"}, attempt=1))).status == "duplicate"


async def test_what_was_retracted_is_not_revived_by_a_later_attempt(file: MemoryFile) -> None:
    await written(file, outputs({"decision": "Use Postgres."}))
    memory_id = derived_id("w", "r", "s", "decision")
    await file.write(
        lambda change: change_status(
            change, memory_id, "retracted", "RETRACT", reason=None, path="$.memory_id"
        )
    )
    await written(file, outputs({"decision": "Use SQLite."}, attempt=2))
    assert (await read(file, memory_id)).status == "retracted"


async def test_what_cannot_be_a_memory_is_told_and_the_rest_is_written(file: MemoryFile) -> None:
    answer = await written(file, outputs({"note": "password: hunter2-Zq81!x", "empty": "", "goal": "Ship."}))
    assert [(one.field, one.reason) for one in answer.skipped] == [
        ("$.outputs.note", "secret_detected"),
        ("$.outputs.empty", "empty_content"),
    ]
    assert outcomes(answer) == ["ADD"]
    assert "hunter2" not in file.layout.log_file.read_text()


async def test_an_output_that_says_something_else_of_the_same_matter_contradicts_what_was_said(
    file: MemoryFile,
) -> None:
    first, other = [
        await written(
            file,
            of_outputs("r", step, 1, {"decision": f"We are going with {what} for the ledger."}, OUTPUT),
        )
        for step, what in (("a", "Postgres"), ("b", "SQLite"))
    ]
    (edge_id,) = other.edge_ids
    edge = (await file.read(lambda snapshot: need_edge(snapshot, edge_id))).edge
    assert edge.edge_type == "Contradicts"
    assert (edge.from_memory_id, edge.to_memory_id) == (
        other.memories[0].memory_id,
        first.memories[0].memory_id,
    )
    for one in (first, other):
        assert (await read(file, one.memories[0].memory_id)).status == "active"


async def test_a_finding_is_related_to_what_it_follows_from(file: MemoryFile) -> None:
    await put(file, memory("m1"), memory("m2"))
    answer = await written(file, of_finding("f-1", "The disk is full.", ["m1", "m2"], DIAGNOSTICS))
    edges = [
        (await file.read(lambda snapshot, id=id: need_edge(snapshot, id))).edge for id in answer.edge_ids
    ]
    finding = answer.memories[0].memory_id
    assert [(one.from_memory_id, one.to_memory_id, one.edge_type, one.weight) for one in edges] == [
        ("m1", finding, "RelatedTo", 0.7),
        ("m2", finding, "RelatedTo", 0.7),
    ]
    again = await written(file, of_finding("f-1", "The disk is full.", ["m1", "m2"], DIAGNOSTICS))
    assert (again.status, again.edge_ids) == ("duplicate", list(answer.edge_ids))


async def test_a_finding_related_to_nothing_known_leaves_nothing(file: MemoryFile) -> None:
    with pytest.raises(NoSuchMemory) as refused:
        await written(file, of_finding("f-1", "The disk is full.", ["missing"], DIAGNOSTICS))
    assert refused.value.fields == ("$.related_memory_ids[0]",)
    with pytest.raises(NoSuchMemory):
        await read(file, derived_id("d", "f-1"))


async def test_each_write_back_is_a_line_of_the_log_without_its_text(file: MemoryFile) -> None:
    await written(file, of_message("msg-1", "The office moved.", MESSAGE))
    line = json.loads(file.layout.log_file.read_text())
    assert (line["event"], line["key"], line["status"]) == (
        "memory.writeback",
        "channel_transcript:msg-1",
        "written",
    )
    assert "office" not in json.dumps(line)


async def test_what_was_written_back_is_looked_up_by_its_index(file: MemoryFile, kit: FileKit) -> None:
    await written(file, of_message("msg-1", "x", MESSAGE))
    connection = apsw.Connection(str(file.layout.database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for statement in ("writeback", "last_attempt"):
            sql = f"EXPLAIN QUERY PLAN {kit.queries[statement]}"
            values = {"tenant_id": "a", "orchestrator_id": "b", "series": "c", "attempt": 1}
            plan = " ".join(row[3] for row in connection.execute(sql, values))
            assert "USING INDEX writebacks" in plan or "USING COVERING INDEX writebacks" in plan, plan
            assert "TEMP B-TREE" not in plan
    finally:
        connection.close()
