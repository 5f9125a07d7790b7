"""Orchestrators that have no memory: who reads of one makes none, and the first write that succeeds does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elf.db.database import Database
from elf.families.graph.open_files import OpenFiles
from tests.db.graph.house import FACT, TENANT, House, house_at, link

pytestmark = pytest.mark.anyio

NAMES = [f"o{number}" for number in range(25)]
ASKED = {"purpose": "selector", "message_id": "m", "message": "office"}
DIAGNOSIS = {"finding_id": "f1", "text": "The disk is full."}


async def homes(house: House) -> list[str]:
    """Return the orchestrators that operators are told of."""
    answer = await house.client.get("/v1/admin/graph/orchestrators", params={"limit": 200})
    return [one["orchestrator_id"] for one in answer.json()["items"]]


async def made(house: House, *names: str) -> None:
    """See that there are these memories and no others: in Postgres, on the disk, and among the open files."""
    (files,) = (owner for owner in house.opened.owners if isinstance(owner, OpenFiles))
    assert await homes(house) == [*names]
    assert sorted(one.name for one in house.root.glob(f"{TENANT}/*")) == [*names]
    assert files.open_count == len(names)


async def test_who_reads_of_an_orchestrator_without_memory_finds_nothing_and_makes_nothing(
    house: House,
) -> None:
    for name in NAMES:
        named = {"orchestrator_id": name}
        bundle = await house.post("recall", query="office", explain=True, **named)
        assert (bundle["nodes"], bundle["edges"], bundle["citations"]) == ([], [], [])
        for path in ("memories", "contradictions", "ingest"):
            assert await house.get(path, **named) == {"items": [], "next_cursor": None}
        for path in ("memories/m1", "memories/m1/history", "memories/m1/edges"):
            missed = await house.get(path, 404, **named)
            assert missed["fields"] == ["$.memory_id"]
        status = await house.get("status", **named)
        assert status == {
            "orchestrator_id": name,
            "status": "ok",
            "error_code": None,
            "message": None,
            "counts": {
                "memories": {}, "edges": {}, "unresolved_contradictions": 0, "vectors_to_make": 0, "file_bytes": 0,
            },
        }  # fmt: skip
        assert await house.post("ingest/run", **named) == {"here": True, "files": []}
        denied = await house.post("recall", 403, query="office", requesting_orchestrator_id="z", **named)
        assert denied["error_code"] == "SCOPE_DENIED"
    await made(house)


async def test_it_answers_as_an_empty_memory_does(house: House) -> None:
    await house.post("memories", memories=[FACT], orchestrator_id="empty")
    await house.erase(orchestrator_id="empty", memory_ids=["m1"])
    prompted = {**ASKED, "purpose": "step", "prompt": "Where?"}
    for path, body in (
        ("recall", {"query": "office"}), ("context", ASKED), ("context", prompted),
        ("context", {"purpose": "diagnostics", "prompt": "office"}),
    ):  # fmt: skip
        empty = await house.post(path, orchestrator_id="empty", **body)
        assert await house.post(path, orchestrator_id="none", **body) == empty
    await made(house, "empty")


async def test_a_context_without_memory_is_empty_and_not_kept(house: House) -> None:
    for name in NAMES:
        context = await house.post("context", orchestrator_id=name, **ASKED)
        assert (context["status"], context["bulletin"]["citations"]) == ("ok", [])
    await made(house)
    await house.post("memories", memories=[FACT], orchestrator_id="o1")
    context = await house.post("context", orchestrator_id="o1", **ASKED)
    assert [one["memoryId"] for one in context["bulletin"]["citations"]] == ["m1"]


async def test_a_context_is_empty_also_when_the_recall_fails(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("elf.families.graph.recall.recaller.find", fail)
    context = await house.post("context", **ASKED)
    assert (context["status"], context["bulletin"]["status"]) == ("fallback", "empty")
    await made(house)


async def test_without_auto_register_an_unknown_one_is_not_found_and_gets_an_empty_bulletin(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path, auto_register=False) as house:
        for path in ("memories", "contradictions", "ingest", "status"):
            assert (await house.get(path, 404))["fields"] == ["$.orchestrator_id"]
        assert (await house.post("recall", 404, query="office"))["error_code"] == "NOT_FOUND"
        assert (await house.post("memories", 404, memories=[FACT]))["error_code"] == "NOT_FOUND"
        context = await house.post("context", **ASKED)
        assert (context["status"], context["bulletin"]["status"]) == ("disabled", "empty")
        assert (await house.post("context", purpose="diagnostics", prompt="office"))["status"] == "disabled"
        await made(house)


async def test_a_change_of_what_there_is_not_makes_no_memory(house: House) -> None:
    why = {"reason": "It was said."}
    for path, body in (
        ("memories/m1/update", {"content": "New.", **why}),
        ("memories/m1/supersede", {"by_memory_id": "m2", **why}),
        ("memories/m1/retract", why),
        ("memories/m1/restore", why),
        ("contradictions/e1/resolve", {"keep": "FROM", **why}),
        ("edges", {"edges": [link("m1", "m2")]}),
        ("memories", {"memories": [FACT], "edges": [link("m1", "m2")]}),
        ("writeback/diagnostics", {**DIAGNOSIS, "related_memory_ids": ["m1"]}),
    ):
        missed = await house.post(path, 404, **body)
        assert missed["fields"] != ["$.orchestrator_id"], path
    line = {"edge": link("m1", "m2", edgeId="e1", createdAt="2026-01-01T00:00:00Z")}
    body = {"orchestrator_id": "planner", "items": [line]}
    assert (await house.client.post("/v1/admin/graph/import", json=body)).status_code == 404
    source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": "/etc/hostname"}
    await house.post("memories", 403, memories=[{**FACT, "source": source}])
    await made(house)


async def test_the_first_write_that_succeeds_makes_the_memory(house: House) -> None:
    said = {"message_id": "a", "conversation_id": "c", "text": "The office is in Lisbon."}
    for name, path, body in (
        ("a", "memories", {"memories": [FACT]}),
        ("b", "writeback/transcript", said),
        ("c", "writeback/diagnostics", DIAGNOSIS),
    ):
        await house.post(path, orchestrator_id=name, **body)
        assert len((await house.get("memories", orchestrator_id=name))["items"]) == 1
    lines = await house.client.get("/v1/admin/graph/export", params={"orchestrator_id": "a"})
    assert lines.status_code == 200
    await made(house, "a", "b", "c")


async def test_a_file_that_lies_in_the_folder_already_is_taken_in(house: House) -> None:
    ingest = house.memory() / "ingest"
    ingest.mkdir(parents=True)
    (ingest / "notes.md").write_text("We decided to use Postgres.")
    assert [one["status"] for one in (await house.post("ingest/run"))["files"]] == ["processed"]
    await made(house, "planner")


async def test_a_memory_of_which_postgres_does_not_know_is_read(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[FACT])
    async with database.connection() as connection:
        await connection.execute("DELETE FROM graph_homes")  # as after a restore of an older dump
    async with house_at(database, tmp_path) as house:
        assert len((await house.post("recall", query="office"))["nodes"]) == 1
        await made(house, "planner")
