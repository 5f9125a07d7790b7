"""The pool and its transactions: what is committed, what is not, and how failures look from outside."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from uuid import uuid4

import anyio
import asyncpg
import numpy as np
import pytest
from pgvector import Vector

from elf.core.errors import DatabaseUnavailable, InternalError
from elf.db import database as database_module
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from elf.db.errors import Retryable, UniqueViolation, map_errors, retrying
from elf.db.postmaster import postgres_processes_in
from tests.conftest import run_sql
from tests.db.conftest import until

pytestmark = pytest.mark.anyio

SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query ILIKE $1"


@pytest.fixture
async def table(database: Database) -> Database:
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE things (id int PRIMARY KEY, word text)")
    return database


async def count(database: Database) -> int:
    async with database.connection() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM things"))


async def test_a_transaction_that_ends_well_is_committed(table: Database) -> None:
    async with table.transaction() as connection:
        await connection.execute("INSERT INTO things VALUES (1, 'one')")
    assert await count(table) == 1


async def test_a_transaction_whose_body_raises_leaves_nothing(table: Database) -> None:
    async def insert_and_fail() -> None:
        async with table.transaction() as connection:
            await connection.execute("INSERT INTO things VALUES (1, 'one')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await insert_and_fail()
    assert await count(table) == 0


async def test_a_cancelled_transaction_leaves_nothing_and_gives_its_connection_back(
    database_dsn: str,
) -> None:
    database = Database(max_conns=1)
    await database.open(database_dsn)
    try:
        async with database.connection() as connection:
            await connection.execute("CREATE TABLE things (id int)")
        inserted = anyio.Event()

        async def insert() -> None:
            async with database.transaction() as connection:
                await connection.execute("INSERT INTO things VALUES (1)")
                inserted.set()
                await connection.execute("SELECT pg_sleep(60)")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(insert)
            await inserted.wait()
            tasks.cancel_scope.cancel()
        assert await count(database) == 0
    finally:
        await database.close()


async def test_a_cancellation_during_the_commit_does_not_undo_it(table: Database) -> None:
    async with table.connection() as connection:
        await connection.execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END';"
            "CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION dawdle()"
        )

    async def insert() -> None:
        async with table.transaction() as connection:
            await connection.execute("INSERT INTO things VALUES (1, 'one')")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(insert)
        async with table.connection() as observer:
            await until(lambda: observer.fetchval(SLEEPING, "COMMIT%"))
        tasks.cancel_scope.cancel()
    assert await count(table) == 1


async def test_a_body_that_ended_is_committed_although_a_cancellation_waits(table: Database) -> None:
    with anyio.CancelScope() as scope:
        async with table.transaction() as connection:
            await connection.execute("INSERT INTO things VALUES (1, 'one')")
            scope.cancel()
    assert await count(table) == 1


async def test_json_and_vectors_go_in_and_come_out_as_python_values(database: Database) -> None:
    value = {"a": [1, 2.5, None, True, "é"], "big": 12345678901234567890123, "nested": {"x": {}}}
    vector = np.array([0.25, -1.5, 3.0], dtype=np.float32)
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT $1::jsonb", value) == value
        assert await connection.fetchval("SELECT $1::jsonb[]", [value, None]) == [value, None]
        assert await connection.fetchval("SELECT ($1::jsonb) -> 'a' ->> 4", value) == "é"
        found = await connection.fetchval("SELECT $1::vector", vector)
        assert np.array_equal(found.to_numpy(), vector)
        assert len(await connection.fetchval("SELECT $1::vector[]", [Vector(vector), Vector(vector)])) == 2


async def test_many_tasks_share_few_connections(database_dsn: str) -> None:
    database = Database(max_conns=3)
    await database.open(database_dsn)
    seen = set()

    async def ask() -> None:
        async with database.connection() as connection:
            seen.add(await connection.fetchval("SELECT pg_backend_pid()"))

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(ask)
    await database.close()
    assert 1 <= len(seen) <= 3


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("40001", Retryable),
        ("40P01", Retryable),
        ("55P03", Retryable),
        ("57014", DatabaseUnavailable),
        ("57P01", DatabaseUnavailable),
        ("57P03", DatabaseUnavailable),
        ("53100", DatabaseUnavailable),
        ("53300", DatabaseUnavailable),
        ("25006", DatabaseUnavailable),
        ("08006", DatabaseUnavailable),
        ("58030", DatabaseUnavailable),
        ("23505", UniqueViolation),
        ("23514", InternalError),
        ("42703", InternalError),
        ("XX000", InternalError),
    ],
)
async def test_sql_states_become_typed_errors(
    database: Database, state: str, expected: type[Exception]
) -> None:
    with pytest.raises(expected) as caught:
        async with database.connection() as connection:
            await connection.execute(f"DO $$ BEGIN RAISE 'told' USING ERRCODE = '{state}'; END $$")
    assert type(caught.value) is expected
    assert state in str(caught.value)


async def test_a_unique_violation_names_its_constraint_and_never_a_value(table: Database) -> None:
    insert = "INSERT INTO memory_hits (hit_id, note_id, query_hash, rank, final_score) VALUES ($1, $1, 'secret', $2, 0)"
    same = uuid4()
    with pytest.raises(UniqueViolation) as caught:
        async with table.transaction() as connection:
            await connection.executemany(insert, [(same, 1), (same, 1)])
    assert caught.value.constraint == "memory_hits_pkey"
    assert str(same) not in str(caught.value)
    with pytest.raises(InternalError, match="memory_hits_rank_range") as refused:
        async with table.connection() as connection:
            await connection.execute(insert, same, -41)
    assert "-41" not in str(refused.value)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


async def test_a_parameter_that_does_not_fit_is_an_internal_error_without_its_value(
    database: Database,
) -> None:
    with pytest.raises(InternalError, match=r"argument \$1") as caught:
        async with database.connection() as connection:
            await connection.fetchval("SELECT $1::int", "secret words")
    assert "secret" not in str(caught.value)


async def test_a_wrong_statement_says_what_is_wrong_with_it(database: Database) -> None:
    with pytest.raises(InternalError, match="no_such_table"):
        async with database.connection() as connection:
            await connection.fetch("SELECT * FROM no_such_table")


async def test_using_one_connection_from_two_tasks_is_misuse(database: Database) -> None:
    async def twice() -> None:
        async with database.connection() as connection, anyio.create_task_group() as tasks:
            tasks.start_soon(connection.execute, "SELECT pg_sleep(0.2)")
            tasks.start_soon(connection.execute, "SELECT pg_sleep(0.2)")

    with pytest.raises(ExceptionGroup) as caught:
        await twice()
    assert caught.group_contains(asyncpg.InterfaceError)
    with pytest.raises(InternalError, match="misused"), map_errors():
        raise asyncpg.InterfaceError("cannot perform operation: another operation is in progress")


async def test_of_two_deadlocked_transactions_both_succeed_when_retried(table: Database) -> None:
    async with table.connection() as connection:
        await connection.execute("INSERT INTO things VALUES (1, ''), (2, '')")
    met = [anyio.Event(), anyio.Event()]
    tries = []

    async def update(me: int, other: int) -> None:
        async def once() -> None:
            tries.append(me)
            async with table.transaction() as connection:
                await connection.execute("UPDATE things SET word = word || 'x' WHERE id = $1", me)
                met[me - 1].set()
                await met[other - 1].wait()
                await connection.execute("UPDATE things SET word = word || 'x' WHERE id = $1", other)

        await retrying(once)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(update, 1, 2)
        tasks.start_soon(update, 2, 1)
    async with table.connection() as connection:
        words = await connection.fetch("SELECT word FROM things")
    assert [row["word"] for row in words] == ["xx", "xx"]
    assert len(tries) == 3


async def test_retrying_gives_up_with_the_last_error_and_retries_nothing_else() -> None:
    tries: list[int] = []

    async def fail(error: Exception) -> None:
        tries.append(1)
        raise error

    with pytest.raises(Retryable):
        await retrying(lambda: fail(Retryable("again")), attempts=3)
    assert len(tries) == 3
    with pytest.raises(DatabaseUnavailable):
        await retrying(lambda: fail(DatabaseUnavailable("away")), attempts=3)
    assert len(tries) == 4


async def test_a_session_that_is_ended_by_the_server_is_unavailable_and_replaced(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable):
        async with database.transaction() as connection:
            await connection.fetchval("SELECT pg_terminate_backend(pg_backend_pid())")
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT 1") == 1


async def test_an_exhausted_pool_is_unavailable_in_bounded_time(
    database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "ACQUIRE_TIMEOUT_S", 0.05)
    database = Database(max_conns=1)
    await database.open(database_dsn)
    async with database.connection():
        with pytest.raises(DatabaseUnavailable, match="in time"):
            async with database.connection():
                pass
    await database.close()


async def test_a_pool_that_is_not_open_is_unavailable_and_may_be_opened_again(database_dsn: str) -> None:
    database = Database(max_conns=2)
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            async with database.connection():
                pass
        await database.open(database_dsn)
        with pytest.raises(RuntimeError):
            await database.open(database_dsn)
        async with database.connection() as connection:
            assert await connection.fetchval("SELECT 1") == 1
        await database.close()
        await database.close()


async def test_closing_does_not_wait_for_ever_for_a_borrower(
    database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "CLOSE_TIMEOUT_S", 0.05)
    database = Database(max_conns=2)
    await database.open(database_dsn)

    async def close_while_borrowing() -> None:
        async with database.connection() as connection:
            await database.close()
            await connection.fetchval("SELECT 1")

    with pytest.raises(DatabaseUnavailable):
        await close_while_borrowing()


async def test_opening_on_a_server_that_is_away_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="cannot be reached"):
        await Database(max_conns=2).open(f"postgresql://elf@/postgres?host={tmp_path}")


async def opened(dsn: str) -> Database:
    await run_sql(dsn, "CREATE EXTENSION IF NOT EXISTS vector")
    database = Database(max_conns=2)
    await database.open(dsn)
    return database


async def test_a_stopped_server_is_unavailable_and_the_pool_recovers_when_it_is_back(folder: Path) -> None:
    server = EmbeddedServer(folder)
    database = await opened(await server.start())

    async def write_while_it_stops() -> None:
        async with database.transaction() as connection:
            await connection.execute("CREATE TABLE things (id int)")
            await server.leave()
            await connection.execute("INSERT INTO things VALUES (1)")

    try:
        with pytest.raises(DatabaseUnavailable):
            await write_while_it_stops()
        with pytest.raises(DatabaseUnavailable):
            async with database.connection() as connection:
                await connection.execute("SELECT 1")
        await server.start()
        async with database.connection() as connection:
            assert await connection.fetchval("SELECT to_regclass('things')") is None
    finally:
        await database.close()
        await server.leave()


async def test_a_frozen_server_is_unavailable_in_bounded_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("CONNECT", "ACQUIRE", "COMMAND", "RELEASE", "CLOSE"):
        monkeypatch.setattr(database_module, f"{limit}_TIMEOUT_S", 0.3)
    server = EmbeddedServer(folder)
    database = await opened(await server.start())
    frozen = postgres_processes_in(folder / "data")
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(3):  # more often than the pool has connections: none is left hanging
            with anyio.fail_after(60), pytest.raises(DatabaseUnavailable):
                async with database.transaction() as connection:
                    await connection.fetchval("SELECT 1")
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT 1", timeout=20) == 1
    await database.close()
    await server.leave()


async def test_the_pool_tells_how_many_connections_it_has_lent_out(database: Database) -> None:
    async with database.connection(), database.connection():
        lent = database.statistics()
    back = database.statistics()
    assert (lent.size - lent.idle, lent.max_size) == (2, 8)
    assert back.size == back.idle == lent.size
    await database.close()
    assert database.statistics() == (0, 0, 8)
