"""The life of an embedded server: started, shared, killed, found again, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import pytest

from elf.core.errors import DatabaseUnavailable, StartupError
from elf.db import embedded
from elf.db.embedded import EmbeddedServer
from elf.db.errors import map_errors
from elf.db.postmaster import PidFile, postgres_processes_in
from tests.db.conftest import copy_folder, until

pytestmark = pytest.mark.anyio

HOLDER = """
import asyncio, sys
from pathlib import Path
from elf.db.embedded import EmbeddedServer

server = EmbeddedServer(Path(sys.argv[1]))
asyncio.run(server.start())
print("holding", flush=True)
sys.stdin.read()
asyncio.run(server.leave())
"""


def hold_in_another_process(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    line = ""
    while line != "holding\n":
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"the holder ended with {process.wait()}")
    return process


async def ask(dsn: str, query: str, *args: Any) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query, *args)
    finally:
        await connection.close()


async def ask_until_answered(dsn: str, query: str) -> Any:
    with anyio.fail_after(30):
        while True:
            try:
                with map_errors():
                    return await ask(dsn, query)
            except DatabaseUnavailable:
                await anyio.sleep(0.01)


def postmaster_of(folder: Path) -> int:
    pid_file = PidFile.read(folder / "data")
    assert pid_file is not None
    return pid_file.pid


def is_served(folder: Path) -> bool:
    return bool(postgres_processes_in(folder / "data"))


async def test_a_new_folder_is_made_and_served_over_a_private_socket_alone(place: Path) -> None:
    server = EmbeddedServer(place / "new" / "postgres")
    dsn = await server.start()
    try:
        assert await ask(dsn, "SELECT current_setting('listen_addresses')") == ""
        assert await ask(dsn, "SELECT current_setting('server_encoding')") == "UTF8"
        socket_dir = str(await ask(dsn, "SELECT current_setting('unix_socket_directories')"))
        assert os.stat(socket_dir).st_mode & 0o077 == 0
        assert await ask(dsn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'") == 1
    finally:
        await server.leave()
    assert not is_served(place / "new" / "postgres")


async def test_every_commit_is_on_disk_before_it_is_acknowledged(folder: Path) -> None:
    server = EmbeddedServer(folder)
    dsn = await server.start()
    try:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert await ask(dsn, "SELECT current_setting($1)", setting) == "on"
    finally:
        await server.leave()


async def test_what_was_stored_is_there_after_a_stop_and_a_start(folder: Path) -> None:
    server = EmbeddedServer(folder)
    await ask(await server.start(), "CREATE TABLE kept AS SELECT 7 AS n")
    await server.leave()
    assert not is_served(folder)
    try:
        assert await ask(await server.start(), "SELECT n FROM kept") == 7
    finally:
        await server.leave()


async def test_a_second_holder_attaches_and_the_last_one_to_leave_stops_the_server(folder: Path) -> None:
    first, second = EmbeddedServer(folder), EmbeddedServer(folder)
    started = "SELECT pg_postmaster_start_time()"
    dsn = await first.start()
    assert await ask(await second.start(), started) == await ask(dsn, started)
    await first.leave()
    assert await ask(dsn, "SELECT 1") == 1
    await second.leave()
    assert not is_served(folder)


async def test_leaving_twice_does_no_harm(folder: Path) -> None:
    first, second = EmbeddedServer(folder), EmbeddedServer(folder)
    await first.start()
    dsn = await second.start()
    await first.leave()
    await first.leave()
    assert await ask(dsn, "SELECT 1") == 1
    await second.leave()


async def test_many_that_start_at_once_share_one_server(place: Path) -> None:
    servers = [EmbeddedServer(place / "postgres") for _ in range(6)]
    found = set()

    async def start(server: EmbeddedServer) -> None:
        found.add(await ask(await server.start(), "SELECT pg_postmaster_start_time()"))

    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(start, server)
    assert len(found) == 1
    for server in servers:
        await server.leave()
    assert not is_served(place / "postgres")


async def test_a_killed_holder_leaves_the_server_running_and_does_not_count_any_more(folder: Path) -> None:
    with hold_in_another_process(folder) as holder:
        pid = postmaster_of(folder)
        holder.kill()
    server = EmbeddedServer(folder)
    dsn = await server.start()
    assert await ask(dsn, "SELECT 1") == 1
    assert postmaster_of(folder) == pid
    await server.leave()
    assert not is_served(folder)


async def test_a_holder_that_leaves_does_not_stop_the_server_of_another_process(folder: Path) -> None:
    with hold_in_another_process(folder) as holder:
        server = EmbeddedServer(folder)
        dsn = await server.start()
        await server.leave()
        assert await ask(dsn, "SELECT 1") == 1
        holder.communicate()
    assert not is_served(folder)


async def test_a_killed_server_is_noticed_and_started_again_with_its_data(folder: Path) -> None:
    server = EmbeddedServer(folder)
    dsn = await server.start()
    await ask(dsn, "CREATE TABLE kept AS SELECT 7 AS n")
    busy = await asyncpg.connect(dsn)  # a backend that works on without its main process
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_expect_lost, busy, "SELECT pg_sleep(60)")
        tasks.start_soon(_kill_once_busy, dsn, postmaster_of(folder))
        with anyio.fail_after(60), pytest.raises(DatabaseUnavailable, match="is gone"):
            await server.watch()
    await server.leave()
    try:
        assert await ask(await server.start(), "SELECT n FROM kept") == 7
    finally:
        await server.leave()


async def _kill_once_busy(dsn: str, pid: int) -> None:
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    await until(lambda: ask(dsn, sleeping))
    os.kill(pid, signal.SIGKILL)


async def _expect_lost(connection: Any, query: str) -> None:
    with pytest.raises(DatabaseUnavailable), map_errors():
        await connection.fetchval(query)


async def test_the_crash_of_one_backend_does_not_end_the_watch(folder: Path) -> None:
    server = EmbeddedServer(folder)
    dsn = await server.start()
    pid = postmaster_of(folder)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch)
        victim = await asyncpg.connect(dsn)
        os.kill(await victim.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
        await _expect_lost(victim, "SELECT 1")
        assert await ask_until_answered(dsn, "SELECT 1") == 1
        watchers = (
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT%' AND pid <> pg_backend_pid()"
        )
        await until(lambda: ask_until_answered(dsn, watchers))
        tasks.cancel_scope.cancel()
    assert postmaster_of(folder) == pid
    await server.leave()


async def test_a_pid_file_that_names_a_living_stranger_is_stale(folder: Path) -> None:
    lines = [
        str(os.getpid()),
        str(folder / "data"),
        "1700000000",
        "5432",
        str(folder / "run"),
        "",
        "1 1",
        "ready",
    ]
    (folder / "data" / "postmaster.pid").write_text("\n".join(lines) + "\n")
    server = EmbeddedServer(folder)
    assert await ask(await server.start(), "SELECT 1") == 1
    await server.leave()


@pytest.mark.parametrize("content", ["", "12", "nonsense\nof\nfive\nlines\nat least\n", "-5\n\n\n5432\n\n"])
async def test_a_damaged_pid_file_is_stale(folder: Path, content: str) -> None:
    (folder / "data" / "postmaster.pid").write_text(content)
    server = EmbeddedServer(folder)
    assert await ask(await server.start(), "SELECT 1") == 1
    await server.leave()


async def test_a_copied_folder_is_not_confused_with_the_original(folder: Path, place: Path) -> None:
    copied = place / "copied"
    copy_folder(folder, copied)
    original, copy = EmbeddedServer(folder), EmbeddedServer(copied)
    await original.start()
    try:
        copy_folder(folder / "data" / "postmaster.pid", copied / "data" / "postmaster.pid")
        served = await ask(await copy.start(), "SELECT current_setting('data_directory')")
        assert Path(served) == copied / "data"
    finally:
        await copy.leave()
        await original.leave()


async def test_a_path_too_long_for_a_socket_is_served_all_the_same(
    place: Path, initialised_folder: Path
) -> None:
    long = place / ("long" * 20) / ("path" * 20)
    long.mkdir(parents=True)
    copy_folder(initialised_folder, long / "postgres")
    server = EmbeddedServer(long / "postgres")
    dsn = await server.start()
    socket_dir = await ask(dsn, "SELECT current_setting('unix_socket_directories')")
    await server.leave()
    assert not await anyio.Path(socket_dir).exists()


async def test_a_server_that_does_not_answer_is_named_and_left_alone(folder: Path) -> None:
    holder = EmbeddedServer(folder)
    dsn = await holder.start()
    pid = postmaster_of(folder)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StartupError, match=rf"does not answer \(pid {pid}\)"):
            await EmbeddedServer(folder, start_timeout_s=0.5).start()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert await ask(dsn, "SELECT 1") == 1
    await holder.leave()


async def test_a_server_that_does_not_stop_is_ended_by_force(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "STOP_TIMEOUT_S", 0.2)
    monkeypatch.setattr(embedded, "KILL_TIMEOUT_S", 0.2)
    server = EmbeddedServer(folder)
    await server.start()
    os.kill(postmaster_of(folder), signal.SIGSTOP)
    await server.leave()
    await until(lambda: anyio.to_thread.run_sync(lambda: not is_served(folder)))


async def test_a_server_that_hangs_is_noticed_and_ended_by_force(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "PROBE_TIMEOUT_S", 0.5)
    monkeypatch.setattr(embedded, "SILENCE_S", 0.4)
    monkeypatch.setattr(embedded, "STOP_TIMEOUT_S", 3600.0)  # it would not end in order
    server = EmbeddedServer(folder)
    await server.start()
    for pid in postgres_processes_in(folder / "data"):
        os.kill(pid, signal.SIGSTOP)
    with anyio.fail_after(60):
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            await server.watch()
        await server.leave()
    assert not is_served(folder)


async def test_a_cancelled_start_leaves_no_server_behind(place: Path) -> None:
    server = EmbeddedServer(place / "postgres")
    with anyio.move_on_after(0.05):
        await server.start()
    assert not is_served(place / "postgres")
    try:
        assert await ask(await server.start(), "SELECT 1") == 1
    finally:
        await server.leave()
