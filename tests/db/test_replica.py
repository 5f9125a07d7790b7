"""Reading from a replica: here another database of the same server, which tells by its name which one was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import anyio
import pytest

from actors.owners.database import ReplicaPool
from elf.core.errors import DatabaseUnavailable
from elf.db.database import Database
from elf.db.replica import ReadDatabase
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def replica(postgres_dsn: str, template_dsn: str) -> AsyncIterator[str]:
    """The name of a database that stands for the replica; tests may drop it."""
    name = f"replica_{uuid4().hex}"
    await make(postgres_dsn, name)
    yield name
    await run_sql(postgres_dsn, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


async def make(dsn: str, name: str) -> None:
    await run_sql(dsn, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")


async def asked(database: Database) -> str:
    async with database.connection() as connection:
        return str(await connection.fetchval("SELECT current_database()"))


async def test_reads_go_to_the_replica_and_transactions_to_the_primary(
    postgres_dsn: str, database: Database, replica: str
) -> None:
    reads = ReadDatabase(database, max_conns=2)
    await reads.open(dsn_of(postgres_dsn, replica))
    assert await asked(reads) == replica
    async with reads.transaction() as connection:
        assert await connection.fetchval("SELECT current_database()") == await asked(database)
    await reads.close()


async def test_reads_go_to_the_primary_before_the_replica_is_open(database: Database) -> None:
    reads = ReadDatabase(database, max_conns=2)
    assert await asked(reads) == await asked(database)
    with pytest.raises(DatabaseUnavailable):
        await reads.ping()


async def test_a_failure_of_the_body_is_not_tried_again_on_the_primary(
    postgres_dsn: str, database: Database, replica: str
) -> None:
    reads = ReadDatabase(database, max_conns=2)
    await reads.open(dsn_of(postgres_dsn, replica))
    seen = []

    async def read_and_fail() -> None:
        async with reads.connection() as connection:
            seen.append(await connection.fetchval("SELECT current_database()"))
            raise DatabaseUnavailable("broken off")

    with pytest.raises(DatabaseUnavailable):
        await read_and_fail()
    assert seen == [replica]
    await reads.close()


async def test_a_replica_that_goes_away_is_done_without_and_taken_again_when_it_is_back(
    postgres_dsn: str, database: Database, replica: str
) -> None:
    reads = ReadDatabase(database, max_conns=2)
    pool = ReplicaPool(reads, dsn=dsn_of(postgres_dsn, replica), ping_interval_s=0.01, retry_s=0.01)
    primary = await asked(database)

    async def reads_from(name: str) -> bool:
        try:
            return await asked(reads) == name
        except DatabaseUnavailable:
            return False  # it went away in the middle of this one

    async with anyio.create_task_group() as tasks:
        await tasks.start(lambda *, task_status: pool.run(task_status=task_status))
        await until(lambda: reads_from(replica))
        await run_sql(postgres_dsn, f"DROP DATABASE {replica} WITH (FORCE)")
        await until(lambda: reads_from(primary))
        await make(postgres_dsn, replica)
        await until(lambda: reads_from(replica))
        tasks.cancel_scope.cancel()
    assert await asked(reads) == primary
