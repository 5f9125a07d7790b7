"""A worker that is killed between the answer of its model and the commit."""

from __future__ import annotations

import pytest

from elf.db.database import Database
from tests.chaos.consolidating import Kills

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_no_episode_is_lost_and_no_fact_doubled_when_workers_are_killed(database_dsn: str) -> None:
    database = Database(max_conns=4)
    await database.open(database_dsn)
    try:
        assert await Kills(database, database_dsn, seed=1).run(3) == []
    finally:
        await database.close()
