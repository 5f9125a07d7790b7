"""Starting, stopping and crashing of the whole service, over and over on the same data."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.service import RunningService, note, processes_of, wait_for, write_config
from tests.system.truth import assert_all_there, listed, rows
from tests.system.writers import Writers

EXIT_S = 10.0
TEXTS = (
    "The staging server is restarted every Sunday night.",
    "Ines keeps the spare key in the blue drawer.",
    "Release notes are written by whoever merges last.",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the built model that the tests share."""
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Path]:
    """A config whose data outlives the tests, each of which begins and ends with nothing running.

    No lease ends while a test runs: what a dead process had leased must come back in another way.
    """
    path = write_config(tmp_path_factory.mktemp("place"), cache_dir=f'"{model}"', lease_seconds="3600")
    yield path
    for process in processes_of(path.parent):
        process.kill()


@pytest.fixture
def service(config: Path) -> Iterator[RunningService]:
    """A running service on the shared data; the test may have ended it."""
    service = RunningService(config)
    service.start()
    yield service
    if service.url:
        service.stop()
    assert processes_of(config.parent) == []


@pytest.fixture
def stored(service: RunningService, tenant: str) -> dict[str, str]:
    """Some notes, text by id."""
    results = service.add(tenant, *(note(text) for text in TEXTS))
    return {result["note_id"]: text for result, text in zip(results, TEXTS, strict=True)}


def sockets(service: RunningService) -> list[Path]:
    """The unix sockets the service's parts listen on."""
    data = service.config.parent / ".elf"
    postgres = (data / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
    index = Path(os.fsdecode((data / "index" / "endpoint").read_bytes()))
    return [Path(postgres[4], f".s.PGSQL.{postgres[3]}"), index]


# Stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_service_that_is_told_to_end_leaves_nothing_behind(
    service: RunningService, stored: dict[str, str], number: signal.Signals
) -> None:
    listening = sockets(service)
    assert all(socket.is_socket() for socket in listening)
    service.send(number)
    assert service.wait_exit(timeout_s=EXIT_S) == 0
    assert processes_of(service.config.parent) == []
    assert not any(socket.exists() for socket in listening)


def test_a_second_signal_does_not_cut_an_orderly_stop_short(
    service: RunningService, stored: dict[str, str]
) -> None:
    stopping = len(service.events("actor", actor="http_front", state="stopping"))
    service.send(signal.SIGTERM)
    wait_for(
        lambda: len(service.events("actor", actor="http_front", state="stopping")) > stopping,
        "it is stopping",
    )
    service.send(signal.SIGTERM)
    service.send(signal.SIGINT)
    assert service.wait_exit(timeout_s=EXIT_S) == 0
    assert processes_of(service.config.parent) == []


def test_sigterm_under_load_loses_nothing_that_was_acknowledged(service: RunningService, tenant: str) -> None:
    with Writers(service, tenant, clients=8) as writers:
        wait_for(lambda: len(writers.acknowledged) > 40, "the import is under way")
        service.send(signal.SIGTERM)
        assert service.wait_exit(timeout_s=EXIT_S) == 0
        writers.stop()
    assert processes_of(service.config.parent) == []
    assert writers.faults == []
    service.start()
    assert_all_there(service, tenant, writers.acknowledged)


@pytest.mark.parametrize("actor", ["postgres_host", "index_host"])
def test_sigterm_while_it_starts_ends_it_and_leaves_nothing_behind(
    tmp_path: Path, model: Path, actor: str
) -> None:
    starting = RunningService(write_config(tmp_path, cache_dir=f'"{model}"'))
    starting.launch()
    wait_for(lambda: starting.events("actor", actor=actor, state="starting"), f"{actor} is starting")
    starting.send(signal.SIGTERM)
    assert starting.wait_exit() == 0
    assert processes_of(tmp_path) == []


# Crashing


