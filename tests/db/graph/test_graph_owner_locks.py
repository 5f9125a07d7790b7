"""Locks of owners that are held while a file is written to, and Postgres goes away."""

from __future__ import annotations

import pytest

from elf.core.errors import DatabaseUnavailable
from elf.db.database import Database
from elf.families.graph.store.owner_locks import OwnerLocks
from tests.db.graph.graph_kit import KEY
from tests.db.graph.telling_kit import QUERIES

pytestmark = pytest.mark.anyio


async def test_what_a_block_cannot_do_without_postgres_is_not_taken_for_done(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable):
        async with OwnerLocks(database, QUERIES).of_memory(KEY):
            raise DatabaseUnavailable("Postgres is away")
    with pytest.raises(DatabaseUnavailable):
        async with OwnerLocks(None, QUERIES).of_memory(KEY):
            raise DatabaseUnavailable("Postgres is away")
