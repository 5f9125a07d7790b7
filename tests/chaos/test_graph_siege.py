"""A short siege of processes that share a memory, and the proof that it would see a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.graph_siege import Siege

pytestmark = pytest.mark.anyio
SECONDS = 2.0  # ops/chaos/graph.py besieges for longer
SHORT_S = 2.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_nothing_that_was_answered_is_lost_or_torn_whoever_is_killed(tmp_path: Path) -> None:
    siege = Siege(tmp_path, seed=1)
    assert await siege.run(SECONDS) == []
    assert siege.counts["changes answered"] > 0
    assert siege.counts["processes killed"] > 0
    assert siege.counts["files dropped"] > 0


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("early", "was answered, and its change of"),
        ("torn", "was written in part"),
        ("skipping", "the versions of"),
        ("forgetful", "was rejected"),
        ("deaf", "nobody has the duty"),
    ],
)
async def test_a_planted_fault_is_found(tmp_path: Path, fault: str, found: str) -> None:
    siege = Siege(tmp_path, seed=1, fault=fault, duty_within_s=SHORT_S if fault == "deaf" else 60.0)
    faults = await siege.run(SHORT_S)
    assert any(found in one for one in faults), faults[:5]
