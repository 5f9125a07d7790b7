"""What a look at the database finds, while things are taken away from it and given back."""

from __future__ import annotations

import asyncpg
import pytest

from actors.families import steps_on
from elf.db.database import Database
from elf.db.health import UNKNOWN, DatabaseHealth, DatabaseState
from elf.db.queries import Queries, sql_folder
from elf.db.schema import COMMON, created_by
from elf.families.notes.keeping.store import NEEDED_TO_READ

pytestmark = pytest.mark.anyio

FINE = DatabaseState(None, None)


def health_of(database: Database) -> DatabaseHealth:
    return DatabaseHealth(
        database,
        Queries.load(sql_folder() / COMMON),
        read_from=NEEDED_TO_READ,
        all_of=created_by(steps_on()),
    )


@pytest.fixture
def health(database: Database) -> DatabaseHealth:
    return health_of(database)


async def run(database: Database, *statements: str) -> None:
    async with database.connection() as connection:
        for statement in statements:
            await connection.execute(statement)


async def test_nothing_is_known_before_the_first_look_and_after_it_was_forgotten(
    health: DatabaseHealth,
) -> None:
    assert health.state == UNKNOWN
    assert await health.look() == FINE
    health.forget()
    assert health.state == UNKNOWN


async def test_looks_leave_nothing_behind_and_each_needs_a_page_of_the_disk(
    database: Database, health: DatabaseHealth
) -> None:
    for _ in range(3):
        assert await health.look() == FINE
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT pg_relation_size('write_probes')") == 0
        await connection.execute("BEGIN")
        await connection.execute(Queries.load(sql_folder() / COMMON)["probe"])
        assert await connection.fetchval("SELECT pg_relation_size('write_probes')") == 8192
        await connection.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("table", "can_read"),
    [
        ("indexing_outbox", True),
        ("memory_note_versions", True),
        ("memory_notes", False),
        ("write_probes", True),
    ],
)
async def test_a_lost_table_is_named_until_it_is_back(
    database: Database, health: DatabaseHealth, table: str, can_read: bool
) -> None:
    await run(database, f"ALTER TABLE {table} RENAME TO taken")
    lost = f"the database has lost {table}"
    assert await health.look() == DatabaseState(None if can_read else lost, lost)
    await run(database, f"ALTER TABLE taken RENAME TO {table}")
    assert await health.look() == FINE


async def test_a_lost_index_keeps_from_writing_only(database: Database, health: DatabaseHealth) -> None:
    await run(database, "ALTER INDEX idx_notes_active_key RENAME TO taken")
    assert await health.look() == DatabaseState(None, "the database has lost idx_notes_active_key")


async def test_a_database_that_became_read_only_is_read(database_dsn: str) -> None:
    database = Database(max_conns=2)
    connection = await asyncpg.connect(database_dsn)
    await connection.execute(
        f'ALTER DATABASE "{await connection.fetchval("SELECT current_database()")}"'
        " SET default_transaction_read_only = on"
    )
    await connection.close()
    await database.open(database_dsn)
    try:
        state = await health_of(database).look()
    finally:
        await database.close()
    assert state.reads is None
    assert state.writes is not None
    assert "ReadOnlySQLTransactionError" in state.writes


async def test_a_database_that_is_away_is_neither_read_nor_written(
    database: Database, health: DatabaseHealth
) -> None:
    await health.look()
    await database.close()
    state = await health.look()
    assert state == DatabaseState("the connection pool is not open", "the connection pool is not open")
