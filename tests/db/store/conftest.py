"""All families on a database of their own, of which the store is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import open_pool
from tests.db.store.store_kit import Store
from tests.families.offers_house import offers_house


@pytest.fixture(scope="package")
def store_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: each has a tenant of its own."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE store_family TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "store_family")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE store_family WITH (FORCE)"))


@pytest.fixture
async def store(store_dsn: str, tmp_path: Path, tenant: str) -> AsyncIterator[Store]:
    async with (
        open_pool(store_dsn, max_conns=2) as database,
        offers_house(store_dsn, tmp_path) as house,
    ):
        yield Store(house, database, tenant)
