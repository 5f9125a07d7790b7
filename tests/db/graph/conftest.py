"""A memory in a file of its own, with a clock that a test can turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from elf.db import migration
from elf.db.database import Database
from elf.db.queries import sql_folder
from elf.db.schema import schema_steps
from elf.families.graph.model import FAMILY
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.statements import OwnerKey
from tests.conftest import TEMPLATE, VECTOR_DIM, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.db.graph.graph_kit import KEY, file_kit, opened
from tests.db.graph.house import House, house_at
from tests.db.graph.telling_kit import open_at
from tests.notes_kit import TurnedClock


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def kit(clock: TurnedClock) -> FileKit:
    return file_kit(clock)


@pytest.fixture
def key() -> OwnerKey:
    return KEY


@pytest.fixture
async def file(tmp_path: Path, kit: FileKit, key: OwnerKey) -> AsyncIterator[MemoryFile]:
    async with anyio.create_task_group() as group:
        yield await opened(group, tmp_path / "planner", key, kit)
        group.cancel_scope.cancel()


@pytest.fixture(scope="package")
def graph_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: the home of each test's files has a name of its own."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {FAMILY} TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, FAMILY)
    steps = schema_steps([(FAMILY, sql_folder() / FAMILY)])
    asyncio.run(migration.apply(dsn, steps, vector_dim=VECTOR_DIM))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {FAMILY} WITH (FORCE)"))


@pytest.fixture(scope="package")
async def pool(graph_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(graph_dsn) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, graph_dsn: str) -> Database:
    """A pool on that database, which knows of no homes."""
    return await as_new(pool, graph_dsn, "DELETE FROM graph_homes")


@pytest.fixture
async def hearing(database: Database) -> AsyncIterator[Database]:
    """A database with a webhook that hears everything."""
    async with database.connection() as connection:
        await connection.execute("INSERT INTO webhooks (name) VALUES ('all')")
    yield database
    async with database.connection() as connection:
        for table in ("webhooks", "webhook_outbox", "graph_changes_told"):
            await connection.execute(f"DELETE FROM {table}")


@pytest.fixture
def told_kit(kit: FileKit) -> FileKit:
    """What the files of a process with a webhook share."""
    return replace(kit, untold=set())


@pytest.fixture
async def told_file(tmp_path: Path, told_kit: FileKit) -> AsyncIterator[MemoryFile]:
    """A file that keeps what is to be told."""
    async with open_at(tmp_path / "planner", told_kit) as file:
        yield file


@pytest.fixture
async def house(database: Database, tmp_path: Path) -> AsyncIterator[House]:
    async with house_at(database, tmp_path) as house:
        yield house
