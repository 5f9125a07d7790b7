"""Appending while deleted trees are evicted, beside the same while nothing is."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable
from functools import partial
from typing import Final

from elf.config import Config
from elf.db.database import Connection
from ops.bench.conversations import seeding
from ops.bench.conversations.talking import OPERATOR, ROOT, TENANT, talking
from ops.bench.conversations.turns import TURNS, Call, compare, show, took
from ops.bench.search import percentile
from ops.bench.write import opened
from tests.system.service import RunningService

USER, AGENT = "ben", "agent"
TREES: Final = 1000
ENTRIES: Final = 100
APPENDING: Final = 4
A_CONNECTION: Final = 500  # the service closes connections after some
CALM_S: Final = 4.0
SETTLED_S: Final = 2.0
BODY: Final = b'{"channel":"history","contentType":"history","content":[{"role":"AI","text":"It is ready."}]}'

_DELETED: Final = """
WITH members AS (DELETE FROM conversation_memberships AS m WHERE m.tenant_id = $1 AND m.tree_id = ANY ($2))
UPDATE conversation_trees SET deleted_at = now() - interval '1 day' WHERE tenant_id = $1 AND tree_id = ANY ($2)
"""
_LEFT: Final = "SELECT count(*) FROM conversation_trees WHERE deleted_at IS NOT NULL"


async def evicting(config: Config, service: RunningService) -> None:
    async with opened(config) as database, database.connection() as connection:
        turns = []
        for _ in range(TURNS):
            await _seed(connection)
            turns.append(await _turn(service))
            assert await connection.fetchval(_LEFT) == 0
    show(turns, "")
    busy, calm, *_ = turns[0]
    compare(turns, busy, calm, goal="at most 2")


async def _turn(service: RunningService) -> dict[str, float]:
    calm, _ = await _beside(service, asyncio.sleep(CALM_S))
    busy, seconds = await _beside(service, _evict(service))
    return {
        "p95 of an append while trees are evicted, ms": percentile(busy, 0.95),
        "p95 of an append otherwise, ms": percentile(calm, 0.95),
        "p50 of an append while trees are evicted, ms": statistics.median(busy),
        "p50 of an append otherwise, ms": statistics.median(calm),
        "seconds of the eviction": seconds,
    }


async def _seed(connection: Connection) -> None:
    """Make deleted trees: entries without a text."""
    ids = await seeding.trees(connection, "ana", TREES)
    await seeding.write(connection, ids, ENTRIES)
    await connection.execute(_DELETED, TENANT, ids, timeout=seeding.PATIENCE_S)
    await connection.execute("VACUUM ANALYZE conversation_entries", timeout=seeding.PATIENCE_S)
    await connection.execute("CHECKPOINT", timeout=seeding.PATIENCE_S)
    await asyncio.sleep(SETTLED_S)


async def _evict(service: RunningService) -> None:
    async with talking(service, OPERATOR) as operator:
        await operator.read(
            "POST", "/v1/admin/evict", retentionPeriod="PT1S", resourceTypes=["conversations"]
        )


async def _beside(service: RunningService, other: Awaitable[None]) -> tuple[list[float], float]:
    """Append until something else is over; return the milliseconds of each, and the seconds of that."""
    is_over = asyncio.Event()
    taken: list[float] = []

    async def append() -> None:
        async with talking(service, USER, AGENT) as talker:
            path = f"{ROOT}/{await talker.begin()}/entries"
        while not is_over.is_set():
            async with talking(service, USER, AGENT) as talker:
                await append_some(partial(talker.ask, "POST", path, BODY))

    async def append_some(call: Call) -> None:
        for _ in range(A_CONNECTION):
            taken.append(await took(call))
            if is_over.is_set():
                break

    async def until() -> float:
        began = time.perf_counter()
        await other
        is_over.set()
        return time.perf_counter() - began

    async with asyncio.TaskGroup() as group:
        for _ in range(APPENDING):
            group.create_task(append())
        ending = group.create_task(until())
    return taken, ending.result()
