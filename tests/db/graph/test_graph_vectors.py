"""Vectors of a file: the nearest come first, whatever was added and removed since they were read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import apsw
import numpy as np
import numpy.typing as npt
import pytest

from elf.families.graph.store.backlog import count_vectors_to_make, keep_vectors, vectors_to_make
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.statements import Change, Snapshot
from tests.db.graph.graph_kit import KEY, NOW, VERSION, memory, opened, put

pytestmark = pytest.mark.anyio
DIM = 8
Vector = npt.NDArray[np.float32]


def unit(seed: int) -> Vector:
    vector = np.random.default_rng(seed).normal(size=DIM).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


async def give(file: MemoryFile, vectors: Mapping[str, list[Vector]], version: str = VERSION) -> None:
    def keep(change: Change) -> None:
        ids = json.dumps([*vectors])
        change.run("delete_vectors", memory_ids=ids)
        change.run("insert_vectors_to_make", memory_ids=ids, embedding_version=version)
        due = vectors_to_make(change, version, now=change.now, limit=10_000)
        made = [(one, np.stack(vectors[one.memory_id])) for one in due if one.memory_id in vectors]
        keep_vectors(change, made, version)

    await file.write(keep)


async def nearest(file: MemoryFile, vector: Vector, version: str = VERSION) -> list[str]:
    return await file.read(lambda snapshot: list(file.vectors.nearest(snapshot, version, vector)))


def by_hand(vectors: Mapping[str, list[Vector]], asked: Vector) -> list[str]:
    exact = asked.astype(np.float64)
    best = {
        name: max(float((one.astype(np.float64) * exact).sum()) for one in some)
        for name, some in vectors.items()
    }
    return sorted(best, key=lambda name: (-best[name], name))


def many(count: int, pieces: int = 1) -> dict[str, list[Vector]]:
    return {f"m{n:04}": [unit(n * pieces + piece) for piece in range(pieces)] for n in range(count)}


async def test_the_nearest_come_first_and_equals_by_id(file: MemoryFile) -> None:
    vectors = {"b": [unit(1)], "a": [unit(1)], "c": [unit(2)]}
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)
    assert await nearest(file, unit(1)) == ["a", "b", "c"]


async def test_of_a_long_memory_the_nearest_piece_counts(file: MemoryFile) -> None:
    vectors = many(30, pieces=3)
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)
    assert await nearest(file, unit(500)) == by_hand(vectors, unit(500))


async def test_equal_vectors_stand_in_the_order_of_ids_wherever_they_are_in_the_file(
    file: MemoryFile,
) -> None:
    same = (
        np.random.default_rng(1).normal(size=384).astype(np.float32)
    )  # so long that products differ by their place
    names = [f"m{number:04}" for number in np.random.default_rng(2).permutation(1003)]
    await put(file, *(memory(name) for name in names))
    await give(file, {name: [same] for name in names})
    asked = np.random.default_rng(3).normal(size=384).astype(np.float32)
    assert await nearest(file, asked) == sorted(names)


async def test_very_many_are_in_the_order_of_their_cosines_to_the_last_one(file: MemoryFile) -> None:
    vectors = many(1200) | {f"same{number:03}": [unit(7)] for number in range(600)}
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)
    for seed in (7, 10_000):
        assert await nearest(file, unit(seed)) == by_hand(vectors, unit(seed))


async def test_what_is_added_and_removed_is_seen_at_once(file: MemoryFile) -> None:
    vectors = many(40)
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)
    assert await nearest(file, unit(99)) == by_hand(vectors, unit(99))
    for number in range(5):
        vectors[f"new{number}"] = [unit(200 + number)]
        await put(file, memory(f"new{number}"))
        await give(file, {f"new{number}": vectors[f"new{number}"]})
        assert await nearest(file, unit(99)) == by_hand(vectors, unit(99))
    vectors["m0003"] = [unit(300)]
    await give(file, {"m0003": vectors["m0003"]})
    assert await nearest(file, unit(99)) == by_hand(vectors, unit(99))
    await put(file, memory("m0004", content="Another text."))
    del vectors["m0004"]
    assert await nearest(file, unit(99)) == by_hand(vectors, unit(99))


async def test_vectors_of_a_text_that_is_another_by_now_are_not_kept(file: MemoryFile) -> None:
    await put(file, memory("m1"), memory("m2"), memory("m3"))
    due = await file.read(lambda snapshot: vectors_to_make(snapshot, VERSION, now=NOW, limit=10))
    await put(file, memory("m1", content="Another text."))
    made = [(one, unit(number)[None]) for number, one in enumerate(due)]
    await file.write(lambda change: keep_vectors(change, made, VERSION))
    await file.write(
        lambda change: keep_vectors(change, made[::-1], VERSION)
    )  # by a process that was as fast
    assert await nearest(file, unit(1)) == by_hand({"m2": [unit(1)], "m3": [unit(2)]}, unit(1))
    assert await file.read(lambda snapshot: count_vectors_to_make(snapshot, VERSION)) == 1


async def test_what_another_process_adds_is_seen(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        here, there = [await opened(group, tmp_path, KEY, kit) for _ in range(2)]
        await put(here, memory("m1"), memory("m2"))
        await give(here, {"m1": [unit(1)]})
        assert await nearest(here, unit(1)) == await nearest(there, unit(1)) == ["m1"]
        await give(there, {"m2": [unit(2)]})
        assert await nearest(here, unit(1)) == ["m1", "m2"]
        group.cancel_scope.cancel()


async def test_vectors_of_another_version_are_not_compared(file: MemoryFile) -> None:
    await put(file, memory("m1"), memory("m2"))
    await give(file, {"m1": [unit(1)]}, version="other:model:8")
    await give(file, {"m2": [unit(2)]})
    assert await nearest(file, unit(1)) == ["m2"]
    assert await nearest(file, unit(1), version="other:model:8") == ["m1"]


async def test_a_query_of_another_length_finds_nothing(file: MemoryFile) -> None:
    await put(file, memory("m1"))
    await give(file, {"m1": [unit(1)]})
    assert await nearest(file, np.ones(3, dtype=np.float32)) == []


async def test_who_still_looks_at_an_older_state_sees_that_one(file: MemoryFile) -> None:
    await put(file, memory("m1"), memory("m2"))
    await give(file, {"m1": [unit(1)]})

    def look(snapshot: Snapshot) -> tuple[list[str], list[str]]:
        snapshot.row("owners")  # from here on it sees one state
        anyio.from_thread.run(give, file, {"m2": [unit(2)]})
        newer = anyio.from_thread.run(nearest, file, unit(1))
        return newer, list(file.vectors.nearest(snapshot, VERSION, unit(1)))

    assert await file.read(look) == (["m1", "m2"], ["m1"])


async def test_vectors_go_with_their_memory(file: MemoryFile) -> None:
    await put(file, memory("m1"), memory("m2"))
    await give(file, {"m1": [unit(1)], "m2": [unit(2)]})
    assert await nearest(file, unit(1)) == ["m1", "m2"]
    connection = apsw.Connection(str(file.layout.database))
    try:
        connection.pragma("foreign_keys", True)
        connection.execute("DELETE FROM memories WHERE memory_id = 'm1'")
    finally:
        connection.close()
    assert await nearest(file, unit(1)) == ["m2"]


async def test_who_looks_at_an_older_state_sees_what_has_gone_since(file: MemoryFile) -> None:
    vectors = many(20)
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)

    def look(snapshot: Snapshot) -> tuple[list[str], list[str]]:
        snapshot.row("owners")
        anyio.from_thread.run(put, file, memory("m0003", content="Another text."), memory("new"))
        anyio.from_thread.run(give, file, {"new": [unit(500)]})
        newer = anyio.from_thread.run(nearest, file, unit(1))
        return newer, list(file.vectors.nearest(snapshot, VERSION, unit(1)))

    newer, older = await file.read(look)
    assert older == by_hand(vectors, unit(1))
    del vectors["m0003"]
    vectors["new"] = [unit(500)]
    assert newer == by_hand(vectors, unit(1)) == await nearest(file, unit(1))


async def test_what_is_added_is_not_copied_with_all_that_there_is(file: MemoryFile) -> None:
    vectors = many(300)
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)
    arrays = set()
    for number in range(200):
        vectors[f"new{number}"] = [unit(2000 + number)]
        await put(file, memory(f"new{number}"))
        await give(file, {f"new{number}": vectors[f"new{number}"]})
        if number % 10 == 0:
            assert await nearest(file, unit(99)) == by_hand(vectors, unit(99))
        arrays.add(await file.read(lambda snapshot: id(file.vectors.of(snapshot, VERSION, DIM).rows.base)))
    assert len(arrays) == 1


async def test_a_vector_that_somebody_else_wrote_in_another_size_is_left_out(file: MemoryFile) -> None:
    vectors = many(5)
    await put(file, *(memory(name) for name in vectors))
    await give(file, vectors)
    await nearest(file, unit(1))
    connection = apsw.Connection(str(file.layout.database))
    try:
        connection.execute("UPDATE memory_embeddings SET vector = x'00000000' WHERE memory_id = 'm0002'")
    finally:
        connection.close()
    await put(file, memory("new"))
    await give(file, {"new": [unit(7)]})
    file.vectors = type(file.vectors)()
    del vectors["m0002"]
    assert await nearest(file, unit(1)) == by_hand(vectors | {"new": [unit(7)]}, unit(1))
