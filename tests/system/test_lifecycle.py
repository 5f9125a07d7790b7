"""Starting, stopping and crashing of the whole service, over and over on the same data."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.system.service import (
    RunningService,
    note,
    processes_of,
    search_body,
    up_command,
    wait_for,
    write_config,
)
from tests.system.truth import assert_all_there, listed, rows
from tests.system.writers import Writers

EXIT_S = 10.0
TEXTS = (
    "The staging server is restarted every Sunday night.",
    "Ines keeps the spare key in the blue drawer.",
    "Release notes are written by whoever merges last.",
)


@pytest.fixture(scope="module")
def place(model_folder: Path) -> Iterator[RunningService]:
    """A service, running or not, whose data outlives the tests.

    No lease ends while a test runs: what a dead process had leased must come back in another way. The folder's path is
    so long that the sockets are not in it.
    """
    with fresh_folder() as parent:
        folder = parent / "-".join(["long"] * 20)
        folder.mkdir()
        place = RunningService(
            write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"', lease_seconds="3600")
        )
        try:
            yield place
            if place.url:
                place.stop()
        finally:
            left = processes_of(folder)
            for process in left:
                process.kill()
        assert left == []
        assert place.complaints() == []


@pytest.fixture
def service(place: RunningService) -> RunningService:
    """The service, running; a test may leave it running or not."""
    if not place.url:
        place.start()
    return place


@pytest.fixture
def stored(service: RunningService, tenant: str) -> dict[str, str]:
    """Some notes, text by id."""
    results = service.add(tenant, *(note(text) for text in TEXTS))
    return {result["note_id"]: text for result, text in zip(results, TEXTS, strict=True)}


def data_of(service: RunningService) -> Path:
    return service.config.parent / ".elf"


def pid_file_of(service: RunningService) -> Path:
    return data_of(service) / "postgres" / "data" / "postmaster.pid"


def sockets(service: RunningService) -> list[Path]:
    """The unix sockets the service's parts listen on."""
    postgres = pid_file_of(service).read_text().splitlines()
    index = Path(os.fsdecode((data_of(service) / "index" / "endpoint").read_bytes()))
    return [Path(postgres[4], f".s.PGSQL.{postgres[3]}"), index]


def is_stopping(service: RunningService) -> bool:
    last = service.events("actor", actor="http_front")[-1]
    return bool(last["state"] in ("stopping", "stopped"))


# Stopping


def test_a_service_that_is_told_to_end_leaves_nothing_behind(
    service: RunningService, stored: dict[str, str]
) -> None:
    listening = sockets(service)
    assert all(path.is_socket() for path in listening)
    with unfinished_requests(service):  # which do not hold up the stop
        assert service.stop(timeout_s=EXIT_S) == 0
    assert processes_of(service.config.parent) == []
    assert not any(path.exists() for path in listening)


@contextmanager
def unfinished_requests(service: RunningService) -> Iterator[None]:
    """Hold some connections open, each of which is in the middle of something."""
    host, _, port = service.url.removeprefix("http://").partition(":")
    openings = [
        b"",
        b"POST /v1/memory/add_note HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /v1/memory/add_note HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",  # answered, and kept alive
    ]
    with ExitStack() as stack:
        for opening in openings:
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            connection.sendall(opening)
        assert connection.recv(12) == b"HTTP/1.1 200"
        yield


def test_a_service_told_to_end_under_load_loses_nothing_that_was_acknowledged(
    service: RunningService, tenant: str
) -> None:
    with Writers(service, tenant, clients=8) as writers:
        wait_for(lambda: len(writers.acknowledged) > 40, "the import is under way")
        service.send(signal.SIGINT)
        wait_for(lambda: is_stopping(service), "it is stopping")
        service.send(signal.SIGINT)  # neither this nor the next cuts the orderly stop short
        assert service.stop(timeout_s=EXIT_S) == 0
    assert processes_of(service.config.parent) == []
    assert writers.faults == []
    service.start()
    assert_all_there(service, tenant, writers.acknowledged)


def test_the_last_searches_before_a_stop_can_be_explained_after_it(
    service: RunningService, tenant: str, stored: dict[str, str]
) -> None:
    found = [service.post("search", search_body(tenant, text)).json() for text in TEXTS]
    assert service.stop(timeout_s=EXIT_S) == 0
    service.start()
    for answer, text in zip(found, TEXTS, strict=True):
        handle = answer["items"][0]["result_handle"]
        told = service.client.get("/v1/memory/search/explain", params={"result_handle": handle})
        assert told.json()["trace"]["query"] == text


