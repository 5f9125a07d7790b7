"""Ingestion over a real file: what is dropped becomes memories once, and ends in a folder with a manifest."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.core.errors import Unavailable
from elf.families.graph.errors import UnsafeLayout
from elf.families.graph.ingest.ledger import IngestedFile, Ledger
from elf.families.graph.ingest.material import Material
from elf.families.graph.ingest.names import waits
from elf.families.graph.ingest.rest import Rest
from elf.families.graph.model import MemoryNode
from elf.families.graph.store.backlog import take_up, vectors_to_make
from elf.families.graph.store.edges import unresolved_contradictions
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.nodes import MemoryFilter, page_of_memories
from elf.families.graph.store.statements import Change
from tests.db.graph.graph_kit import KEY, VERSION, opened
from tests.db.graph.ingest_kit import edge_told, json_file, lines_of, manifest, pipeline_of, told, tree
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio
NOTES: Final = "# Monday\n\nWe decided to use Postgres for the ledger.\n\n- [ ] Rotate the logs\n"


@asynccontextmanager
async def memory_in(root: Path, kit: FileKit) -> AsyncIterator[MemoryFile]:
    async with anyio.create_task_group() as group:
        yield await opened(group, root, KEY, kit)
        group.cancel_scope.cancel()


async def memories(file: MemoryFile) -> list[MemoryNode]:
    found = await file.read(lambda snapshot: page_of_memories(snapshot, MemoryFilter(), limit=1000))
    return sorted(found, key=lambda one: one.memory_id)


async def edges(file: MemoryFile) -> list[tuple[Any, ...]]:
    return await file.read(
        lambda snapshot: [
            row
            for one in page_of_memories(snapshot, MemoryFilter(), limit=1000)
            for row in snapshot.rows(
                "edges_from_memory", memory_id=one.memory_id, edge_types=None, behind="", limit=1000
            )
        ]
    )


async def test_a_note_becomes_an_observation_and_what_it_states(file: MemoryFile, clock: TurnedClock) -> None:
    (file.layout.ingest / "monday.md").write_text(NOTES)

    await pipeline_of(file, clock).look()

    path = str(file.layout.processed / "monday.md")
    found = {one.type: one for one in await memories(file)}
    assert sorted(found) == ["Decision", "Observation", "Todo"]
    assert {one.source.source_path for one in found.values()} == {path}
    assert sorted((row[1], row[2], row[3]) for row in await edges(file)) == sorted(
        (found[type].memory_id, found["Observation"].memory_id, "PartOf") for type in ("Decision", "Todo")
    )
    assert tree(file.layout.ingest).keys() == {"processed/monday.md", "processed/monday.md.processed.json"}
    says = manifest(file.layout.processed / "monday.md.processed.json")
    key = says.pop("idempotencyKey")
    assert len(key) == 64
    assert sorted(says.pop("memoryIds")) == sorted(one.memory_id for one in found.values())
    assert says == {
        "status": "processed", "orchestratorId": "planner", "sourcePath": path,
        "processedAt": clock.now().isoformat().replace("+00:00", "Z"), "memoriesWritten": 3, "edgesWritten": 2,
        "extractor": "rules", "skipped": [],
    }  # fmt: skip
    assert lines_of(file) == [
        {
            "timestamp": clock.now().isoformat(), "event": "memory.ingest.processed", "status": "processed",
            "orchestrator_id": "planner", "source_path": path, "reason_code": None,
        }
    ]  # fmt: skip


async def test_the_words_that_make_a_memory_are_kept_with_their_place(
    file: MemoryFile, clock: TurnedClock
) -> None:
    (file.layout.ingest / "monday.md").write_text(NOTES)
    await pipeline_of(file, clock).look()
    decision = next(one for one in await memories(file) if one.type == "Decision")
    row = await file.read(lambda snapshot: snapshot.row("quote_of_memory", memory_id=decision.memory_id))
    assert row is not None
    quote, start, end = row
    assert NOTES[start:end] == quote
    assert "Postgres" in quote


async def test_the_same_file_is_a_duplicate_however_often_it_comes(
    file: MemoryFile, clock: TurnedClock
) -> None:
    pipeline = pipeline_of(file, clock)
    for _ in range(3):
        (file.layout.ingest / "monday.md").write_text(NOTES)
        await pipeline.look()

    assert len(await memories(file)) == 3
    assert [line["status"] for line in lines_of(file)] == ["processed", "duplicate", "duplicate"]
    says = manifest(file.layout.processed / "monday.md.2.processed.json")
    assert (says["status"], says["memoriesWritten"], says["edgesWritten"]) == ("duplicate", 0, 0)
    assert says["sourcePath"] == str(file.layout.processed / "monday.md.2")
    assert len(says["memoryIds"]) == 3


async def test_other_bytes_under_the_same_name_are_another_file(file: MemoryFile, clock: TurnedClock) -> None:
    pipeline = pipeline_of(file, clock)
    for text in ("One thing.", "Another thing."):
        (file.layout.ingest / "a.txt").write_text(text)
        await pipeline.look()
    assert sorted((one.content, one.source.source_path) for one in await memories(file)) == [
        ("Another thing.", str(file.layout.processed / "a.txt.1")),
        ("One thing.", str(file.layout.processed / "a.txt")),
    ]


async def test_two_files_that_say_otherwise_of_one_thing_contradict_each_other(
    file: MemoryFile, clock: TurnedClock
) -> None:
    first = told("m1", type="Decision", content="We are going with Postgres for the ledger.")
    (file.layout.ingest / "1.json").write_text(json_file(first))
    (file.layout.ingest / "2.md").write_text("We are going with SQLite for the ledger.")
    await pipeline_of(file, clock).look()
    (found,) = await file.read(lambda snapshot: unresolved_contradictions(snapshot, behind=None, limit=10))
    sources = {one.memory_id: one.source.source_path for one in await memories(file)}
    assert sources[found.from_memory_id] == str(file.layout.processed / "2.md")
    assert sources[found.to_memory_id] == str(file.layout.processed / "1.json")


async def test_an_edge_to_a_missing_memory_rejects_all_of_its_file(
    file: MemoryFile, clock: TurnedClock
) -> None:
    (file.layout.ingest / "a.json").write_text(json_file(told("m1"), edges=[edge_told("e1", "m1", "gone")]))
    await pipeline_of(file, clock).look()
    assert await memories(file) == []
    assert manifest(file.layout.rejected / "a.json.rejection.json")["error"] == {
        "code": "repository_error",
        "message": "$.edges[0].toMemoryId: there is no memory gone",
        "fields": ["$.edges[0].toMemoryId"],
    }


async def test_a_file_may_add_edges_to_memories_that_there_are(file: MemoryFile, clock: TurnedClock) -> None:
    pipeline = pipeline_of(file, clock)
    (file.layout.ingest / "a.json").write_text(json_file(told("m1"), told("m2")))
    await pipeline.look()
    (file.layout.ingest / "b.json").write_text(json_file(edges=[edge_told("e1", "m1", "m2")]))
    await pipeline.look()
    assert [row[:3] for row in await edges(file)] == [("e1", "m1", "m2")]


@pytest.mark.parametrize("where", ["missing.md", "outside", "link.md"])
async def test_a_memory_names_no_file_that_it_may_not(
    file: MemoryFile, clock: TurnedClock, where: str
) -> None:
    outside = file.layout.memory.parent / "outside.md"
    outside.write_text("not yours")
    (file.layout.memory / "link.md").symlink_to(outside)
    path = str(outside if where == "outside" else file.layout.memory / where)
    source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": path}
    (file.layout.ingest / "a.json").write_text(json_file(told("m1", source=source)))
    await pipeline_of(file, clock).look()
    error = manifest(file.layout.rejected / "a.json.rejection.json")["error"]
    assert (error["code"], error["fields"]) == (
        "invalid_source_path",
        ["$.memories[0].source.sourcePath"],
    )


async def test_links_pipes_and_odd_names_are_moved_themselves_and_told_why(
    file: MemoryFile, clock: TurnedClock
) -> None:
    ingest = file.layout.ingest
    outside = file.layout.memory.parent / "outside.md"
    outside.write_text("not yours")
    (ingest / "link.md").symlink_to(outside)
    os.link(outside, ingest / "second.md")
    os.mkfifo(ingest / "pipe.md")
    (ingest / "huge.md").touch()
    os.truncate(ingest / "huge.md", 1 << 40)
    (ingest / "photo.png").write_bytes(b"\x89PNG")
    (ingest / "AKIAQ3EGRV7XWZLK2PHM.md").write_text("no name for a file")
    (ingest / "\udcff.md").write_text("no text for a name")

    await pipeline_of(file, clock).look()

    assert await memories(file) == []
    assert [path.name for path in ingest.iterdir() if not path.is_dir()] == []
    assert {line["reason_code"] for line in lines_of(file)} == {
        "not_regular_file", "file_too_large", "unsupported_file_type", "secret_detected", "invalid_source_path",
    }  # fmt: skip
    assert "AKIA" not in str(sorted(tree(file.layout.memory / "logs").values()))
    for line in lines_of(file):
        assert there(line["source_path"])
        assert manifest(Path(f"{line['source_path']}.rejection.json"))["idempotencyKey"] is None
    assert outside.read_text() == "not yours"


async def test_a_file_is_taken_in_once_it_is_at_rest(file: MemoryFile, clock: TurnedClock) -> None:
    now = 0.0
    rest = Rest(monotonic=lambda: now)
    pipeline = pipeline_of(file, clock, rest=rest)
    path = file.layout.ingest / "a.txt"
    path.write_text("half")
    assert await pipeline.look() == []
    now = 0.4
    path.write_text("half and half")
    assert await pipeline.look() == []
    now = 0.8
    assert await pipeline.look() == []
    assert rest.is_restless
    now = 0.9
    assert [ended.status for ended in await pipeline.look()] == ["processed"]
    assert [one.content for one in await memories(file)] == ["half and half"]


async def test_a_folder_that_is_a_link_stops_ingestion(file: MemoryFile, clock: TurnedClock) -> None:
    outside = file.layout.memory.parent / "outside"
    outside.mkdir()
    file.layout.rejected.rmdir()
    file.layout.rejected.symlink_to(outside)
    (file.layout.ingest / "a.png").write_text("text")
    with pytest.raises(UnsafeLayout):
        await pipeline_of(file, clock).look()
    assert list(outside.iterdir()) == []
    assert (file.layout.ingest / "a.png").exists()


class AwayLedger(Ledger):
    """A ledger whose store is away."""

    async def write(self, *_given: Any, **_named: Any) -> IngestedFile:
        raise Unavailable("the disk is full")


async def test_a_store_that_is_away_rejects_nothing(file: MemoryFile, clock: TurnedClock) -> None:
    (file.layout.ingest / "a.txt").write_text("text")
    with pytest.raises(Unavailable):
        await pipeline_of(file, clock, ledger=AwayLedger(file, embedding_version=VERSION)).look()
    assert tree(file.layout.ingest) == {"a.txt": b"text"}


@pytest.mark.parametrize("call", ["rename", "fsync"])
async def test_a_disk_that_is_full_rejects_nothing_and_other_files_go_on(
    file: MemoryFile, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    for name in ("a.txt", "b.png"):
        (file.layout.ingest / name).write_text("text")

    def full(*_given: object, **_named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    assert await pipeline_of(file, clock).look() == []
    monkeypatch.undo()

    assert sorted(ended.status for ended in await pipeline_of(file, clock).look()) == [
        "processed",
        "rejected",
    ]
    assert [one.content for one in await memories(file)] == ["text"]
    assert len(tree(file.layout.ingest)) == 4


class Crash(BaseException):
    """The process is gone."""


class Power:
    """Lets a process do so many things more, and then nothing at all."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def spend(self) -> None:
        if self.left <= 0:
            raise Crash
        self.left -= 1

    def guarding(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*given: Any, **named: Any) -> Any:
            self.spend()
            return call(*given, **named)

        return guarded


