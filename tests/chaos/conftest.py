"""One service for all tests of this folder: whatever is done to its parts, it is never started again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.system.service import RunningService, processes_of, write_config


@pytest.fixture(scope="session")
def survivor(model_folder: Path) -> Iterator[RunningService]:
    """A running service. No lease ends while it runs: what an outage leaves leased must come back by itself."""
    with fresh_folder() as folder:
        try:
            with RunningService(
                write_config(folder, cache_dir=f'"{model_folder}"', lease_seconds="3600")
            ) as service:
                yield service
        finally:
            left = processes_of(folder)
            for process in left:
                process.kill()
        assert left == []


@pytest.fixture
def service(survivor: RunningService) -> Iterator[RunningService]:
    """The service, ready; afterwards it runs still, is ready, and has logged nothing that looks like a bug."""
    survivor.wait_ready()
    before = len(survivor.complaints())
    yield survivor
    assert survivor.process.poll() is None
    survivor.wait_ready()
    assert survivor.complaints()[before:] == []


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """A tenant that no other test uses."""
    return str(request.node.nodeid)[-128:]
