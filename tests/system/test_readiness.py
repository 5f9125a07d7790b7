"""/ready says whether notes can be read and written, and not only that everything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.folders import fresh_folder
from tests.system import small_disk
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.truth import rows

DISK_MB = "300"


def working(service: RunningService) -> tuple[int, dict[str, str]]:
    """The status of /ready, and the states of reads and writes."""
    response = service.client.get("/ready")
    parts = {part["name"]: part for part in response.json()["parts"]}
    return response.status_code, {name: parts[name]["state"] for name in ("reads", "writes")}


def why(service: RunningService, name: str) -> str:
    parts: list[dict[str, Any]] = service.client.get("/ready").json()["parts"]
    return str(next(part["last_error"] for part in parts if part["name"] == name))


BOTH = (200, {"reads": "ready", "writes": "ready"})
READS_ONLY = (503, {"reads": "ready", "writes": "failing"})
NEITHER = (503, {"reads": "failing", "writes": "failing"})


@pytest.fixture
def own_service(model_folder: Path) -> Iterator[RunningService]:
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        yield service


@pytest.mark.parametrize(("table", "state"), [("indexing_outbox", READS_ONLY), ("memory_notes", NEITHER)])
def test_it_is_not_ready_while_a_table_is_gone_and_ready_again_when_it_is_back(
    own_service: RunningService, table: str, state: tuple[int, dict[str, str]]
) -> None:
    folder = own_service.config.parent
    assert working(own_service) == BOTH
    rows(folder, f"ALTER TABLE {table} RENAME TO taken")
    assert own_service.post("add_note", BODY).status_code >= 500
    wait_for(lambda: working(own_service) == state, "it says so")
    assert why(own_service, "writes") == f"the database has lost {table}"
    page = own_service.admin.get("/metrics").text
    assert "elf_ready 0.0" in page
    assert 'elf_database_works{what="writes"} 0.0' in page
    rows(folder, f"ALTER TABLE taken RENAME TO {table}")
    wait_for(lambda: working(own_service) == BOTH, "it is ready again")
    assert own_service.post("add_note", BODY).status_code == 200
    assert "elf_ready 1.0" in own_service.admin.get("/metrics").text
    (impaired,) = own_service.events("database_impaired")
    assert impaired["writes"] == f"the database has lost {table}"


BODY = {
    "tenant_id": "t", "project_id": "p", "agent_id": "a", "scope": "project_shared",
    "notes": [note("Fact: Cats have nine lives.")],
}  # fmt: skip


def live_through_a_full_disk(config: Path, disk: Path) -> None:
    """What the test does where the small disk can be seen."""
    with RunningService(config) as service:
        (added,) = service.add("t", note("Fact: Cats have nine lives."))
        service.wait_found("t", "lives of cats", added["note_id"])
        assert working(service) == BOTH
        small_disk.fill(disk / "filler")
        wait_for(lambda: working(service) == READS_ONLY, "it says that the disk is full")
        assert "DiskFullError" in why(service, "writes")
        assert service.search("t", "lives of cats")
        (disk / "filler").unlink()
        wait_for(lambda: working(service) == BOTH, "it is ready again")
        service.add("t", note("Fact: Dogs have one life."))


@pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux to have a disk of one's own")
def test_it_says_that_it_reads_only_while_the_disk_is_full(model_folder: Path) -> None:
    with fresh_folder() as folder:
        (disk := folder / "disk").mkdir()
        config = write_config(
            folder, cache_dir=f'"{model_folder}"', dsn=f'"embedded:{disk}/postgres"', url='"pgvector:"'
        )
        result = small_disk.completed(disk, DISK_MB, live_through_a_full_disk, config, disk)
    if result.returncode == small_disk.CANNOT:
        pytest.skip("this system lets nobody mount a disk of their own")
    assert result.returncode == 0, result.stderr
