"""Processes that serve the graph: what is opened, shared, refused and broken, and the vectors made behind it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus

from elf.db.database import Database
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.store.file import MemoryFile
from tests.db.graph.house import FACT, House, eventually, fact, house_at, link

pytestmark = pytest.mark.anyio


def files_of(house: House) -> OpenFiles:
    (files,) = (owner for owner in house.opened.owners if isinstance(owner, OpenFiles))
    return files


async def test_a_memory_is_found_by_its_meaning_once_its_vector_is_made(house: House) -> None:
    await house.post("memories", memories=[FACT])
    bundle = await eventually(
        lambda: house.post("recall", query="The office is in Lisbon.", explain=True, top_k_text=0),
        lambda bundle: bundle["nodes"],
    )
    (node,) = bundle["nodes"]
    assert (bundle["mode"], node["memory"]["memoryId"], node["explain"]["vectorRank"]) == ("hybrid", "m1", 1)


async def test_without_its_model_memories_are_found_by_words_and_their_vectors_made_later(
    house: House,
) -> None:
    house.model.away = True
    await house.post("memories", memories=[FACT])
    bundle = await house.post("recall", query="Lisbon")
    assert (bundle["mode"], bundle["degraded"]) == ("full_text_only", ["embedding"])
    assert [node["memory"]["memoryId"] for node in bundle["nodes"]] == ["m1"]


async def test_two_processes_share_a_memory_and_read_what_the_other_wrote(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as here, house_at(database, tmp_path) as there:
        async with anyio.create_task_group() as group:
            for number in range(10):
                for house, name in ((here, "a"), (there, "b")):
                    memories = [fact(f"{name}{number}"), fact("shared", importance=number)]

                    async def write(house: House = house, memories: list[object] = memories) -> None:
                        await house.post("memories", memories=memories)

                    group.start_soon(write)
        for house in (here, there):
            assert len((await house.get("memories", limit=200))["items"]) == 21


async def test_a_memory_of_another_host_is_named_and_not_opened(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[FACT])
        home = (house.root / ".home").read_text()
    (tmp_path / "other").mkdir()
    async with house_at(database, tmp_path / "other") as house:
        refused = await house.post("memories", 503, memories=[FACT])
        assert refused["error_code"] == "graph_lives_elsewhere"
        assert home in refused["message"]
        assert not house.memory().exists()


async def test_a_damaged_file_disables_itself_alone(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[FACT])
        await house.post("memories", memories=[FACT], orchestrator_id="writer")
    (house.memory() / "memory.db").write_bytes(b"no database" * 1000)
    async with house_at(database, tmp_path) as house:
        for answer in (
            await house.get("memories", 503), await house.post("memories", 503, memories=[FACT]),
            await house.post("recall", 503, query="office"),
        ):  # fmt: skip
            assert answer["error_code"] == "memory_db_corrupt"
        assert len((await house.get("memories", orchestrator_id="writer"))["items"]) == 1
        context = await house.post("context", purpose="selector", message_id="m", message="office")
        assert context["status"] == "disabled"
        assert files_of(house).open_count == 1


def _link_elsewhere(memory: Path, elsewhere: Path) -> None:
    memory.parent.mkdir(parents=True)
    memory.symlink_to(elsewhere)


def _link_ingest(memory: Path, elsewhere: Path) -> None:
    memory.mkdir(parents=True)
    (memory / "ingest").symlink_to(elsewhere)


def _link_database(memory: Path, elsewhere: Path) -> None:
    memory.mkdir(parents=True)
    (memory / "memory.db").symlink_to(elsewhere / "memory.db")


def _hard_link_log(memory: Path, elsewhere: Path) -> None:
    (memory / "logs").mkdir(parents=True)
    (elsewhere / "log").touch()
    os.link(elsewhere / "log", memory / "logs" / "memory.log")


def _fifo(memory: Path, elsewhere: Path) -> None:
    memory.mkdir(parents=True)
    os.mkfifo(memory / "memory.db")


def _file_for_folder(memory: Path, elsewhere: Path) -> None:
    memory.mkdir(parents=True)
    (memory / "bulletins").touch()


@pytest.mark.parametrize(
    "make", [_link_elsewhere, _link_ingest, _link_database, _hard_link_log, _fifo, _file_for_folder]
)
async def test_what_leads_elsewhere_is_not_followed(
    house: House, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    make(house.memory(), elsewhere)
    before = sorted(elsewhere.iterdir())
    assert (await house.post("memories", 503, memories=[FACT]))["error_code"] == "unsafe_layout"
    assert sorted(elsewhere.iterdir()) == before


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "a b", ""])
async def test_an_orchestrator_is_called_as_a_folder_may_be(house: House, name: str) -> None:
    assert (await house.post("memories", 400, memories=[FACT], orchestrator_id=name))["fields"] == [
        "$.orchestrator_id"
    ]


async def test_a_tenant_has_as_many_orchestrators_as_it_may(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, "max_orchestrators = 2") as house:
        for name in ("a", "b", "a"):
            await house.post("memories", memories=[FACT], orchestrator_id=name)
        refused = await house.post("memories", 409, memories=[FACT], orchestrator_id="c")
        assert refused["error_code"] == "CONFLICT"
        assert not house.memory("c").exists()


async def test_no_more_files_are_open_than_may_be(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, "max_open = 2") as house:
        for name in ("a", "b", "c", "a"):
            await house.post("memories", memories=[FACT], orchestrator_id=name)
        assert files_of(house).open_count == 2
        for name in ("a", "b", "c"):
            assert len((await house.get("memories", orchestrator_id=name))["items"]) == 1


async def test_no_more_files_are_being_opened_and_closed_at_a_time_than_may_be_open(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[MemoryFile] = []
    most = 0
    run = MemoryFile.run

    async def counted(file: MemoryFile, *, task_status: TaskStatus[None]) -> None:
        nonlocal most
        running.append(file)
        most = max(most, len(running))
        try:
            await run(file, task_status=task_status)
        finally:
            running.remove(file)

    monkeypatch.setattr(MemoryFile, "run", counted)
    names = "abcdefgh"
    async with house_at(database, tmp_path, "max_open = 2\n[graph.ingest]\nenabled = false") as house:

        async def write(name: str) -> None:
            body = {"orchestrator_id": name, "memories": [FACT]}
            await eventually(
                lambda: house.client.post("/v1/graph/memories", json=body),
                lambda answer: answer.status_code == 200,
            )

        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(write, name)
        for name in names:
            assert len((await house.get("memories", orchestrator_id=name))["items"]) == 1
    assert most == 2


async def test_a_disabled_orchestrator_has_no_folder_and_the_others_go_on(
    database: Database, tmp_path: Path
) -> None:
    table = """
        [[graph.orchestrators]]
        tenant_id = "acme"
        orchestrator_id = "planner"
        enabled = false
    """
    async with house_at(database, tmp_path, table) as house:
        assert (await house.post("memories", 503, memories=[FACT]))["error_code"] == "memory_disabled"
        assert not house.memory().exists()
        await house.post("memories", memories=[FACT], orchestrator_id="writer")
        context = await house.post("context", purpose="selector", message_id="m", message="office")
        assert context["status"] == "disabled"


async def test_a_file_of_a_workspace_may_be_named_while_it_is_granted(
    database: Database, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").touch()
    table = """
        [graph.shared_workspaces]
        docs = "docs"
        [[graph.orchestrators]]
        tenant_id = "acme"
        orchestrator_id = "planner"
        runtime_root = "elsewhere/planner"
    """
    source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": str(docs / "a.txt")}
    memory = fact("m1", source=source)
    async with house_at(database, tmp_path, f'{table}\nshared_access = ["docs"]') as house:
        await house.post("memories", memories=[memory])
        await house.post("memories", 403, memories=[memory], orchestrator_id="writer")
        assert (tmp_path / "elsewhere" / "planner" / "memory" / "memory.db").exists()
        assert len((await house.post("recall", query="Lisbon"))["nodes"]) == 1
    async with house_at(database, tmp_path, table) as house:
        bundle = await house.post("recall", query="Lisbon")
        assert (bundle["nodes"], bundle["degraded"]) == ([], ["source_path"])


async def test_nothing_of_a_file_that_is_granted_no_longer_is_read_in_any_way(
    database: Database, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").touch()
    table = """
        [graph.retrieval]
        top_k_vector = 0
        [graph.shared_workspaces]
        docs = "docs"
        [[graph.orchestrators]]
        tenant_id = "acme"
        orchestrator_id = "planner"
    """
    source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": str(docs / "a.txt")}
    memories = [
        fact("file", content="The office is in Porto.", source=source),
        fact("said"),
        fact("moved", content="The office has nine rooms.", source=source),
    ]
    edges = [
        link("file", "said", "Contradicts", edgeId="e1"),
        link("said", "moved", "RelatedTo", edgeId="e2"),
    ]
    asked = {"purpose": "selector", "message": "office"}
    async with house_at(database, tmp_path, f'{table}\nshared_access = ["docs"]') as house:
        await house.post("memories", memories=memories, edges=edges)
        await house.post("memories", memories=[fact("moved", content="The office has ten rooms.")])
        bulletin = (await house.post("context", message_id="b1", **asked))["bulletin"]
        assert {one["memoryId"] for one in bulletin["citations"]} == {"file", "said", "moved"}
        assert len((await house.get("contradictions"))["items"]) == 1
    async with house_at(database, tmp_path, table) as house:
        for path in ("memories/file", "memories/file/history", "memories/file/edges"):
            denied = await house.get(path, 403)
            assert (denied["error_code"], denied["fields"]) == ("SCOPE_DENIED", ["$.memory_id"])
        first = await house.get("memories", limit=1)
        rest = await house.get("memories", limit=1, cursor=first["next_cursor"])
        assert [one["memoryId"] for one in first["items"] + rest["items"]] == ["moved", "said"]
        assert rest["next_cursor"] is None
        versions = (await house.get("memories/moved/history"))["items"]
        assert [one["memory"]["content"] for one in versions] == ["The office has ten rooms."]
        assert [one["edge"]["edgeId"] for one in (await house.get("memories/said/edges"))["items"]] == ["e2"]
        assert (await house.get("contradictions"))["items"] == []
        for message_id in ("b1", "b2"):
            told = (await house.post("context", message_id=message_id, **asked))["bulletin"]
            assert {one["memoryId"] for one in told["citations"]} == {"said", "moved"}
            assert "Porto" not in str(told)
        diagnosed = await house.post("context", purpose="diagnostics", prompt="office")
        assert "Porto" not in str(diagnosed)
        assert diagnosed["degraded"] == ["source_path"]
        (house.memory() / "memory.db").write_bytes(b"no database" * 1000)
        instead = await house.post("context", message_id="b3", **asked)
        assert (instead["status"], instead["bulletin"]["status"]) == ("disabled", "previous")
        assert {one["memoryId"] for one in instead["bulletin"]["citations"]} == {"said", "moved"}
        lines = (house.memory() / "logs" / "memory.log").read_text().splitlines()
    told_of = [line for line in lines if '"memory.recall.source_path_denied"' in line]
    assert len(told_of) >= 8
    assert all('"file"' in line and str(docs / "a.txt") in line for line in told_of)


async def test_nothing_of_a_file_that_is_granted_no_longer_is_told_by_a_change(
    database: Database, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").touch()
    table = """
        [graph.shared_workspaces]
        docs = "docs"
        [[graph.orchestrators]]
        tenant_id = "acme"
        orchestrator_id = "planner"
    """
    source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": str(docs / "a.txt")}
    withdrawn = fact("file", content="The office is in Porto.", source=source)
    other = {"sourceType": "manual", "capturedBy": "user"}
    async with house_at(database, tmp_path, f'{table}\nshared_access = ["docs"]') as house:
        memories = [withdrawn, fact("said"), {**withdrawn, "memoryId": "gone"}]
        await house.post(
            "memories", memories=memories, edges=[link("file", "said", "Contradicts", edgeId="e1")]
        )
        await house.post("memories/gone/retract")
    resolve = {"keep": "TO", "reason": "so"}
    tries: list[tuple[str, dict[str, Any], str]] = [
        ("memories/file/retract", {}, "$.memory_id"),
        ("memories/gone/restore", {}, "$.memory_id"),
        ("memories/file/supersede", {"by_memory_id": "said"}, "$.memory_id"),
        ("memories/said/supersede", {"by_memory_id": "file"}, "$.by_memory_id"),
        ("memories/file/supersede", {"memory": fact("new")}, "$.memory_id"),
        ("memories/file/update", {"source": other}, "$.memory_id"),
        ("memories/file/update", {"importance": 1}, "$.memory_id"),
        ("contradictions/e1/resolve", resolve, "$.edge_id"),
    ]
    async with house_at(database, tmp_path, table) as house:
        for path, body, field in tries:
            denied = await house.post(path, 403, **body)
            assert (denied["error_code"], denied["fields"]) == ("SCOPE_DENIED", [field]), path
            assert "Porto" not in str(denied)
            assert str(docs) not in str(denied)
        shared = await house.client.post(
            "/v1/admin/graph/share", json={"orchestrator_id": "planner", "memory_id": "file", "shared": True}
        )
        assert (shared.status_code, "Porto" in shared.text) == (403, False)
        assert [
            one["memory"]["memoryId"] for one in (await house.post("recall", query="office"))["nodes"]
        ] == ["said"]
        lines = (house.memory() / "logs" / "memory.log").read_text().splitlines()
        assert sum('"memory.recall.source_path_denied"' in line for line in lines) > len(tries)
    async with house_at(database, tmp_path, f'{table}\nshared_access = ["docs"]') as house:
        assert (await house.get("memories/file"))["memory"]["status"] == "active"


@pytest.mark.parametrize("path", [f"/{300 * 'a'}", f"/{2000 * 'a/'}a", "/a\0b"])
async def test_a_path_that_no_file_can_have_is_refused_by_its_field(house: House, path: str) -> None:
    source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": path}
    refused = await house.post("memories", 400, memories=[fact("m1", source=source)])
    assert refused["fields"] == ["$.memories[0].source.sourcePath"]


async def test_a_dropped_file_becomes_memories_with_vectors_beside_what_is_written(house: House) -> None:
    await house.post("memories", memories=[FACT])
    (house.memory() / "ingest" / "notes.md").write_text("We decided to use Postgres for the ledger.")
    final = str(house.memory() / "ingest" / "processed" / "notes.md")
    await eventually(  # found by its meaning alone
        lambda: house.post("recall", query="Postgres", top_k_text=0),
        lambda bundle: final in {one["sourcePath"] for one in bundle["citations"]},
    )
    assert await anyio.Path(final).exists()
