"""The search's parts are tested on asyncio; what is about tasks, on trio as well."""

from __future__ import annotations

from typing import Any

import pytest
from trio.testing import MockClock


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["asyncio", "trio"])
def both_backends(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "asyncio":
        return ("asyncio", {})
    return ("trio", {"clock": MockClock(autojump_threshold=0)})