def test_sigterm_during_a_first_start_ends_it_and_leaves_nothing_behind(model_folder: Path) -> None:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        starting = RunningService(config, command=up_command(config))
        starting.launch()
        wait_for(lambda: starting.events("postgres_being_made"), "Postgres is being made")
        assert starting.stop() == 0
        assert processes_of(folder) == []


def test_sigterm_during_a_start_ends_it_and_leaves_nothing_behind(service: RunningService) -> None:
    service.stop()
    before = len(service.events("actor", actor="index_host", state="starting"))
    service.launch()
    wait_for(
        lambda: len(service.events("actor", actor="index_host", state="starting")) > before,
        "the index starts",
    )
    assert service.stop(timeout_s=EXIT_S) == 0
    assert processes_of(service.config.parent) == []


# Crashing


def test_sigkill_during_an_import_loses_nothing_that_was_acknowledged(
    service: RunningService, tenant: str
) -> None:
    with Writers(service, tenant, clients=8) as writers:
        wait_for(lambda: len(writers.acknowledged) > 40, "the import is under way")
        service.kill()
    assert writers.faults == []
    service.start()  # beside the Postgres of the dead process
    assert_all_there(service, tenant, writers.acknowledged)
    assert service.stop() == 0  # which ends with the new one
    assert processes_of(service.config.parent) == []


def test_a_service_starts_over_the_remains_of_one_that_died_with_all_its_parts(
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
    assert all(path.is_socket() for path in listening)
    name_another_process(pid_file_of(service))
    service.start()
    assert_all_there(service, tenant, stored)


def name_another_process(pid_file: Path) -> None:
    """Change a pid file as if its server's number had been given to a new process, this one."""
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")


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


def damage_all(folder: Path) -> None:
    """Overwrite the middle of every file of an index, so that nothing in it can be read."""
    files = [path for path in (folder / "shard").rglob("*") if path.is_file() and path.stat().st_size > 64]
    assert files
    for path in files:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 4)
            file.write(b"\xa5" * (path.stat().st_size // 2))


def test_a_damaged_index_is_rebuilt_without_embedding_anything_again(
    service: RunningService, stored: dict[str, str], tenant: str
) -> None:
    assert_all_there(service, tenant, stored)
    before = when_embedded(service, tenant)
    assert len(before) == len(stored)
    service.stop()
    damage_all(data_of(service) / "index")
    service.start()
    assert service.events("damaged_shard_replaced")
    assert_all_there(service, tenant, stored)
    assert when_embedded(service, tenant) == before


def test_a_deleted_index_and_a_damaged_model_file_are_made_again(
    service: RunningService, stored: dict[str, str], tenant: str, model_folder: Path
) -> None:
    assert_all_there(service, tenant, stored)
    before = when_embedded(service, tenant)
    service.stop()
    shutil.rmtree(data_of(service) / "index")
    (file,) = model_folder.glob("*.onnx")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    service.start()
    assert file.read_bytes() == whole
    assert service.events("local_model.cache_damaged", file=str(file))
    assert_all_there(service, tenant, stored)
    assert when_embedded(service, tenant) == before


# Two services


@pytest.mark.parametrize("end", [RunningService.stop, RunningService.kill], ids=["stopped", "killed"])
def test_two_services_work_on_the_same_data_and_one_survives_the_end_of_the_other(
    service: RunningService, tenant: str, end: Callable[[RunningService], object]
) -> None:
    with RunningService(service.config, name="other") as other:
        (first,) = service.add(tenant, note("The lift in building four is broken."))
        (second,) = other.add(tenant, note("Lunch is served from noon until two."))
        service.wait_found(tenant, "When is lunch?", second["note_id"])
        other.wait_found(tenant, "What about the lift?", first["note_id"])
        end(service)  # the owner of the index, which the other takes over
        (third,) = other.add(tenant, note("The garden gate is painted green."))
        wait_for(lambda: other.index_process_or_none(), "the other one takes over the index")
        other.wait_ready()
        other.wait_found(tenant, "Which colour has the gate?", third["note_id"])
        assert listed(other, tenant).keys() == {first["note_id"], second["note_id"], third["note_id"]}
    assert processes_of(service.config.parent) == []
    assert other.complaints() == []
