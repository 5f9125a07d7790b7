"""Many writers of one thing: they wait for each other without taking the connections that others need."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import asyncpg
import pytest

from elf.core.errors import Unavailable
from elf.db import database as database_module
from tests.db.conftest import until
from tests.db.notes.conftest import House
from tests.db.notes.test_history import restore

pytestmark = pytest.mark.anyio

WRITERS = 20  # the pool has 8 connections
SAME = "Fact: tea is hot."

Write = Callable[[House, int], Awaitable[object]]


async def of_one_group(house: House, number: int) -> None:
    (result,) = await house.add({"text": SAME})
    assert result.op == "NONE"


async def of_one_key(house: House, number: int) -> None:
    (result,) = await house.add({"text": f"Fact: tea is {number} degrees hot.", "key": "tea"})
    assert result.op == "UPDATE"


async def of_one_note(house: House, number: int) -> None:
    note_id = await house.value("SELECT note_id FROM memory_notes WHERE text = $1", SAME)
    assert await house.update(note_id, importance=number / 100) == "UPDATE"


async def of_one_note_again(house: House, number: int) -> None:
    note_id = await house.value("SELECT note_id FROM memory_notes WHERE text = $1", SAME)
    assert (await restore(house, note_id)).op == "NONE"


async def of_one_deleted_note(house: House, number: int) -> None:
    note_id = await house.value("SELECT note_id FROM memory_notes WHERE text = $1", SAME)
    assert await house.delete(note_id) in ("DELETE", "NONE")


@asynccontextmanager
async def held_up(dsn: str) -> AsyncIterator[None]:
    """Hold the rows of all notes, as a slow writer of another process does."""
    other = await asyncpg.connect(dsn)
    try:
        async with other.transaction():
            await other.execute("SELECT 1 FROM memory_notes FOR UPDATE")
            yield
    finally:
        await other.close()


@pytest.mark.parametrize(
    "write", [of_one_group, of_one_key, of_one_note, of_one_note_again, of_one_deleted_note]
)
async def test_a_flood_of_writers_of_one_thing_leaves_the_pool_to_others(
    house: House, database_dsn: str, write: Write
) -> None:
    await house.add({"text": SAME, "key": "tea" if write is of_one_key else None})
    done = 0

    async def count(number: int) -> None:
        nonlocal done
        await write(house, number)
        done += 1

    async def one_waits_for_the_lock() -> bool:
        return bool(await house.value("SELECT count(*) FROM pg_locks WHERE NOT granted"))

    async def only_that_one_has_a_connection() -> bool:
        pool = house.database.statistics()
        return pool.size - pool.idle == 1

    async with anyio.create_task_group() as flood, held_up(database_dsn):
        for number in range(1, WRITERS + 1):
            flood.start_soon(count, number)
        await until(one_waits_for_the_lock)
        (result,) = await house.add({"text": "Fact: coffee is hot.", "key": "coffee"}, tenant_id="other")
        assert (result.op, done) == ("ADD", 0)
        await until(
            only_that_one_has_a_connection
        )  # once all the others have looked what they are to write to
    assert done == WRITERS
    assert house.database.queued == 0


async def test_floods_of_many_things_leave_some_of_the_pool_to_readers(
    house: House, database_dsn: str
) -> None:
    notes = [await house.add_one(f"Fact: number {number}.", key=str(number)) for number in range(WRITERS)]
    most = house.database.statistics().max_size * 3 // 4

    async def as_many_wait_as_may() -> bool:
        return bool(await house.value("SELECT count(*) FROM pg_locks WHERE NOT granted") >= most)

    async with anyio.create_task_group() as flood, held_up(database_dsn):
        for number, note_id in enumerate(notes):
            flood.start_soon(lambda one, at: house.update(one, importance=at / 100), note_id, number)
        await until(as_many_wait_as_may)
        assert await house.value("SELECT text FROM memory_notes WHERE note_id = $1", notes[0])
        pool = house.database.statistics()
        assert pool.size - pool.idle == most
    assert house.database.queued == 0


async def test_a_writer_whose_turn_does_not_come_is_told_to_come_again(
    house: House, database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_id = await house.add_one(SAME)
    monkeypatch.setattr(database_module, "TURN_TIMEOUT_S", 0.05)

    async def first() -> None:
        assert await house.update(note_id, importance=0.1) == "UPDATE"

    async def waits() -> bool:
        return bool(await house.value("SELECT count(*) FROM pg_locks WHERE NOT granted"))

    async with anyio.create_task_group() as group, held_up(database_dsn):
        group.start_soon(first)
        await until(waits)
        with pytest.raises(Unavailable, match="others write the same"):
            await house.update(note_id, importance=0.2)
    assert house.database.queued == 0


async def test_writers_of_one_group_find_each_others_notes(house: House) -> None:
    async with anyio.create_task_group() as group:
        results: list[str] = []

        async def add() -> None:
            (result,) = await house.add({"text": SAME})
            results.append(result.op)

        for _ in range(WRITERS):
            group.start_soon(add)
    assert sorted(results) == ["ADD", *["NONE"] * (WRITERS - 1)]