class CrashingLedger(Ledger):
    """A ledger whose process may be gone before it writes, and after."""

    def __init__(self, file: MemoryFile, power: Power) -> None:
        super().__init__(file, embedding_version=VERSION)
        self._power = power

    async def write(self, key: str, names: tuple[str, str], material: Material, *given: Any) -> IngestedFile:
        self._power.spend()
        row = await super().write(key, names, material, *given)
        self._power.spend()
        return row

    async def finish(self, key: str) -> bool:
        self._power.spend()
        finished = await super().finish(key)
        self._power.spend()
        return finished


def drop_everything(file: MemoryFile) -> None:
    ingest = file.layout.ingest
    (ingest / "1.md").write_text(NOTES)
    (ingest / "2.json").write_text(json_file(told("m1"), told("m2"), edges=[edge_told("e1", "m1", "m2")]))
    (ingest / "3.json").write_text("{")
    (ingest / "4.md").symlink_to("nowhere")
    (ingest / "5.png").write_text("no text")


async def test_whenever_the_process_dies_the_next_one_loses_nothing_and_writes_nothing_twice(
    tmp_path: Path, kit: FileKit, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    async with memory_in(root, kit) as file:
        drop_everything(file)
        await pipeline_of(file, clock).look()
        drop_everything(file)  # the files again: duplicates, and rejections that clash
        await pipeline_of(file, clock).look()
        wanted = tree(file.layout.ingest), await memories(file), await edges(file)

    calls = 0
    finished = False
    while not finished:
        shutil.rmtree(root)
        async with memory_in(root, kit) as file:
            finished = not await crashes(file, clock, monkeypatch, calls, times=2)
            assert (tree(file.layout.ingest), await memories(file), await edges(file)) == wanted, calls
        calls += 1
    assert calls > 40


async def crashes(
    file: MemoryFile, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch, calls: int, *, times: int
) -> bool:
    """Drop everything so many times; let the process die after some calls each time. Tell whether it ever did."""
    ever = False
    for _ in range(times):
        drop_everything(file)
        power = Power(calls)
        for call in ("rename", "unlink", "fsync", "write"):
            monkeypatch.setattr(os, call, power.guarding(getattr(os, call)))
        try:
            await pipeline_of(file, clock, ledger=CrashingLedger(file, power)).look()
        except Crash:
            ever = True
        finally:
            monkeypatch.undo()
        await pipeline_of(file, clock).look()
    return ever


names_dropped = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=60
) | st.binary(min_size=1, max_size=60).map(
    lambda raw: os.fsdecode(raw.translate(bytes.maketrans(b"/\0", b"__")))
)
suffixes = st.sampled_from([".md", ".txt", ".json", "", ".tmp", ".png", ".MD"])


