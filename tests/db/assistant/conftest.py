"""The assistant on a database of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from elf.db import migration
from elf.db.database import Database
from elf.db.queries import sql_folder
from elf.db.schema import schema_steps
from elf.families.assistant.model import FAMILY
from tests.conftest import TEMPLATE, VECTOR_DIM, dsn_of, run_sql
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.conftest import as_new, open_pool

TABLES = (
    "relations", "vectors", "memories", "threads", "recalls", "changes", "history", "events", "turns", "outbox",
    "user_context", "proposals", "signals", "fingerprints", "runs", "recent", "budgets",
    "files", "file_versions",
)  # fmt: skip
EMPTY = "; ".join(f"DELETE FROM assistant_{table}" for table in TABLES)
EMPTY += "; DELETE FROM saver_checkpoints; DELETE FROM saver_blobs; DELETE FROM saver_writes"
EMPTY += "; DELETE FROM supervisor_checkpoints; DELETE FROM chore_runs"


@pytest.fixture(scope="package")
def assistant_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: emptying it is quicker than making it."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {FAMILY} TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, FAMILY)
    asyncio.run(migration.apply(dsn, schema_steps([(FAMILY, sql_folder() / FAMILY)]), vector_dim=VECTOR_DIM))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {FAMILY} WITH (FORCE)"))


@pytest.fixture(scope="package")
async def pool(assistant_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(assistant_dsn) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, assistant_dsn: str) -> Database:
    """A pool on that database, emptied."""
    return await as_new(pool, assistant_dsn, EMPTY)


@pytest.fixture
async def house(database: Database, tmp_path: Path) -> AsyncIterator[AssistantHouse]:
    """The assistant, served."""
    async with house_at(database, tmp_path) as house:
        yield house
