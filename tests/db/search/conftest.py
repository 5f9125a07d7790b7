"""Traces on a database of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from elf.db.database import Database
from elf.db.queries import Queries
from elf.search.trace_store import TraceStore, search_queries
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.db.notes.conftest import EMPTY

LEASE_S = 60.0


@pytest.fixture(scope="session")
def queries() -> Queries:
    return search_queries()


@pytest.fixture(scope="package")
def search_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: emptying it is quicker than making it."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE search TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "search")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE search WITH (FORCE)"))


@pytest.fixture(scope="package")
async def pool(search_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(search_dsn) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, search_dsn: str) -> Database:
    """A pool on that database, emptied."""
    return await as_new(pool, search_dsn, EMPTY)


@pytest.fixture
def database_dsn(search_dsn: str, database: Database) -> str:
    """That database, emptied."""
    return search_dsn


@pytest.fixture
def store(database: Database, queries: Queries) -> TraceStore:
    return TraceStore(database, queries, lease_seconds=LEASE_S)
