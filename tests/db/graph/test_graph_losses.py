"""Memories whose files are gone: nothing is begun in their place until an operator gives them up."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.db.database import Database
from tests.db.graph.house import FACT, TENANT, House, fact, house_at
from tests.db.graph.ingest_kit import tree

pytestmark = pytest.mark.anyio

ASKED = {"purpose": "selector", "message_id": "m", "message": "office"}
QUIET = "[graph.ingest]\nenabled = false\n"
MINE = {"orchestrator_id": "planner"}


def lose_folder(memory: Path) -> None:
    shutil.rmtree(memory.parent)


def lose_file(memory: Path) -> None:
    (memory / "memory.db").unlink()


def move(folder: Path, to: Path) -> None:
    folder.rename(to)


def empty_file(memory: Path) -> None:
    (memory / "memory.db").write_bytes(b"")


async def state(house: House) -> dict[str, Any]:
    """Return what operators are told of the planner."""
    answer = await house.client.get("/v1/admin/graph/orchestrators")
    assert answer.status_code == 200, answer.text
    (one,) = [one for one in answer.json()["items"] if one["orchestrator_id"] == "planner"]
    found: dict[str, Any] = one
    return found


async def recovered(house: House, status: int = 200, **asked: Any) -> Any:
    answer = await house.client.post("/v1/admin/graph/recover", json={**MINE, **asked})
    assert answer.status_code == status, answer.text
    return answer.json()


async def looked(house: House) -> None:
    """Have somebody look for the files of all memories."""
    (losses,) = (owner for owner in house.opened.owners if owner.name == "graph_losses")
    await losses.look()  # type: ignore[attr-defined]  # that one has it


async def see_lost(house: House, code: str, *words: str) -> None:
    """See that whoever asks for the planner's memory is told that it is lost, and gets a context."""
    for answer in (
        await house.get("memories", 503), await house.post("memories", 503, memories=[FACT]),
        await house.post("recall", 503, query="office"), await house.get("ingest", 503),
    ):  # fmt: skip
        assert answer["error_code"] == code
        assert all(word in answer["message"] for word in ("elf graph recover", "restores", *words))
        assert str(house.root.parent) not in answer["message"]
    status = await house.get("status")
    assert (status["status"], status["error_code"], status["counts"]) == ("disabled", code, None)
    context = await house.post("context", **ASKED)
    assert (context["status"], context["bulletin"]["status"]) == ("disabled", "empty")


@pytest.fixture
async def filled(database: Database, tmp_path: Path) -> Path:
    """The root of a house that was closed, with memories of the planner and of another one."""
    async with house_at(database, tmp_path) as house:
        for name in ("planner", "writer"):
            await house.post("memories", memories=[FACT], orchestrator_id=name)
        return house.root


@pytest.mark.parametrize(
    ("lose", "code", "warned"),
    [
        (lose_folder, "memory_db_lost", "a memory of the graph lost its files"),
        (lose_file, "memory_db_lost", "a memory of the graph lost its files"),
        (empty_file, "memory_db_corrupt", "a memory of the graph cannot be used"),
    ],
)
async def test_a_memory_whose_file_is_gone_or_empty_is_told_so_and_no_other_begun(
    database: Database, tmp_path: Path, filled: Path, lose: Callable[[Path], None], code: str, warned: str
) -> None:
    lose(filled / TENANT / "planner" / "memory")
    before = tree(filled / TENANT / "planner")
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await state(house))["error_code"] == code
        since = (await state(house))["lost_at"]
        assert since is not None
        await see_lost(house, code, "planner")
        told = await state(house)
        assert (told["state"], told["error_code"], told["lost_at"]) == ("disabled", code, since)
        assert told["folder"] == str(filled / TENANT / "planner")
        await looked(house)
        (warning,) = house.opened.warnings()
        assert warning.startswith(f"{warned}: GET /v1/admin/graph/orchestrators")
        assert len((await house.get("memories", orchestrator_id="writer"))["items"]) == 1
    left = tree(filled / TENANT / "planner")
    assert {path: left[path] for path in before} == before
    assert left.keys() - before.keys() <= {
        path for path in left if path.startswith(("memory/bulletins/", "memory/logs/"))
    }


