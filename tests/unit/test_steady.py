"""What ops/chaos/steady.py says of the memory of a service that worked for an hour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ops.chaos.steady import SAMPLES, resources, slope_of

MINUTES = range(64)


def write_samples(folder: Path, *, service_grows: float, index_grows: float) -> None:
    """Write a sample a minute: 250 MB of the service and 20 of the index, and what they grow by in a minute."""
    lines = []
    for minute in MINUTES:
        service, index = 250 + service_grows * minute, 20 + index_grows * minute
        memory = {"service": service, "index": index, "rest": 0.0, "memory": service + index}
        lines.append(json.dumps({"at": 60.0 * minute, **memory, "descriptors": 40.0}))
    (folder / SAMPLES).write_text("\n".join(lines))


def test_a_slope_is_in_percent_of_the_mean_an_hour() -> None:
    slope = slope_of([(0.0, 95.0), (1800.0, 100.0), (3600.0, 105.0)])
    assert slope.percent == pytest.approx(10.0)


def test_the_slope_of_each_process_is_told_beside_that_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_samples(tmp_path, service_grows=0.0, index_grows=0.1)
    assert list(resources(tmp_path)) == []
    told = [line.partition(" (")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == [
        "63 minutes, 64 samples",
        "memory: 274 on average, +2.2 % an hour",
        "memory of the service: 250 on average, +0.0 % an hour",
        "memory of the index: 24 on average, +25.1 % an hour",
        "descriptors: 40 on average, +0.0 % an hour",
    ]


def test_memory_that_grows_by_more_than_5_percent_an_hour_is_a_fault(tmp_path: Path) -> None:
    write_samples(tmp_path, service_grows=0.3, index_grows=0.0)
    (fault,) = resources(tmp_path)
    assert fault.startswith("memory grows by +6.4 % an hour")
