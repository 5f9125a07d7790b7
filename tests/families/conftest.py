"""A service with every family, and its fronts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.families.fronts import Fronts
from tests.families.served import config_of_all, fronts_of, service_of_all
from tests.folders import fresh_folder
from tests.system.service import RunningService


@pytest.fixture(scope="session")
def service(model_folder: Path) -> Iterator[RunningService]:
    """One service for all tests here that leave it running; each test works in a tenant of its own."""
    with fresh_folder() as folder:
        config = config_of_all(folder, cache_dir=f'"{model_folder}"', log_level='"debug"')
        with service_of_all(config) as service:
            yield service


@pytest.fixture(scope="module")
def fronts(service: RunningService) -> Iterator[Fronts]:
    with fronts_of(service.url, service.admin_url, service.mcp_url) as fronts:
        yield fronts