async def test_a_folder_that_is_put_back_is_used_again(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    folder, backup = filled / TENANT / "planner", tmp_path / "backup"
    folder.rename(backup)
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories", 503))["error_code"] == "memory_db_lost"
        await looked(house)
    backup.rename(folder)
    async with house_at(database, tmp_path, QUIET) as house:
        await looked(house)
        assert (await state(house))["lost_at"] is None
        assert house.opened.warnings() == []
        assert len((await house.get("memories"))["items"]) == 1


async def test_a_file_that_goes_while_it_is_open_is_lost(house: House) -> None:
    await house.post("memories", memories=[FACT])
    lose_folder(house.memory())
    codes = []
    with anyio.fail_after(30):
        while not codes or codes[-1] == "UNAVAILABLE":  # it is being closed, for somebody else has found out
            codes.append((await house.post("memories", 503, memories=[FACT]))["error_code"])
    assert codes[-1] == "memory_db_lost"
    assert not house.memory().exists()


async def test_who_gives_a_lost_memory_up_begins_an_empty_one_and_keeps_what_is_left(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    memory = filled / TENANT / "planner" / "memory"
    lose_file(memory)
    (memory / "memory.db-wal").write_bytes(b"what was not in memory.db yet")
    processed = memory / "ingest" / "processed"
    (processed / "notes.md").write_text("We decided to use Postgres.")
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories", 503))["error_code"] == "memory_db_lost"
        answer = await recovered(house)
        assert answer["was_lost"] is True
        (name,) = answer["put_aside"]
        assert (memory / name).read_bytes() == b"what was not in memory.db yet"
        assert [Path(one["sourcePath"]).name for one in answer["files"]] == ["notes.md"]
        assert {one["source"]["sourceType"] for one in (await house.get("memories"))["items"]} == {
            "ingest_file"
        }
        told = await state(house)
        assert (told["state"], told["error_code"], told["lost_at"]) == ("open", None, None)
        assert house.opened.warnings() == []
        assert (await recovered(house))["was_lost"] is False
    lose_folder(memory)
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories", 503))["error_code"] == "memory_db_lost"


async def test_a_memory_that_was_never_made_is_no_loss(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    async with database.transaction() as connection:  # as a crash leaves it, or an earlier version
        await connection.execute("UPDATE graph_homes SET made_at = NULL")
    lose_folder(filled / TENANT / "planner" / "memory")
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories"))["items"] == []
        assert len((await house.get("memories", orchestrator_id="writer"))["items"]) == 1
    lose_folder(filled / TENANT / "writer" / "memory")
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories", 503, orchestrator_id="writer"))["error_code"] == "memory_db_lost"


async def test_a_runtime_root_that_the_config_moves_has_the_memory_where_its_files_are_moved(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    table = f"{QUIET}[[graph.orchestrators]]\ntenant_id = '{TENANT}'\norchestrator_id = 'planner'\nruntime_root = 'own'"
    async with house_at(database, tmp_path, table) as house:
        assert (await house.get("memories", 503))["error_code"] == "memory_db_lost"
    (filled / TENANT / "planner").rename(tmp_path / "own")
    async with house_at(database, tmp_path, table) as house:
        assert len((await house.get("memories"))["items"]) == 1
        assert (await state(house))["folder"] == str(tmp_path / "own")


async def test_a_lost_root_is_told_from_another_host_and_comes_back_with_its_name(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    home, backup = (filled / ".home").read_text(), tmp_path / "backup"
    move(filled, backup)
    async with house_at(database, tmp_path, QUIET) as house:
        await see_lost(house, "graph_root_lost", home, ".home")
        told = await state(house)
        assert (told["state"], told["error_code"], told["home"]) == ("disabled", "graph_root_lost", home)
        assert told["lost_at"] is not None
        await looked(house)
        (warning,) = house.opened.warnings()
        assert warning.startswith("2 memories of the graph lost their files: ")
        assert not (filled / TENANT).exists()
    shutil.rmtree(filled)
    backup.rename(filled)
    async with house_at(database, tmp_path, QUIET) as house:
        assert len((await house.get("memories"))["items"]) == 1
        await looked(house)
        assert (await state(house))["lost_at"] is None
        assert house.opened.warnings() == []


async def test_a_root_without_its_name_gives_its_memories_to_who_names_it(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    home = (filled / ".home").read_text()
    (filled / ".home").unlink()
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories", 503))["error_code"] == "graph_root_lost"
        refused = await recovered(house, 409, lost_home="another-1")
        assert (refused["fields"], home in refused["message"]) == (["$.lost_home"], True)
        assert (await recovered(house, 503))["error_code"] == "graph_root_lost"
        assert await recovered(house, lost_home=home) == {
            "was_lost": False, "put_aside": [], "kept": {}, "lost": {}, "files": [],
        }  # fmt: skip
        assert len((await house.get("memories"))["items"]) == 1
        assert (await house.get("memories", 503, orchestrator_id="writer"))["error_code"] == "graph_root_lost"
        assert await recovered(house, lost_home=home) == {
            "was_lost": False, "put_aside": [], "kept": {}, "lost": {}, "files": [],
        }  # fmt: skip
        missed = await recovered(house, 404, orchestrator_id="nobody", lost_home=home)
        assert missed["fields"] == ["$.orchestrator_id"]


async def test_a_lost_root_is_given_up_memory_by_memory(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    home = (filled / ".home").read_text()
    shutil.rmtree(filled)
    async with house_at(database, tmp_path, QUIET) as house:
        assert (await house.get("memories", 503))["error_code"] == "graph_root_lost"
        assert (await recovered(house, lost_home=home))["was_lost"] is True
        assert (await house.get("memories"))["items"] == []
        await house.post("memories", memories=[fact("m2")])
        told = await state(house)
        assert (told["home"], told["state"]) == ((filled / ".home").read_text(), "open")


async def test_a_memory_of_another_host_is_taken_over_by_who_names_its_home(
    database: Database, tmp_path: Path, filled: Path
) -> None:
    home = (filled / ".home").read_text()
    async with house_at(database, tmp_path, QUIET, root="elsewhere") as house:
        refused = await house.post("context", 503, **ASKED)
        assert refused["error_code"] == "graph_lives_elsewhere"
        assert (await recovered(house, lost_home=home))["was_lost"] is True
        assert (await house.get("memories"))["items"] == []
