"""A whole service in this process, with its real fronts and the real embedded stack: for tests that change its code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from quart import Quart

from actors.processes.addresses import Fronts as Addresses
from actors.processes.diverted_logs import LogDiversion
from actors.system import open_system
from elf.api.operation import Operation
from elf.config import Config
from elf.web.app import create_app
from elf.web.openapi import ADMIN, About
from tests.families.fronts import Fronts
from tests.families.identities import FREE, Identities, identify
from tests.families.served import FAMILIES, fronts_of


@contextmanager
def running_here(config: Config) -> Iterator[Fronts]:
    """Run the service on a loop in a thread of its own, and give its fronts."""
    with (
        start_blocking_portal("asyncio", {"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(_running(config)) as addresses,
        fronts_of(
            f"http://{addresses.http}", f"http://{addresses.admin}", f"http://{addresses.mcp}/mcp"
        ) as fronts,
    ):
        yield fronts


@contextmanager
def guarded_here(config: Config) -> Iterator[tuple[Fronts, Identities]]:
    """Run the service as `running_here` does, asking its callers who they are; the fronts speak for an operator."""
    identities = Identities()
    with (
        pytest.MonkeyPatch.context() as patch,
        start_blocking_portal("asyncio", {"use_uvloop": True}) as portal,
    ):
        patch.setattr("actors.system.create_app", _asking)
        with portal.wrap_async_context_manager(_running(config)) as addresses:
            public, admin = f"http://{addresses.http}", f"http://{addresses.admin}"
            with Fronts(public, admin, "", [], identities.headers(FREE, {})) as fronts:
                yield fronts, identities


def _asking(operations: Sequence[Operation], *args: Any, about: About, **others: Any) -> Quart:
    if about is ADMIN:
        operations = [replace(one, role="auditor" if one.method == "GET" else "admin") for one in operations]
    asking = replace(about, asks_who=True)
    return create_app(operations, *args, about=asking, identify=identify, **others)


@asynccontextmanager
async def _running(config: Config) -> AsyncIterator[Addresses]:
    logs = LogDiversion("error")
    logs.enter()
    with logs.installed():
        async with open_system(config, families=FAMILIES) as system, anyio.create_task_group() as group:
            await group.start(system.run)
            yield system.fronts
            group.cancel_scope.cancel()
