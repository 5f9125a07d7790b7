"""How many connections the fronts may hold, by what the system allows and the config says."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from actors.fronts.descriptors import FEWEST, MOST, RESERVED, connection_limit
from elf.config.limits import Limits


def limits(max_connections: int) -> Limits:
    return Limits(
        max_concurrent=1, max_per_tenant=1, max_concurrent_events=1, max_waiting=1, max_wait_ms=1,
        max_connections=max_connections,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("descriptors", "wanted", "each"),
    [
        (1024, None, (1024 - RESERVED - 16) // 3),
        (1024, 1000, (1024 - RESERVED - 16) // 3),
        (1024, 100, 100),
        (100_000, None, MOST),
        (100_000, 20_000, 20_000),
        (64, None, FEWEST),
        (resource.RLIM_INFINITY, None, MOST),
        (resource.RLIM_INFINITY, 9000, 9000),
    ],
)
def test_fronts_share_what_others_leave_of_the_descriptors(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, wanted: int | None, each: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    said = None if wanted is None else limits(wanted)
    assert connection_limit(said, fronts=3, pooled=16) == each


RAISED = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))
from actors.processes.process import run_process
async def serve(say):
    say(resource.getrlimit(resource.RLIMIT_NOFILE))
run_process(serve)
"""


def test_a_process_takes_as_many_descriptors_as_it_may_have() -> None:
    result = subprocess.run([sys.executable, "-c", RAISED], capture_output=True, text=True, check=True)
    assert result.stdout == "(200, 200)\n"
