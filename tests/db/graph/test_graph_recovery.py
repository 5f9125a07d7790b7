"""A damaged memory is put aside as it is, while the service runs, and made anew of what was dropped for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest

from elf.db.database import Database
from elf.families.graph.store.layout import prepare
from elf.families.graph.store.presence import Presence
from tests.db.graph.house import FACT, House, eventually, fact, house_at
from tests.db.graph.ingest_kit import edge_told, json_file, told

pytestmark = pytest.mark.anyio
SOUND: dict[str, Any] = {"was_lost": False, "put_aside": [], "kept": {}, "lost": {}, "files": []}


def cut_in_half(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


def damage_a_page(path: Path) -> None:
    """Overwrite the root of an index, which nobody reads before a write."""
    connection = apsw.Connection(str(path))
    (root,) = (connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'edges_by_end'").get,)
    size = connection.pragma("page_size")
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)


async def recovered(house: House, status: int = 200, **asked: Any) -> Any:
    answer = await house.client.post("/v1/admin/graph/recover", json={"orchestrator_id": "planner", **asked})
    assert answer.status_code == status, answer.text
    return answer.json()


async def drop(house: House, name: str, text: str) -> None:
    """Drop a file, and wait until it is processed."""
    await anyio.Path(house.memory() / "ingest" / name).write_text(text)
    manifest = anyio.Path(house.memory() / "ingest" / "processed" / f"{name}.processed.json")
    await eventually(lambda: looked(house, manifest), bool)


async def looked(house: House, manifest: anyio.Path) -> bool:
    """Have the folder looked at, and tell whether there is a manifest by now."""
    await house.post("ingest/run")
    return await manifest.exists()


async def listed(house: House) -> list[Any]:
    """Return the memories but for when they changed last, by their ids."""
    items = (await house.get("memories", status="all", limit=200))["items"]
    return sorted(({**one, "updatedAt": None} for one in items), key=lambda one: str(one["memoryId"]))


async def filled(house: House) -> list[Any]:
    """Fill a memory with files alone; return what is in it."""
    await house.post("memories", memories=[FACT])
    await drop(house, "notes.md", "We decided to use Postgres. TODO: order disks.")
    await drop(house, "told.json", json_file(told("a"), told("b"), edges=[edge_told("e", "a", "b")]))
    await house.erase(memory_ids=["m1"])
    return await listed(house)


@pytest.mark.parametrize("damage", [cut_in_half, overwrite, damage_a_page])
async def test_a_damaged_memory_is_put_aside_and_made_anew_of_its_files(
    database: Database, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    async with house_at(database, tmp_path) as house:
        before = await filled(house)
    path = house.memory() / "memory.db"
    damage(path)
    damaged = path.read_bytes()
    manifests = {one.name: one.read_bytes() for one in path.parent.glob("ingest/processed/*")}
    async with house_at(database, tmp_path) as house:
        if damage is not damage_a_page:
            assert (await house.get("status"))["error_code"] == "memory_db_corrupt"
        answer = await recovered(house)
        name, *beside = answer["put_aside"]
        assert {one.removeprefix(name) for one in beside} <= {"-wal", "-shm"}
        assert name == f"memory.db.damaged-{house.clock.now():%Y%m%dT%H%M%SZ}"
        assert path.with_name(name).read_bytes() == damaged
        if damage is overwrite:
            assert answer["kept"] == {"memories": 0, "edges": 0, "versions": 0}
            assert [Path(one["sourcePath"]).name for one in answer["files"]] == ["notes.md", "told.json"]
        if damage is damage_a_page:
            assert (answer["kept"]["memories"], answer["files"]) == (len(before), [])
        assert all(one["error"] is None for one in answer["files"])
        assert await listed(house) == before
        assert [one["edge"]["edgeId"] for one in (await house.get("memories/a/edges"))["items"]] == ["e"]
        assert (await house.get("status"))["status"] == "ok"
        assert {one.name: one.read_bytes() for one in path.parent.glob("ingest/processed/*")} == manifests
        logged = (path.parent / "logs" / "memory.log").read_text().splitlines()
        assert sum('"memory.worker.recovered"' in line for line in logged) == 1
        assert await recovered(house) == SOUND


async def test_what_was_dropped_before_is_a_duplicate_after_a_recovery(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as house:
        before = await filled(house)
    overwrite(house.memory() / "memory.db")
    async with house_at(database, tmp_path) as house:
        await recovered(house)
        text = "We decided to use Postgres. TODO: order disks."
        await anyio.Path(house.memory() / "ingest" / "notes.md").write_text(text)
        again = house.memory() / "ingest" / "processed" / "notes.md.1.processed.json"
        await eventually(lambda: looked(house, anyio.Path(again)), bool)
        assert '"duplicate"' in again.read_text()
        assert await listed(house) == before


async def test_a_sound_memory_stays_as_it_is(house: House) -> None:
    before = await filled(house)
    assert await recovered(house) == SOUND
    assert await listed(house) == before
    assert list(house.memory().glob("*damaged*")) == []


async def test_a_memory_is_recovered_while_another_process_has_it_open(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as first, house_at(database, tmp_path) as second:
        before = await filled(first)
        assert await listed(second) == before
        damage_a_page(first.memory() / "memory.db")
        assert len((await recovered(second))["put_aside"]) >= 1
        assert await listed(second) == before
        assert await eventually(lambda: _or_none(first), lambda found: found is not None) == before
        await first.post("memories", memories=[fact("m7")])
        assert (await second.get("memories/m7"))["memory"]["memoryId"] == "m7"


async def _or_none(house: House) -> list[Any] | None:
    answer = await house.client.get("/v1/graph/memories", params={"orchestrator_id": "planner"})
    return None if answer.status_code == 503 else await listed(house)


async def test_a_memory_that_is_held_open_elsewhere_is_not_put_aside(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elf.families.graph.store.presence.ALONE_S", 0.1)
    await house.post("memories", memories=[FACT])
    held = Presence.enter(prepare(house.memory().parent))
    try:
        answer = await recovered(house, 503)
    finally:
        held.leave()
    assert answer["message"] == "the memory of planner is in use for too long: try again"
    assert (await house.get("memories/m1"))["memory"]["memoryId"] == "m1"


async def test_a_file_that_cannot_be_taken_in_again_is_told_and_takes_no_other_with_it(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[FACT])
        await drop(house, "a.json", json_file(told("a"), edges=[edge_told("e", "a", "m1")]))
        await drop(house, "b.json", json_file(told("b")))
    overwrite(house.memory() / "memory.db")
    async with house_at(database, tmp_path) as house:
        first, second = (await recovered(house))["files"]
        assert (first["error"]["code"], first["memoriesWritten"]) == ("repository_error", 0)
        assert (second["error"], second["memoriesWritten"]) == (None, 1)
        assert (house.memory() / "ingest" / "processed" / "a.json").exists()
        assert [one["memoryId"] for one in await listed(house)] == ["b"]
        await house.post("memories", memories=[FACT])
        (retaken,) = (await recovered(house))["files"]
        assert (retaken["error"], retaken["edgesWritten"]) == (None, 1)


async def test_a_file_whose_manifest_was_never_written_is_taken_in_again_and_gets_one(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as house:
        await drop_clashing(house)
        before = await listed(house)
    processed = house.memory() / "ingest" / "processed"
    (processed / "told.json.1.processed.json").unlink()
    overwrite(house.memory() / "memory.db")
    async with house_at(database, tmp_path) as house:
        assert len((await recovered(house))["files"]) == 2
        assert await listed(house) == before
        assert (processed / "told.json.1.processed.json").exists()


async def drop_clashing(house: House) -> None:
    """Drop two files of one name."""
    await house.post("memories", memories=[FACT])
    await house.erase(memory_ids=["m1"])
    await drop(house, "told.json", json_file(told("a")))
    await anyio.Path(house.memory() / "ingest" / "told.json").write_text(json_file(told("b")))
    second = house.memory() / "ingest" / "processed" / "told.json.1.processed.json"
    await eventually(lambda: looked(house, anyio.Path(second)), bool)


async def test_nothing_of_what_was_put_aside_is_left_after_an_erasure(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[fact("m1", content="The xylographer lives here.")])
    cut_in_half(house.memory() / "memory.db")
    async with house_at(database, tmp_path) as house:
        assert (await recovered(house))["put_aside"]
        assert (await house.erase(memory_ids=["m1"]))["erased"]["files"] >= 1
        assert list(house.memory().glob("*damaged*")) == []


async def test_only_the_orchestrator_itself_is_recovered_and_one_that_there_is(house: House) -> None:
    await house.post("memories", memories=[FACT])
    assert (await recovered(house, 403, requesting_orchestrator_id="writer"))["error_code"] == "SCOPE_DENIED"
    assert (await recovered(house, 404, orchestrator_id="none"))["error_code"] == "NOT_FOUND"
    assert not house.memory("none").exists()
