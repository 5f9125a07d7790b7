"""What may go wrong with a memory that is served: who asks is told what it is, and the others notice nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.families.graph.store import file as file_module
from elf.families.graph.store.opened_file import OpenedFile
from tests.db.graph.house import FACT, House, eventually, fact, house_at, link
from tests.folders import fresh_folder

pytestmark = pytest.mark.anyio
NOBODY = 65534
GOAL = fact("g1", type="Goal", content="Move the office to Lisbon.")


def change_around(database: Path, sql: str) -> None:
    """Change a file as the family never does, by the one library that may open it in this process."""
    connection = apsw.Connection(str(database))
    try:
        connection.execute(f"PRAGMA ignore_check_constraints = ON; {sql}")
    finally:
        connection.close()


def overwrite(database: Path) -> None:
    """Put text in the place of what is there."""
    with database.open("r+b") as file:
        file.write(b"This is no database. " * (database.stat().st_size // 21 + 1))


def halve(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)


def replace(database: Path) -> None:
    """Put another file there, as an editor does."""
    new = database.with_name("new")
    new.write_text("This is no database. " * 1000)
    new.rename(database)


def remove(database: Path) -> None:
    database.unlink()


async def tell_the_office(house: House) -> None:
    """Write a goal for the planner, make a bulletin of it, and write something for another orchestrator."""
    await house.post("memories", memories=[GOAL, *(fact(f"m{number}") for number in range(60))])
    await house.post("memories", memories=[FACT], orchestrator_id="writer")
    await house.post("context", purpose="selector", message_id="before", message="office")


async def see_disabled(house: House, error_code: str) -> None:
    """See that the planner's memory is disabled, that it has the last bulletin, and that the other one is right."""
    for answer in (
        await house.post("memories", 503, memories=[FACT]),
        await house.post("recall", 503, query="Lisbon"),
        await house.get("memories", 503),
    ):
        assert answer["error_code"] == error_code
    context = await house.post("context", purpose="selector", message_id="after", message="office")
    assert (context["status"], context["bulletin"]["status"]) == ("disabled", "previous")
    assert "g1" in {one["memoryId"] for one in context["bulletin"]["citations"]}
    status = await house.get("status")
    assert (status["status"], status["error_code"]) == ("disabled", error_code)
    await see_other_right(house)


async def see_other_right(house: House) -> None:
    await house.post("memories", memories=[fact("m2")], orchestrator_id="writer")
    bundle = await house.post("recall", query="Lisbon", orchestrator_id="writer")
    assert {"m1", "m2"} <= {node["memory"]["memoryId"] for node in bundle["nodes"]}


@pytest.mark.parametrize("damage", [overwrite, halve])
async def test_a_file_that_is_damaged_when_it_is_opened_disables_its_memory_alone(
    database: Database, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    async with house_at(database, tmp_path) as house:
        await tell_the_office(house)
    damage(house.memory() / "memory.db")
    async with house_at(database, tmp_path) as house:
        await see_disabled(house, "memory_db_corrupt")


@pytest.mark.parametrize(
    ("damage", "error_code"),
    [
        (overwrite, "memory_db_corrupt"), (halve, "memory_db_corrupt"), (replace, "memory_db_corrupt"),
        (remove, "memory_db_lost"),
    ],
)  # fmt: skip
async def test_a_file_that_is_damaged_while_it_is_open_disables_its_memory_before_anything_is_lost_in_it(
    house: House, damage: Callable[[Path], None], error_code: str
) -> None:
    await tell_the_office(house)
    damage(house.memory() / "memory.db")
    await see_disabled(house, error_code)


def test_a_file_that_grows_is_no_other_and_one_that_is_cut_after_that_is(tmp_path: Path) -> None:
    path = tmp_path / "planner" / "memory" / "memory.db"
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    try:
        connection.execute("CREATE TABLE t (a)")
        opened = OpenedFile(path)
        connection.execute("INSERT INTO t SELECT zeroblob(100000)")
        opened.check(connection)
        os.truncate(path, path.stat().st_size - 1)
        with pytest.raises(Unavailable, match=r"the memory\.db of planner was cut while it was open"):
            opened.check(connection)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE memories SET importance = 101 WHERE memory_id = 'm1'", "memories 'm1'"),
        ("DELETE FROM memory_sources WHERE memory_id = 'm1'", "memories 'm1'"),
        ("UPDATE memory_edges SET weight = 2", "memory_edges 'e1'"),
    ],
)
async def test_a_row_that_somebody_else_wrote_is_named_to_whoever_meets_it(
    house: House, change: str, named: str
) -> None:
    await house.post("memories", memories=[FACT, fact("m2")], edges=[link("m1", "m2", edgeId="e1")])
    change_around(house.memory() / "memory.db", change)
    answer = await house.post("recall", 500, query="Lisbon")
    assert answer["error_code"] == "memory_row_invalid"
    assert answer["message"].startswith(named)
    context = await house.post("context", purpose="selector", message_id="msg-1", message="Lisbon")
    assert context["status"] in ("ok", "fallback")
    await house.post("memories", memories=[fact("m3")])


