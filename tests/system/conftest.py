"""The whole service as a user runs it: one process started from a config file, spoken to over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.service import RunningService, write_config


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service for all tests that leave it running; each test works in a tenant of its own."""
    folder: Path = tmp_path_factory.mktemp("service")
    with RunningService(write_config(folder)) as running:
        yield running


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the built model, for the services that tests start themselves."""
    return tmp_path_factory.mktemp("model")


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """A tenant that no other test uses."""
    return str(request.node.nodeid)[-128:]
