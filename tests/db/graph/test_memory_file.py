"""A memory.db: what is written is there with all that belongs to it, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import apsw
import pytest

from elf.core.errors import InvalidRequest, Unavailable
from elf.families.graph.errors import (
    InvalidRow,
    MemoryDbCorrupt,
    MemoryDbForeign,
    MemoryDbTooNew,
    NoSuchMemory,
)
from elf.families.graph.model import MemoryNode
from elf.families.graph.store.edges import write_edge
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.layout import prepare
from elf.families.graph.store.nodes import (
    MemoryFilter,
    change_status,
    need_memory,
    page_of_memories,
    read_memory,
    read_versions,
)
from elf.families.graph.store.statements import Change, OwnerKey, Snapshot
from tests.db.graph.graph_kit import KEY, MEMORY, NOW, edge, memory, opened, put

pytestmark = pytest.mark.anyio
SPANS = "SELECT text FROM memory_spans WHERE memory_id = 'm1' ORDER BY ordinal"
FOUND = "SELECT count(*) FROM memory_span_fts WHERE memory_span_fts MATCH ?"


@contextmanager
def opened_database(path: Path) -> Iterator[apsw.Connection]:
    """Open a file around the family, by the one library that may."""
    connection = apsw.Connection(str(path))
    try:
        yield connection
    finally:
        connection.close()


def ask(file: MemoryFile, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Ask a closed file."""
    with opened_database(file.layout.database) as connection:
        return connection.execute(sql, values).fetchall()


async def read(file: MemoryFile, memory_id: str) -> MemoryNode:
    return (await file.read(lambda snapshot: need_memory(snapshot, memory_id))).memory


async def test_a_memory_is_read_as_it_was_written(file: MemoryFile) -> None:
    assert await put(file, MEMORY) == ["ADD"]
    assert await read(file, "m1") == MEMORY


async def test_the_same_memory_again_changes_nothing(file: MemoryFile) -> None:
    later = memory(updated_at=NOW + timedelta(hours=1), created_at=NOW + timedelta(hours=1))
    assert await put(file, MEMORY) + await put(file, later) == ["ADD", "NONE"]
    assert await read(file, "m1") == MEMORY


async def test_another_text_takes_the_place_of_the_first_everywhere_but_when_it_was_created(
    file: MemoryFile,
) -> None:
    later = NOW + timedelta(hours=1)
    changed = memory(content="The office moved to Porto.", summary="Porto", updated_at=later)
    await put(file, MEMORY)
    assert await put(
        file, memory(created_at=later, content=changed.content, summary="Porto", updated_at=later)
    ) == ["UPDATE"]
    assert await read(file, "m1") == changed

    def look(snapshot: Snapshot) -> tuple[object, ...]:
        versions = read_versions(snapshot, "m1", behind=0, limit=10)
        return [(one.version, one.operation, one.memory) for one in versions], snapshot.rows("owners")

    assert await file.read(look) == ([(1, "ADD", MEMORY), (2, "UPDATE", changed)], [("acme", "planner")])


