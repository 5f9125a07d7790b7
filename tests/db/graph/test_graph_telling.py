"""What a file keeps of its changes is told once and in order, at whatever point the process dies."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from elf.db.database import Database
from elf.families.graph.store.changes import restore, retract
from elf.families.graph.store.edges import write_edge
from elf.families.graph.store.erasing import Erasure, erase
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.telling import AT_ONCE, Telling
from tests.db.graph.graph_kit import KEY, edge, memory, put
from tests.db.graph.house import eventually
from tests.db.graph.telling_kit import (
    QUERIES,
    Death,
    Dying,
    Killed,
    Told,
    kept,
    open_at,
    tell_all,
    tell_until_death,
    told,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def telling(hearing: Database) -> Telling:
    return Telling(hearing, QUERIES)


async def change_at_random(file: MemoryFile, rng: random.Random, statuses: dict[str, str]) -> Told:
    """Change a memory; return what is to be told of it. `statuses` are those that there are."""
    name = f"m{rng.randrange(6)}"
    status = statuses.get(name)
    if status is None:
        await put(file, memory(name))
        statuses[name] = "active"
        return [("written", name)]
    others = [other for other in statuses if other != name]
    match rng.choice(["change", "turn", "erase", *(["contradict"] if others else [])]):
        case "change":
            await put(file, memory(name, status=status, content=f"It is {rng.random()} now."))
            return [("changed", name)] if status == "active" else []
        case "turn":
            turn: Callable[..., Any] = retract if status == "active" else restore
            await file.write(lambda change: turn(change, name, reason=None))
            statuses[name] = "retracted" if status == "active" else "active"
            return [("forgotten" if status == "active" else "written", name)]
        case "erase":
            await file.write(lambda change: erase(change, Erasure(memory_ids=[name])))
            del statuses[name]
            return [("forgotten", name)] if status == "active" else []
        case _:
            other = rng.choice(others)
            contradiction = edge(
                f"e{rng.randrange(10**9)}", from_memory_id=name, to_memory_id=other, edge_type="Contradicts"
            )
            outcome = await file.write(lambda change: write_edge(change, contradiction, path="$")[1])
            return [("contradicted", other, name)] if outcome == "ADD" else []


@pytest.mark.parametrize("seed", range(8))
async def test_each_change_is_told_once_and_in_order_whenever_the_process_dies(
    hearing: Database, tmp_path: Path, told_kit: FileKit, seed: int
) -> None:
    rng, statuses, expected, deaths = random.Random(seed), dict[str, str](), list[tuple[str, ...]](), 0
    for _ in range(12):
        async with open_at(tmp_path, told_kit) as file:
            for _ in range(rng.randint(1, 3)):
                for _ in range(rng.randint(0, 4)):
                    expected += await change_at_random(file, rng, statuses)
                try:
                    await tell_until_death(hearing, file, steps=rng.randint(0, 22))
                except Killed:
                    deaths += 1
    async with open_at(tmp_path, told_kit) as file:
        await tell_all(Telling(hearing, QUERIES), file)
        assert await kept(file) == []
    assert await told(hearing) == expected
    assert deaths > 5


async def test_what_was_told_is_told_once_though_the_last_of_it_was_erased_before_it_was_removed(
    hearing: Database, told_file: MemoryFile, telling: Telling
) -> None:
    await put(told_file, memory("m1"), memory("m2"))
    dying = Dying(told_file, Death(4))  # it dies before it removes them
    with pytest.raises(Killed):
        await telling.tell(cast("MemoryFile", dying))
    assert await told(hearing) == [("written", "m1"), ("written", "m2")]
    await told_file.write(lambda change: erase(change, Erasure(memory_ids=["m2"], is_told=False)))
    await telling.forget(KEY, ["m2"])
    await tell_all(telling, told_file)
    assert await told(hearing) == [("written", "m1")]
    assert await kept(told_file) == []


@pytest.mark.parametrize("steps", range(18))
async def test_it_may_die_behind_each_step(
    hearing: Database, told_file: MemoryFile, telling: Telling, steps: int
) -> None:
    await put(told_file, memory("m1"), memory("m2"))
    with pytest.raises(Killed):
        await tell_until_death(hearing, told_file, steps=steps)
    await put(told_file, memory("m3"))
    await tell_all(telling, told_file)
    assert await told(hearing) == [("written", "m1"), ("written", "m2"), ("written", "m3")]


async def test_those_who_tell_at_once_tell_each_change_once(
    hearing: Database, told_file: MemoryFile, telling: Telling
) -> None:
    names = [f"m{number}" for number in range(40)]
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(telling.run, told_file)
        for name in names:
            await put(told_file, memory(name))
        await eventually(lambda: kept(told_file), lambda left: not left)
        group.cancel_scope.cancel()
    assert await told(hearing) == [("written", name) for name in names]


async def test_more_than_are_told_at_once_are_told_in_order(
    hearing: Database, told_file: MemoryFile, telling: Telling
) -> None:
    names = [f"m{number}" for number in range(AT_ONCE + 3)]
    await put(told_file, *(memory(name) for name in names))
    assert [await telling.tell(told_file) for _ in range(3)] == [True, True, False]
    assert await told(hearing) == [("written", name) for name in names]


async def test_a_file_that_is_put_back_from_a_copy_or_made_anew_is_told_of(
    hearing: Database, tmp_path: Path, told_kit: FileKit, telling: Telling
) -> None:
    async with open_at(tmp_path / "now", told_kit) as file:
        await put(file, memory("m1"))
        await tell_all(telling, file)
    shutil.copytree(tmp_path / "now", tmp_path / "copy")
    async with open_at(tmp_path / "now", told_kit) as file:
        await put(file, *(memory(f"lost{number}") for number in range(3)))
        await tell_all(telling, file)
    before = len(await told(hearing))
    for folder in ("copy", "new"):
        async with open_at(tmp_path / folder, told_kit) as file:
            await put(file, memory(folder))
            await tell_all(telling, file)
    assert (await told(hearing))[before:] == [("written", "copy"), ("written", "new")]


async def test_nothing_is_told_any_more_of_what_was_erased(
    hearing: Database, told_file: MemoryFile, telling: Telling
) -> None:
    await put(told_file, memory("m1"), memory("m2"), memory("m3"))
    contradiction = edge(edge_type="Contradicts")
    await told_file.write(lambda change: write_edge(change, contradiction, path="$"))
    await tell_all(telling, told_file)
    await put(told_file, memory("m1", importance=1))
    await told_file.write(lambda change: erase(change, Erasure(memory_ids=["m1"], is_told=False)))
    await telling.forget(KEY, ["m1"])
    await tell_all(telling, told_file)
    assert await told(hearing) == [("written", "m2"), ("written", "m3")]
    await told_file.write(lambda change: erase(change, Erasure(everything=True, is_told=False)))
    await telling.forget(KEY, None)
    await tell_all(telling, told_file)
    assert len(await told(hearing)) == 2
    async with hearing.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM graph_changes_told") == 0
    await put(told_file, memory("m4"))
    await tell_all(telling, told_file)
    assert (await told(hearing))[2:] == [("written", "m4")]


async def test_who_erases_waits_for_who_tells_at_this_moment(
    hearing: Database, told_file: MemoryFile, telling: Telling
) -> None:
    await put(told_file, memory())
    is_read, may_go_on = anyio.Event(), anyio.Event()

    class Slow:
        """Has read what there is to tell, and tells it when it may."""

        def __getattr__(self, name: str) -> Any:
            return getattr(told_file, name)

        async def read(self, look: Any) -> Any:
            found = await told_file.read(look)
            if isinstance(found, list):
                is_read.set()
                await may_go_on.wait()
            return found

    async def erase_it() -> None:
        await told_file.write(lambda change: erase(change, Erasure(memory_ids=["m1"], is_told=False)))
        await telling.forget(KEY, ["m1"])

    async with anyio.create_task_group() as group:
        group.start_soon(telling.tell, cast("MemoryFile", Slow()))
        await is_read.wait()
        group.start_soon(erase_it)
        await eventually(lambda: waiting_for_locks(hearing), lambda count: count)
        may_go_on.set()
    await tell_all(telling, told_file)
    assert await told(hearing) == []


async def waiting_for_locks(database: Database) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    return count