kinds = st.sampled_from(["file", "link", "hard link", "pipe"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300).map(str.encode)
targets = st.sampled_from(["../outside.md", "..", ".", "/dev/zero", "nowhere"])
paths_told = st.sampled_from(
    ["/etc/passwd", "../outside.md", "processed/../../outside.md", "//dev/zero", "..", ".", "", "/", "a\0b"]
)
tricks = paths_told.map(lambda path: _naming(path).encode())
NOT_YOURS = "We decided that this is not yours."


def _naming(path: str) -> str:
    source = {"sourceType": "ingest_file", "capturedBy": "user", "sourcePath": path}
    return json_file(told("t1", source=source))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stem=names_dropped,
    suffix=suffixes,
    kind=kinds,
    data=texts | tricks | st.binary(max_size=300),
    target=targets,
)
async def test_whatever_is_dropped_ends_with_a_manifest_and_nothing_else_is_touched(
    file: MemoryFile, clock: TurnedClock, stem: str, suffix: str, kind: str, data: bytes, target: str
) -> None:
    ingest = file.layout.ingest
    outside = file.layout.memory / "outside.md"
    outside.unlink(missing_ok=True)
    outside.write_text(NOT_YOURS)
    path = ingest / (stem + suffix)
    if there(path):  # it is one of the folders
        return
    before = len(tree(ingest))
    if kind == "file":
        path.write_bytes(data)
    elif kind == "link":
        path.symlink_to(target)
    elif kind == "hard link":
        os.link(outside, path)
    else:
        os.mkfifo(path)

    around = tree(file.layout.memory.parent.parent, without=file.layout.memory)

    ended = await pipeline_of(file, clock).look()

    assert outside.read_text() == NOT_YOURS
    assert tree(file.layout.memory.parent.parent, without=file.layout.memory) == around
    assert all("not yours" not in one.content for one in await memories(file))
    if waits(path.name):
        assert ended == []
        path.unlink()
        return
    (end,) = ended
    assert not there(path)
    assert there(end.source_path)
    folder, manifested = (
        ("rejected", ".rejection.json") if end.status == "rejected" else ("processed", ".processed.json")
    )
    assert Path(end.source_path).parent == ingest / folder
    assert manifest(Path(end.source_path + manifested))["status"] == end.status
    assert len(tree(ingest)) == before + 2


