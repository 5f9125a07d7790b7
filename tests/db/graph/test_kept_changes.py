"""A file keeps what became of its memories, where somebody wants to hear of it, and nothing where nobody does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elf.families.graph.store.change_feed import are_changes_kept, kept_changes, remove_told
from elf.families.graph.store.changes import resolve, restore, retract, supersede
from elf.families.graph.store.edges import write_edge
from elf.families.graph.store.erasing import Erasure, erase
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.nodes import NewMemory, add_memory
from elf.families.graph.store.statements import Change
from tests.db.graph.graph_kit import KEY, VERSION, edge, memory, put
from tests.db.graph.telling_kit import Told, kept, open_at

pytestmark = pytest.mark.anyio
PAIR = memory("m1"), memory("m2")


async def became(file: MemoryFile, change: Callable[[Change], Any]) -> Told:
    """Return what a file keeps of a change."""
    before = len(await kept(file))
    await file.write(change)
    return (await kept(file))[before:]


async def test_a_memory_is_written_changed_and_forgotten(told_file: MemoryFile) -> None:
    await put(told_file, memory())
    await put(told_file, memory())
    assert await kept(told_file) == [("written", "m1")]
    await put(told_file, memory(importance=51))
    assert await became(told_file, lambda change: retract(change, "m1", reason=None)) == [("forgotten", "m1")]
    assert await became(told_file, lambda change: restore(change, "m1", reason=None)) == [("written", "m1")]
    assert await became(told_file, lambda change: erase(change, Erasure(memory_ids=["m1"]))) == [
        ("forgotten", "m1")
    ]
    assert (await kept(told_file))[:2] == [("written", "m1"), ("changed", "m1")]


@pytest.mark.parametrize(
    "other",
    [
        {"content": "It is in Porto."},
        {"summary": "Porto"},
        {"type": "Decision"},
        {"importance": 0},
        {"confidence": 0.1},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_another_value_is_a_change_of_an_active_memory_alone(
    told_file: MemoryFile, other: dict[str, Any]
) -> None:
    await put(told_file, *PAIR)
    await told_file.write(lambda change: retract(change, "m2", reason=None))
    before = len(await kept(told_file))
    await put(told_file, memory("m1", **other), memory("m2", status="retracted", **other))
    assert (await kept(told_file))[before:] == [("changed", "m1")]


async def test_one_that_is_not_active_is_no_news(told_file: MemoryFile) -> None:
    await put(told_file, memory("m1", status="retracted"), memory("m2", status="superseded"))
    await told_file.write(lambda change: retract(change, "m2", reason=None))
    await told_file.write(lambda change: erase(change, Erasure(everything=True)))
    assert await kept(told_file) == []
    await put(told_file, memory("m3", status="superseded"))
    await put(told_file, memory("m3", content="It is in Porto."))
    assert await kept(told_file) == [("written", "m3")]


async def test_one_that_is_superseded_is_forgotten(told_file: MemoryFile) -> None:
    await put(told_file, *PAIR)
    told = await became(told_file, lambda change: supersede(change, "m1", "m2", reason=None))
    assert told == [("forgotten", "m1")]


async def test_a_contradiction_is_told_of_the_one_that_is_contradicted_and_once(
    told_file: MemoryFile,
) -> None:
    await put(told_file, *PAIR)
    contradiction = edge(edge_type="Contradicts")
    told = await became(told_file, lambda change: write_edge(change, contradiction, path="$"))
    assert told == [("contradicted", "m2", "m1")]
    heavier = edge(edge_type="Contradicts", weight=0.9)
    assert await became(told_file, lambda change: write_edge(change, heavier, path="$")) == []
    assert await became(told_file, lambda change: write_edge(change, edge("e2"), path="$")) == []
    told = await became(told_file, lambda change: resolve(change, "e1", "keep_to", reason="newer"))
    assert told == [("forgotten", "m1")]


async def test_what_is_taken_in_is_written(told_file: MemoryFile) -> None:
    def take_in(change: Change) -> None:
        add_memory(change, NewMemory(memory=memory()), version=7, embedding_version=VERSION)

    assert await became(told_file, take_in) == [("written", "m1")]


async def test_a_change_that_fails_is_no_news(told_file: MemoryFile) -> None:
    def fail(change: Change) -> None:
        add_memory(change, NewMemory(memory=memory()), version=1, embedding_version=VERSION)
        raise RuntimeError("it was not to be")

    with pytest.raises(RuntimeError, match="not to be"):
        await told_file.write(fail)
    assert await kept(told_file) == []


async def test_nothing_is_kept_of_what_is_erased_and_not_to_be_told(told_file: MemoryFile) -> None:
    await put(told_file, *PAIR, memory("m3"))
    for name, start in (("e1", "m1"), ("e2", "m3")):
        contradiction = edge(name, from_memory_id=start, edge_type="Contradicts")
        await told_file.write(lambda change, one=contradiction: write_edge(change, one, path="$"))  # type: ignore[misc]
    await told_file.write(lambda change: erase(change, Erasure(memory_ids=["m1"], is_told=False)))
    assert await kept(told_file) == [
        (),  # m1 was written
        ("written", "m2"),
        ("written", "m3"),
        (),  # it contradicted m2
        ("contradicted", "m2", "m3"),
        (),  # it was forgotten
    ]
    await told_file.write(lambda change: erase(change, Erasure(everything=True, is_told=False)))
    assert await kept(told_file) == []


async def test_where_nobody_wants_to_hear_of_it_nothing_is_kept(tmp_path: Path, told_kit: FileKit) -> None:
    nobody = replace(told_kit, untold=None)
    async with open_at(tmp_path, nobody) as file:
        await put(file, *PAIR)
        await file.write(lambda change: write_edge(change, edge(edge_type="Contradicts"), path="$"))
        await file.write(lambda change: retract(change, "m1", reason=None))
        await put(file, memory("m2", importance=1))
        await file.write(lambda change: erase(change, Erasure(everything=True)))
        assert await kept(file) == []
    async with open_at(tmp_path, told_kit) as file:  # there is a webhook now
        await put(file, memory("m3"))
        assert await kept(file) == [("written", "m3")]
    async with open_at(tmp_path, nobody) as file:  # and there is none any more
        assert await kept(file) == []


async def test_a_file_that_is_closed_with_changes_says_so(tmp_path: Path, told_kit: FileKit) -> None:
    async with open_at(tmp_path, told_kit) as file:
        await put(file, memory())
        assert await file.read(are_changes_kept)
    assert told_kit.untold == {KEY}
    told_kit.untold.clear()
    async with open_at(tmp_path, told_kit) as file:
        (told,) = await file.read(lambda snapshot: kept_changes(snapshot, limit=2))
        await file.write(lambda change: remove_told(change, told))
        await put(file, memory("m2"))
        await file.write(lambda change: remove_told(change, told))  # by another one that has told it, too
        assert await kept(file) == [("written", "m2")]
        (told,) = await file.read(lambda snapshot: kept_changes(snapshot, limit=2))
        await file.write(lambda change: remove_told(change, told))
    assert told_kit.untold == set()