async def test_words_follow_the_text(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        await put(file, MEMORY)
        await put(file, memory(content="The office moved to Porto."))
        group.cancel_scope.cancel()
    assert ask(file, SPANS) == [("The office moved to Porto.",)]
    assert [ask(file, FOUND, word) for word in ("porto", "lisbon")] == [[(1,)], [(0,)]]
    for table in ("memory_fts", "memory_span_fts"):
        with opened_database(file.layout.database) as connection:
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")


async def test_a_change_that_fails_leaves_nothing_and_takes_no_other_with_it(file: MemoryFile) -> None:
    def fail(change: Change) -> None:
        write_edge(change, edge(), path="$.edges[0]")

    async def failing() -> None:
        with pytest.raises(
            NoSuchMemory, match=r"\$\.edges\[0\]\.toMemoryId: there is no memory m2"
        ) as caught:
            await file.write(fail)
        assert caught.value.fields == ("$.edges[0].toMemoryId",)

    async with anyio.create_task_group() as group:
        group.start_soon(put, file, MEMORY)
        group.start_soon(failing)
        group.start_soon(put, file, memory("m3"))
    assert [await read(file, name) for name in ("m1", "m3")] == [MEMORY, memory("m3")]


async def test_sixteen_writers_lose_nothing(file: MemoryFile) -> None:
    async def writing(name: str) -> None:
        for number in range(8):
            await put(file, memory(f"{name}-{number}"))

    async with anyio.create_task_group() as group:
        for writer in range(16):
            group.start_soon(writing, f"w{writer}")
    page = await file.read(lambda snapshot: page_of_memories(snapshot, MemoryFilter(), limit=200))
    assert len(page) == 128


async def test_two_holders_of_one_file_lose_nothing(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        files = [await opened(group, tmp_path, KEY, kit) for _ in range(2)]

        async def writing(file: MemoryFile, name: str) -> None:
            for number in range(10):
                await put(file, memory(f"{name}-{number}"), memory("shared", importance=number))

        async with anyio.create_task_group() as writers:
            for place, file in enumerate([*files, *files]):
                writers.start_soon(writing, file, f"w{place}")
        for file in files:
            page = await file.read(lambda snapshot: page_of_memories(snapshot, MemoryFilter(), limit=200))
            assert len(page) == 41
        versions = await files[0].read(
            lambda snapshot: read_versions(snapshot, "shared", behind=0, limit=100)
        )
        assert [one.version for one in versions] == list(range(1, len(versions) + 1))
        group.cancel_scope.cancel()


async def test_a_page_goes_on_behind_the_last_one(file: MemoryFile) -> None:
    moments = [NOW, NOW, NOW + timedelta(seconds=1), NOW + timedelta(seconds=2)]
    await put(file, *(memory(f"m{place}", updated_at=at) for place, at in enumerate(moments)))

    def all_pages(snapshot: Snapshot) -> list[str]:
        seen: list[str] = []
        behind = None
        while page := page_of_memories(snapshot, MemoryFilter(), limit=1, behind=behind):
            seen.append(page[0].memory_id)
            behind = (page[0].updated_at, page[0].memory_id)
        return seen

    assert await file.read(all_pages) == ["m3", "m2", "m0", "m1"]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (MemoryFilter(types=["Goal"]), ["goal"]),
        (MemoryFilter(statuses=["active", "retracted"], min_importance=60), ["goal"]),
        (MemoryFilter(statuses=["retracted"]), []),
        (MemoryFilter(source_types=["manual"], min_importance=51), ["goal"]),
        (MemoryFilter(conversation_id="c"), []),
        (MemoryFilter(source_path="/x"), []),
    ],
)
async def test_a_page_has_what_is_asked_for(file: MemoryFile, where: MemoryFilter, found: list[str]) -> None:
    await put(file, MEMORY, memory("goal", type="Goal", importance=60))
    page = await file.read(lambda snapshot: page_of_memories(snapshot, where, limit=10))
    assert [one.memory_id for one in page] == found


async def test_a_status_changes_with_a_version_and_a_line_in_the_log(file: MemoryFile, kit: FileKit) -> None:
    await put(file, MEMORY)

    def retract(change: Change) -> MemoryNode:
        return change_status(change, "m1", "retracted", "RETRACT", reason="wrong", path="$.memory_id")

    after = await file.write(retract, actor="ana")
    assert await file.write(retract, actor="ana") == after
    assert (after.status, after.updated_at) == ("retracted", kit.clock.now())
    versions = await file.read(lambda snapshot: read_versions(snapshot, "m1", behind=1, limit=10))
    assert [(one.operation, one.memory, one.reason, one.actor) for one in versions] == [
        ("RETRACT", after, "wrong", "ana")
    ]
    (line,) = file.layout.log_file.read_text().splitlines()
    assert '"event": "memory.status.changed"' in line


async def test_a_status_that_comes_with_the_memory_again_has_a_line_in_the_log_too(file: MemoryFile) -> None:
    later = NOW + timedelta(hours=1)
    await put(file, MEMORY)
    assert await put(file, memory(status="superseded", updated_at=later)) == ["UPDATE"]
    assert await put(file, memory(status="superseded", importance=1, updated_at=later)) == ["UPDATE"]
    (line,) = [json.loads(line) for line in file.layout.log_file.read_text().splitlines()]
    assert (line["event"], line["memory_id"], line["before"], line["status"]) == (
        "memory.status.changed", "m1", "active", "superseded",
    )  # fmt: skip