def there(path: Path | str) -> bool:
    return os.path.lexists(path)


async def test_what_is_behind_the_indexed_characters_gets_neither_words_nor_vectors_by_any_model(
    file: MemoryFile, clock: TurnedClock
) -> None:
    (file.layout.ingest / "long.txt").write_text("We decided to use Postgres.\n\nWe decided to use Redis.")
    await pipeline_of(file, clock, indexed_chars=29).look()
    assert manifest(file.layout.processed / "long.txt.processed.json")["indexedChars"] == 29
    contents = sorted((one.type, one.content) for one in await memories(file))
    assert contents == [
        ("Decision", "We decided to use Postgres."),
        ("Observation", "We decided to use Postgres."),
        ("Observation", "We decided to use Redis."),
    ]

    def due(change: Change, version: str) -> list[str]:
        take_up(change, version)
        return [one.content for one in vectors_to_make(change, version, now=clock.now(), limit=10)]

    for version in (VERSION, "other:model:8"):
        assert await file.write(partial(due, version=version)) == ["We decided to use Postgres."] * 2
    words = "SELECT content FROM memory_fts WHERE memory_fts MATCH 'decided'"
    database = sqlite3.connect(file.layout.database)
    assert database.execute(words).fetchall() == [("We decided to use Postgres.",)] * 2
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
