"""Conversations on a database of their own, with a clock that a test can turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from actors.families import FAMILIES
from elf.db import migration
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.db.schema import schema_steps
from elf.families.conversations.model import FAMILY
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from tests.conftest import TEMPLATE, VECTOR_DIM, dsn_of, run_sql
from tests.notes_kit import TurnedClock


@pytest.fixture(scope="package")
def conversations_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: each works in a tenant of its own."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {FAMILY} TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, FAMILY)
    folders = [(family.name, family.sql_folder) for family in FAMILIES]
    steps = schema_steps([*folders, (FAMILY, sql_folder() / FAMILY)])
    asyncio.run(migration.apply(dsn, steps, vector_dim=VECTOR_DIM))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {FAMILY} WITH (FORCE)"))


@pytest.fixture
async def database(conversations_dsn: str) -> AsyncIterator[Database]:
    database = Database(max_conns=20)
    await database.open(conversations_dsn)
    yield database
    await database.close()


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def queries() -> Queries:
    return Queries.load(sql_folder() / FAMILY)


@pytest.fixture
def store(database: Database, clock: TurnedClock, queries: Queries) -> ConversationStore:
    return ConversationStore(database, clock, queries)


@pytest.fixture
def sharing(database: Database, clock: TurnedClock, queries: Queries) -> TreeSharing:
    return TreeSharing(database, clock, queries)