async def test_what_a_reader_sees_does_not_change_while_it_looks(file: MemoryFile) -> None:
    await put(file, MEMORY)

    def look(snapshot: Snapshot) -> tuple[bool, bool]:
        before = read_memory(snapshot, "late") is not None
        anyio.from_thread.run(put, file, memory("late"))
        return before, read_memory(snapshot, "late") is not None

    assert await file.read(look) == (False, False)
    assert await read(file, "late") == memory("late")


async def test_what_is_no_database_says_so(tmp_path: Path, kit: FileKit) -> None:
    layout = prepare(tmp_path / "planner")
    layout.database.write_bytes(b"no database at all" * 100)
    with pytest.raises(MemoryDbCorrupt, match=r"the memory\.db of planner is damaged"):
        await MemoryFile(KEY, layout, kit).run()


async def test_a_damaged_page_is_found_when_the_file_is_opened(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        await put(file, *(memory(f"m{number}") for number in range(50)))
        group.cancel_scope.cancel()
    content = bytearray(file.layout.database.read_bytes())
    for page in range(2, len(content) // 4096, 2):
        content[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    file.layout.database.write_bytes(content)
    with pytest.raises(MemoryDbCorrupt):
        await MemoryFile(KEY, file.layout, kit).run()


def _make(path: Path, sql: str) -> None:
    with opened_database(path) as connection:
        connection.execute(sql)


async def test_the_database_of_something_else_stays_as_it_is(tmp_path: Path, kit: FileKit) -> None:
    layout = prepare(tmp_path)
    _make(layout.database, "CREATE TABLE notes (text)")
    with pytest.raises(MemoryDbForeign):
        await MemoryFile(KEY, layout, kit).run()
    with opened_database(layout.database) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("notes",)]


@pytest.mark.parametrize("other", [OwnerKey("acme", "other"), OwnerKey("rival", "planner")])
async def test_the_file_of_another_orchestrator_is_not_used(
    tmp_path: Path, kit: FileKit, other: OwnerKey
) -> None:
    async with anyio.create_task_group() as group:
        await opened(group, tmp_path, KEY, kit)
        group.cancel_scope.cancel()
    with pytest.raises(MemoryDbForeign, match="belongs to another orchestrator"):
        await MemoryFile(other, prepare(tmp_path), kit).run()


async def test_a_file_of_a_later_version_is_not_used(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        group.cancel_scope.cancel()
    _make(file.layout.database, "PRAGMA user_version = 99")
    with pytest.raises(MemoryDbTooNew):
        await MemoryFile(KEY, file.layout, kit).run()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE memories SET importance = 101", "memories 'm1': Expected `int` <= 100"),
        ("UPDATE memories SET type = 'Rumour'", "memories 'm1': Invalid enum value 'Rumour'"),
        ("UPDATE memories SET content = ''", "memories 'm1': Expected `str` of length >= 1"),
        ("UPDATE memory_sources SET source_type = 'hearsay'", "memories 'm1': Invalid enum value 'hearsay'"),
        ("DELETE FROM memory_sources", "memories 'm1': it has no row in memory_sources"),
        (
            "UPDATE memories SET created_at = 9000000000000000000",
            "memories 'm1': 9000000000000000000 is no time",
        ),
    ],
)
async def test_a_row_that_breaks_the_rules_is_named(file: MemoryFile, statement: str, problem: str) -> None:
    await put(file, MEMORY)
    _make(file.layout.database, f"PRAGMA ignore_check_constraints = ON; {statement}")
    with pytest.raises(InvalidRow) as caught:
        await read(file, "m1")
    assert caught.value.message.startswith(problem)


@pytest.mark.parametrize(
    "broken",
    [
        lambda: memory(importance=101),
        lambda: memory(type="Rumour"),
        lambda: memory(confidence=1.5),
        lambda: memory(status="gone"),
        lambda: memory(content=""),
        lambda: memory(summary="x" * 281),
        lambda: memory("with space"),
    ],
)
async def test_the_file_takes_no_value_that_breaks_the_rules(
    file: MemoryFile, broken: Callable[[], MemoryNode]
) -> None:
    with pytest.raises(InvalidRequest, match="CHECK constraint failed"):
        await put(file, broken())


async def test_a_closed_file_answers_that_it_is(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        group.cancel_scope.cancel()
    with pytest.raises(Unavailable, match="is being closed"):
        await put(file, MEMORY)
    with pytest.raises(Unavailable, match="is being closed"):
        await read(file, "m1")