async def test_while_the_model_is_away_answers_go_by_words_and_the_backlog_drains_by_itself_afterwards(
    house: House,
) -> None:
    house.model.away = True
    await house.post("memories", memories=[fact(f"m{number}") for number in range(40)])
    for _ in range(3):
        bundle = await house.post("recall", query="Lisbon")
        assert (bundle["mode"], bundle["degraded"], len(bundle["nodes"])) == (
            "full_text_only", ["embedding"], 20,
        )  # fmt: skip
    context = await house.post("context", purpose="step", message_id="1", message="office", prompt="Lisbon")
    assert (context["status"], context["degraded"]) == ("ok", ["embedding"])
    assert (await house.get("status"))["counts"]["vectors_to_make"] == 40
    house.model.away = False
    await eventually(lambda: house.get("status"), lambda told: not told["counts"]["vectors_to_make"])
    bundle = await eventually(
        lambda: house.post("recall", query="Lisbon"), lambda bundle: bundle["mode"] == "hybrid"
    )
    assert bundle["degraded"] == []


class FullDisk:
    """A disk that can be full for the files of memories: SQLite says then what it says when the system does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._connections: list[apsw.Connection] = []
        connect = file_module.connect

        def connected(path: Path, *, writes: bool) -> apsw.Connection:
            connection = connect(path, writes=writes)
            self._connections += [connection] if writes else []
            return connection

        monkeypatch.setattr(file_module, "connect", connected)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Let no file grow by a page for the block."""
        for connection in self._connections:
            connection.pragma("max_page_count", 1)  # which means as many as there are
        try:
            yield
        finally:
            for connection in self._connections:
                connection.pragma("max_page_count", 2**30)


async def test_a_full_disk_refuses_what_is_new_and_rejects_and_loses_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    long = "The archive is in Porto. " * 500
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[GOAL])
        await eventually(lambda: house.get("status"), lambda told: not told["counts"]["vectors_to_make"])
        with disk.full():
            answer = await house.post("memories", 503, memories=[fact("m1", content=long)])
            assert (answer["error_code"], "full" in answer["message"]) == ("UNAVAILABLE", True)
            (house.memory() / "ingest" / "archive.txt").write_text(long)
            looked = await house.client.post("/v1/graph/ingest/run", json={"orchestrator_id": "planner"})
            assert looked.status_code in (200, 503)
            assert ended(house) == []
            assert (house.memory() / "ingest" / "archive.txt").exists()
            bundle = await house.post("recall", query="Lisbon")
            assert [node["memory"]["memoryId"] for node in bundle["nodes"]] == ["g1"]
        await eventually(lambda: run_ingest(house), lambda _: ended(house))
        assert ended(house) == ["processed/archive.txt", "processed/archive.txt.processed.json"]
        bundle = await house.post("recall", query="archive in Porto")
        assert {one["sourceType"] for one in bundle["citations"]} == {"manual", "ingest_file"}


async def run_ingest(house: House) -> None:
    await house.client.post("/v1/graph/ingest/run", json={"orchestrator_id": "planner"})


def ended(house: House) -> list[str]:
    """Return what lies where files end."""
    ingest = house.memory() / "ingest"
    return sorted(
        str(path.relative_to(ingest))
        for name in ("processed", "rejected")
        for path in (ingest / name).iterdir()
    )


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write in a folder and below for the block: not this process either, should it be root's."""
    user = os.geteuid()
    paths = [folder, *folder.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(0)
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)


async def test_a_folder_that_may_not_be_written_refuses_what_is_new_and_rejects_and_loses_nothing(
    database: Database,
) -> None:
    with fresh_folder() as folder:
        folder.chmod(0o755)
        async with house_at(database, folder) as house:
            await tell_the_office(house)
            for path in (house.root, house.root / "acme", house.memory().parent):
                path.chmod(0o755)
        async with house_at(database, folder) as house:
            (house.memory() / "ingest" / "archive.txt").write_text("The archive is in Porto.")
            with read_only(house.memory()):
                answer = await house.post("memories", 503, memories=[FACT])
                assert answer["error_code"] == "UNAVAILABLE"
                context = await house.post(
                    "context", purpose="selector", message_id="after", message="office"
                )
                assert (context["status"], context["bulletin"]["status"]) == ("fallback", "previous")
                assert ended(house) == []
            assert (house.memory() / "ingest" / "archive.txt").exists()
            await eventually(lambda: run_ingest(house), lambda _: ended(house))
            assert ended(house) == ["processed/archive.txt", "processed/archive.txt.processed.json"]
            assert len((await house.get("memories", limit=100))["items"]) == 62
            await see_other_right(house)


@pytest.mark.parametrize("name", ["", "ingest", "ingest/processed", "ingest/rejected", "bulletins", "logs"])
async def test_a_file_where_a_folder_should_be_disables_its_memory_alone_and_stays(
    database: Database, tmp_path: Path, name: str
) -> None:
    async with house_at(database, tmp_path) as house:
        await tell_the_office(house)
    folder = house.memory() / name
    shutil.move(folder, tmp_path / "kept")
    folder.write_text("This is no folder.")
    async with house_at(database, tmp_path) as house:
        answer: Any = await house.post("memories", 503, memories=[FACT])
        assert answer["error_code"] == "unsafe_layout"
        context = await house.post("context", purpose="selector", message_id="after", message="office")
        assert context["status"] == "disabled"
        status = await house.get("status")
        assert (status["status"], status["error_code"]) == ("disabled", "unsafe_layout")
        await see_other_right(house)
        assert folder.read_text() == "This is no folder."
