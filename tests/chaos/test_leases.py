"""A short siege of leased work, and the proof that it would see a fault."""

from __future__ import annotations

import pytest

from tests.chaos.leases import Siege

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_no_job_is_handed_to_two_living_processes_and_none_is_lost(database_dsn: str) -> None:
    assert await Siege(database_dsn, seed=1).run(rounds=4) == []


async def test_processes_that_do_not_know_of_each_other_are_found_out(database_dsn: str) -> None:
    faults = await Siege(database_dsn, seed=1, knows_of_others=False).run(rounds=3)
    assert any("got a job that" in fault for fault in faults)
