"""A log that cannot be written costs its lines and nothing else: `ops/chaos/log_failures.py`, made short."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.chaos.log_failures import FAILURES, Failure, can_have_disk, run
from tests.folders import fresh_folder
from tests.system.service import write_config
from tests.system.several import split

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux's disks and pipes")

SECONDS = 1.0


@pytest.mark.parametrize("failure", FAILURES)
def test_requests_are_served_and_the_stop_is_in_order_whatever_befalls_the_log(
    failure: Failure, model_folder: Path
) -> None:
    with fresh_folder() as folder:
        if failure == "full_disk" and not can_have_disk(folder):
            pytest.skip("this system lets nobody mount a disk of their own")
        config = write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"')
        outcome = run(config, failure, seconds=SECONDS, seed=1)
    assert outcome.faults == []


def test_each_of_several_processes_counts_what_it_drops(model_folder: Path) -> None:
    with fresh_folder() as folder:
        config = split(write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"'))
        outcome = run(config, "closed_pipe", seconds=SECONDS, seed=1, processes=4)
    assert outcome.faults == []
    assert len(outcome.dropped) == 4
    assert all(outcome.dropped.values())
