"""Clients of users of their own, over the service that all tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest

from elf.client import AsyncClient, Client
from tests.system.service import RunningService

DESK = {"X-Client-ID": "desk"}
CONTEXT = {"tenant_id": "default", "agent_id": "desk", "read_profile": "all_scopes"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def user() -> str:
    return f"ana-{uuid4()}"


@pytest.fixture
async def client(service: RunningService, user: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.url, token=user, headers=DESK, **CONTEXT, user=user) as client:
        yield client


@pytest.fixture
def plain(service: RunningService) -> Iterator[Callable[[str], Client]]:
    """Gives plain clients of users."""
    with ExitStack() as stack:
        yield lambda user: stack.enter_context(
            Client(service.url, token=user, headers=DESK, **CONTEXT, user=user)
        )
