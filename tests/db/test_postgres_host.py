"""The actors that own the server and the pool, run as a supervisor would run them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import pytest
from anyio.abc import TaskStatus

from actors.families import steps_on
from actors.owners.database import DatabasePool
from actors.owners.postgres_host import PostgresHost
from elf.core.errors import DatabaseUnavailable, StartupError
from elf.db import migration
from elf.db.database import Database
from elf.db.postmaster import PidFile, postgres_processes_in

pytestmark = pytest.mark.anyio


async def test_the_host_is_ready_when_a_query_succeeds_and_stops_the_server_when_cancelled(
    folder: Path,
) -> None:
    host = PostgresHost(folder)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            await tasks.start(_run, host)
            connection = await asyncpg.connect(host.dsn)
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
            tasks.cancel_scope.cancel()
    assert not postgres_processes_in(folder / "data")


async def test_there_is_no_dsn_while_the_host_does_not_run(folder: Path) -> None:
    with pytest.raises(DatabaseUnavailable):
        _ = PostgresHost(folder).dsn


async def test_the_host_raises_when_the_server_is_killed_and_recovers_when_run_again(folder: Path) -> None:
    host = PostgresHost(folder)
    pids = []
    for _ in range(3):

        async def kill_when_ready(*, task_status: TaskStatus[None]) -> None:
            async with anyio.create_task_group() as inner:
                await inner.start(_run, host)
                connection = await asyncpg.connect(host.dsn)
                await connection.execute(
                    "CREATE TABLE IF NOT EXISTS runs (); INSERT INTO runs DEFAULT VALUES"
                )
                await connection.close()
                pid_file = PidFile.read(folder / "data")
                assert pid_file is not None
                pids.append(pid_file.pid)
                task_status.started()
                os.kill(pid_file.pid, signal.SIGKILL)

        with anyio.fail_after(60), pytest.raises(ExceptionGroup) as caught:
            async with anyio.create_task_group() as tasks:
                await tasks.start(_started_by_name, kill_when_ready)
        assert caught.group_contains(DatabaseUnavailable)
    assert len(set(pids)) == 3
    async with anyio.create_task_group() as tasks:
        await tasks.start(_run, host)
        connection = await asyncpg.connect(host.dsn)
        assert await connection.fetchval("SELECT count(*) FROM runs") == 3
        await connection.close()
        tasks.cancel_scope.cancel()


async def test_the_pool_is_ready_with_the_schema_and_closed_when_cancelled(empty_dsn: str) -> None:
    database = Database(max_conns=4)
    pool = DatabasePool(database, dsn=lambda: empty_dsn, steps=steps_on(), vector_dim=8)
    for _ in range(2):  # the same object is run again after it ended
        async with anyio.create_task_group() as tasks:
            await tasks.start(_run, pool)
            async with database.connection() as connection:
                assert await connection.fetchval("SELECT count(*) FROM memory_notes") == 0
            tasks.cancel_scope.cancel()
        with pytest.raises(DatabaseUnavailable):
            async with database.connection():
                pass


async def test_the_pool_refuses_a_database_that_does_not_fit(empty_dsn: str) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=4)
    connection = await asyncpg.connect(empty_dsn)
    await connection.execute(
        "INSERT INTO knowledge_facts (tenant_id, subject, predicate, content, embedding, embedding_version)"
        " VALUES ('t', 'Ana', 'home', 'Oslo', '[1, 0, 0, 0]', 'v')"
    )
    await connection.close()
    pool = DatabasePool(Database(max_conns=4), dsn=lambda: empty_dsn, steps=steps_on(), vector_dim=8)
    with pytest.raises(ExceptionGroup) as caught:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_run, pool)
    assert caught.group_contains(StartupError, match="vectors of 4 dimensions")


async def _run(actor: Any, *, task_status: TaskStatus[None]) -> None:
    await actor.run(task_status=task_status)


async def _started_by_name(function: Any, *, task_status: TaskStatus[None]) -> None:
    await function(task_status=task_status)
