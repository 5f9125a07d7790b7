"""The whole service as a user runs it: one process started from a config file, spoken to over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config


@pytest.fixture(scope="session")
def service(model_folder: Path) -> Iterator[RunningService]:
    """One service for all tests that leave it running; each test works in a tenant of its own."""
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"')) as service,
    ):
        yield service


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """A tenant that no other test uses."""
    return str(request.node.nodeid)[-128:]