def test_sigkill_during_an_import_loses_nothing_that_was_acknowledged(
    service: RunningService, tenant: str
) -> None:
    with Writers(service, tenant, clients=8) as writers:
        wait_for(lambda: len(writers.acknowledged) > 40, "the import is under way")
        service.kill()
        writers.stop()
    service.start()  # beside the Postgres of the dead process
    assert_all_there(service, tenant, writers.acknowledged)
    assert service.stop() == 0  # which ends with the new one
    assert processes_of(service.config.parent) == []


def test_a_service_starts_over_the_remains_of_one_that_died_with_its_postgres(
    service: RunningService, stored: dict[str, str], tenant: str
) -> None:
    listening = sockets(service)
    parts = [service.postmaster(), service.index_process()]
    for part in parts:
        part.suspend()  # so that neither can tidy up
    service.kill()
    for part in parts:
        part.kill()
    wait_for(lambda: not processes_of(service.config.parent), "all of it is gone")
    assert all(socket.is_socket() for socket in listening)
    service.start()
    assert_all_there(service, tenant, stored)


def test_a_pid_file_that_names_another_process_does_not_get_in_the_way(
    service: RunningService, stored: dict[str, str], tenant: str
) -> None:
    pid_file = service.config.parent / ".elf" / "postgres" / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    service.stop()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    shutil.chown(pid_file, pid_file.parent.stat().st_uid, pid_file.parent.stat().st_gid)
    service.start()
    assert_all_there(service, tenant, stored)


# The derived files


def when_embedded(service: RunningService, tenant: str) -> dict[str, str]:
    """The moment of each chunk's vector."""
    found = rows(
        service.config.parent,
        "SELECT c.chunk_id::text, e.created_at::text AS made FROM note_chunk_embeddings e"
        " JOIN memory_note_chunks c USING (chunk_id) JOIN memory_notes n USING (note_id) WHERE n.tenant_id = $1",
        tenant,
    )
    return {row["chunk_id"]: row["made"] for row in found}


def damage(folder: Path) -> None:
    """Overwrite the middle of every file of an index."""
    files = [path for path in (folder / "shard").rglob("*") if path.is_file() and path.stat().st_size > 64]
    assert files
    for path in files:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 4)
            file.write(b"\xa5" * (path.stat().st_size // 2))


@pytest.mark.parametrize("harm", [damage, shutil.rmtree], ids=["damaged", "deleted"])
def test_a_lost_index_is_rebuilt_without_embedding_anything_again(
    service: RunningService, stored: dict[str, str], tenant: str, harm: object
) -> None:
    assert_all_there(service, tenant, stored)
    before = when_embedded(service, tenant)
    assert len(before) == len(stored)
    service.stop()
    assert callable(harm)
    harm(service.config.parent / ".elf" / "index")
    service.start()
    assert_all_there(service, tenant, stored)
    assert when_embedded(service, tenant) == before


def test_a_damaged_model_file_is_built_again(
    service: RunningService, stored: dict[str, str], tenant: str, model: Path
) -> None:
    service.stop()
    (file,) = model.glob("*.onnx")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    service.start()
    assert file.read_bytes() == whole
    assert service.events("local_model.cache_damaged", file=str(file))
    assert_all_there(service, tenant, stored)


# Two services


def test_two_services_work_on_the_same_data_and_each_survives_the_other(
    service: RunningService, tenant: str
) -> None:
    other = RunningService(service.config, name="other")
    with other:
        (first,) = service.add(tenant, note("The lift in building four is broken."))
        (second,) = other.add(tenant, note("Lunch is served from noon until two."))
        service.wait_found(tenant, "When is lunch?", second["note_id"])
        other.wait_found(tenant, "What about the lift?", first["note_id"])
        assert service.stop() == 0  # the owner of the index, which the other takes over
        other.wait_ready()
        (third,) = other.add(tenant, note("The garden gate is painted green."))
        other.wait_found(tenant, "Which colour has the gate?", third["note_id"])
        assert listed(other, tenant).keys() == {first["note_id"], second["note_id"], third["note_id"]}
    assert processes_of(service.config.parent) == []
