"""What is damaged of a memory costs nothing but what stood there: never all of it, and never in silence."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from elf.db.database import Database
from tests.db.graph.house import PLANNER, TENANT, House, fact, house_at, link

pytestmark = pytest.mark.anyio
PLACES = 50
QUIET = "[graph.ingest]\nenabled = false\n"


def sentence(number: int) -> str:
    return (
        f"Room {number} of the office in Lisbon has {number} windows. "
        + f"It is painted {number} times. " * 8
    )


@pytest.fixture
async def filled(database: Database, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of a memory that was closed, and what is in it, by id."""
    async with house_at(database, tmp_path, QUIET) as house:
        memories = [fact(f"m{number}", content=sentence(number)) for number in range(60)]
        edges = [link(f"m{number}", f"m{number + 1}", edgeId=f"e{number}") for number in range(59)]
        await house.post("memories", memories=memories, edges=edges)
        for number in range(0, 60, 7):
            await house.post(f"memories/m{number}/update", importance=number)
        await house.post("memories/m3/retract", reason="no")
        found = await everything(house)
    return house.memory(), found


async def everything(house: House) -> dict[str, Any]:
    return {one["memoryId"]: one for one in (await house.get("memories", status="all", limit=200))["items"]}


async def recovered(house: House) -> Any:
    answer = await house.client.post("/v1/admin/graph/recover", json={"orchestrator_id": "planner"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def pages_with(path: Path, damaged: Callable[[int], bool], size: int = 4096) -> bytes:
    """Return the pages of a file that are not damaged, one behind the other."""
    data = path.read_bytes()
    return b"".join(
        data[start : start + size] for start in range(0, len(data), size) if not damaged(start // size)
    )


async def see_that_nothing_sound_is_gone(
    database: Database, folder: Path, before: dict[str, Any], sound: bytes
) -> None:
    """See that the memory is not empty in silence, and that a recovery keeps what stands in sound pages."""
    async with house_at(database, folder, QUIET) as house:
        status = await house.get("status")
        if status["status"] == "ok":
            assert (await recovered(house)) is not None
        else:
            assert status["error_code"] == "memory_db_corrupt"
            await recovered(house)
        after = await everything(house)
        assert (await house.get("status"))["status"] == "ok"
        for memory_id, memory in before.items():
            if memory["content"].encode() in sound:
                assert after.get(memory_id) == memory, memory_id
        assert {id: one for id, one in after.items() if before.get(id) != one} == {}
        await house.post("memories", memories=[fact("new")])
        assert len((await house.post("recall", query="office"))["nodes"]) > 0


@pytest.mark.parametrize("seed", range(PLACES))
async def test_a_file_that_is_cut_somewhere_keeps_what_is_before(
    database: Database, tmp_path: Path, filled: tuple[Path, dict[str, Any]], seed: int
) -> None:
    memory, before = filled
    path = memory / "memory.db"
    size = path.stat().st_size
    cut = random.Random(seed).randrange(0, size)
    sound = pages_with(path, lambda page: (page + 1) * 4096 > cut)
    os.truncate(path, cut)
    await see_that_nothing_sound_is_gone(database, tmp_path, before, sound)


@pytest.mark.parametrize("seed", range(PLACES))
async def test_a_file_of_which_bits_flipped_keeps_what_is_in_other_pages(
    database: Database, tmp_path: Path, filled: tuple[Path, dict[str, Any]], seed: int
) -> None:
    memory, before = filled
    path = memory / "memory.db"
    chance = random.Random(1000 + seed)
    data = bytearray(path.read_bytes())
    places = [chance.randrange(len(data)) for _ in range(8)]
    damaged = {place // 4096 for place in places}
    sound = pages_with(path, lambda page: page in damaged)
    for place in places:
        data[place] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    async with house_at(database, tmp_path, QUIET) as house:
        await recovered(house)
        after = await everything(house)
        assert (await house.get("status"))["status"] == "ok"
        kept = [id for id, one in before.items() if one["content"].encode() in sound]
        assert [id for id in kept if id not in after] == []


BAD_ROWS = {
    "check": "UPDATE memories SET importance = 101 WHERE memory_id = 'm1'",
    "enum": "UPDATE memories SET type = 'Rumour' WHERE memory_id = 'm1'",
    "time": "UPDATE memories SET created_at = 9000000000000000000 WHERE memory_id = 'm1'",
    "source": "UPDATE memory_sources SET source_type = 'hearsay' WHERE memory_id = 'm1'",
    "edge": "UPDATE memory_edges SET weight = 2 WHERE edge_id = 'e1'",
    "version": "UPDATE memory_versions SET memory = 'no json' WHERE memory_id = 'm1'",
    "orphan": "PRAGMA foreign_keys = OFF; DELETE FROM memories WHERE memory_id = 'm1'",
    "no source": "DELETE FROM memory_sources WHERE memory_id = 'm1'",
}


@pytest.mark.parametrize("kind", BAD_ROWS)
async def test_a_bad_row_disables_no_memory_and_a_recovery_keeps_all_others(
    database: Database, tmp_path: Path, filled: tuple[Path, dict[str, Any]], kind: str
) -> None:
    memory, before = filled
    connection = apsw.Connection(str(memory / "memory.db"))
    connection.execute(f"PRAGMA ignore_check_constraints = ON; {BAD_ROWS[kind]}")
    connection.close()
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("status"))["status"] == "ok"
        assert (await house.get("memories/m2"))["memory"] == before["m2"]
        answer = await recovered(house)
        assert len(answer["put_aside"]) >= 1
        after = await everything(house)
        assert {id: one for id, one in before.items() if id != "m1"} == {
            id: one for id, one in after.items() if id != "m1"
        }
        (versions,) = [len((await house.get(f"memories/m{number}/history"))["items"]) for number in (7,)]
        assert versions == 2
        assert (await recovered(house))["put_aside"] == []
        assert len((await house.post("recall", query="Room 2 windows"))["nodes"]) > 0


@pytest.mark.parametrize("first", ["status", "write", "recall", "list", "bulletin", "export", "share"])
async def test_a_memory_that_was_emptied_is_damaged_also_where_postgres_knows_nothing_of_it(
    database: Database, tmp_path: Path, filled: tuple[Path, dict[str, Any]], first: str
) -> None:
    memory, _ = filled
    os.truncate(memory / "memory.db", 0)
    async with database.connection() as connection:
        await connection.execute("DELETE FROM graph_homes")
    async with house_at(database, tmp_path, QUIET) as house:
        asked: dict[str, Callable[[], Awaitable[Any]]] = {
            "status": lambda: house.get("status"),
            "write": lambda: house.post("memories", 503, memories=[fact("x")]),
            "recall": lambda: house.post("recall", 503, query="office"),
            "list": lambda: house.get("memories", 503),
            "bulletin": lambda: house.post("context", purpose="selector", message_id="m", message="office"),
            "export": lambda: house.client.get("/v1/admin/graph/export", params=PLANNER),
            "share": lambda: house.client.post(
                "/v1/admin/graph/share", json={**PLANNER, "memory_id": "m1", "shared": True}
            ),
        }
        answer = await asked[first]()
        assert "memory_db_corrupt" in getattr(answer, "text", str(answer)) or answer["status"] == "disabled"
        status = await house.get("status")
        assert (status["status"], status["error_code"]) == ("disabled", "memory_db_corrupt")
        assert (await house.post("memories", 503, memories=[fact("x")]))["error_code"] == "memory_db_corrupt"
        answer = await recovered(house)
        assert (answer["was_lost"], len(answer["put_aside"])) == (False, 1)
        assert (await house.get("status"))["status"] == "ok"


async def test_what_only_the_write_ahead_log_holds_is_kept(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, QUIET) as house:
        await house.post("memories", memories=[fact("m1"), fact("m2")])
        copy = tmp_path / "copy"
        shutil.copytree(house.memory(), copy)
    for name in ("memory.db", "memory.db-wal"):
        shutil.copy(copy / name, house.memory() / name)
    os.truncate(house.memory() / "memory.db", 0)
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("status"))["error_code"] == "memory_db_corrupt"
        assert (await recovered(house))["kept"]["memories"] == 2
        assert {*await everything(house)} == {"m1", "m2"}


async def test_a_recovery_that_was_broken_off_goes_on_where_it_ended(
    database: Database, tmp_path: Path, filled: tuple[Path, dict[str, Any]]
) -> None:
    memory, before = filled
    (memory / "memory.db").rename(memory / "memory.db.recovered")  # all but the last step is done
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("status"))["error_code"] == "memory_db_lost"
        assert (await recovered(house))["was_lost"] is False
        assert await everything(house) == before


async def test_nothing_that_was_erased_comes_back_of_a_damaged_file(
    database: Database, tmp_path: Path, filled: tuple[Path, dict[str, Any]]
) -> None:
    memory, _ = filled
    async with house_at(database, tmp_path, QUIET) as house:
        await house.erase(memory_ids=[f"m{number}" for number in range(0, 60, 3)])
        before = await everything(house)
    assert (memory.parent.parent.name, memory.parent.name) == (TENANT, "planner")
    with (memory / "memory.db").open("r+b") as file:
        file.write(b"\xff" * 4096)
    async with house_at(database, tmp_path, QUIET) as house:
        await recovered(house)
        assert await everything(house) == before
