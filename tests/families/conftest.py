"""The fronts of the service that all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.families.fronts import Fronts
from tests.system.service import RunningService


@pytest.fixture(scope="module")
def fronts(service: RunningService) -> Iterator[Fronts]:
    with Fronts(service.url, service.admin_url, service.mcp_url) as fronts:
        yield fronts
