"""A whole service in this process, with its real fronts and the real embedded stack: for tests that change its code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
from anyio.from_thread import start_blocking_portal

from actors.processes.addresses import Fronts as Addresses
from actors.processes.diverted_logs import LogDiversion
from actors.system import open_system
from elf.config import Config
from tests.families.fronts import Fronts
from tests.families.identities import Identities
from tests.families.served import FAMILIES, fronts_of


@contextmanager
def running_here(config: Config, identities: Identities | None = None) -> Iterator[Fronts]:
    """Run the service on a loop in a thread of its own, and give its fronts; `identities` are as for `fronts_of`."""
    with (
        start_blocking_portal("asyncio", {"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(_running(config)) as addresses,
        fronts_of(
            f"http://{addresses.http}", f"http://{addresses.admin}", f"http://{addresses.mcp}/mcp", identities
        ) as fronts,
    ):
        yield fronts


@asynccontextmanager
async def _running(config: Config) -> AsyncIterator[Addresses]:
    logs = LogDiversion("error")
    logs.enter()
    with logs.installed():
        async with open_system(config, families=FAMILIES) as system, anyio.create_task_group() as group:
            await group.start(system.run)
            yield system.fronts
            group.cancel_scope.cancel()
