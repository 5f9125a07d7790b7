"""A short siege of leased work, and the proof that it would see a fault."""

from __future__ import annotations

import pytest

from tests.chaos.leases import Siege

pytestmark = pytest.mark.anyio
MOST_ROUNDS = 12
"""A planted fault shows in most rounds, not in each."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_no_job_is_handed_to_two_living_processes_done_twice_or_lost(database_dsn: str) -> None:
    siege = Siege(database_dsn, seed=1)
    assert await siege.run(["one", "cut", "both"]) == []
    assert siege.taken_over >= 1


@pytest.mark.parametrize(
    ("fault", "kind", "found"),
    [
        ("alone", "one", "got a job that"),
        ("deaf", "cut", "went on with a job"),
        ("unfenced", "cut", "was done twice"),
    ],
)
async def test_a_planted_fault_is_found(database_dsn: str, fault: str, kind: str, found: str) -> None:
    faults = await Siege(database_dsn, seed=1, fault=fault).run([kind] * MOST_ROUNDS, looks_for=found)
    assert any(found in one for one in faults)
