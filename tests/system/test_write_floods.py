"""A flood of writers of one thing, over HTTP, with a pool that is smaller than the flood."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from elf.db.cluster import Cluster
from tests.folders import fresh_folder
from tests.system.service import RunningService, add_body, note, wait_for, write_config
from tests.system.truth import rows

FLOOD = 24
HOT = "The kettle is always on."


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    """A service with a small pool that takes all requests at once."""
    many = {"max_concurrent": "64", "max_per_tenant": "64", "max_concurrent_events": "64"}
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"', pool_max_conns="6", **many)
        with RunningService(config) as service:
            yield service


class SlowWriter:
    """Another process that is at the notes of a tenant, until it is told to end."""

    def __init__(self, service: RunningService, tenant: str) -> None:
        self._runner = asyncio.Runner()
        cluster = Cluster(service.config.parent / ".elf" / "postgres")
        pid_file = cluster.read_pid_file()
        assert pid_file is not None
        self._connection: Any = self._runner.run(asyncpg.connect(cluster.dsn(pid_file)))
        self._runner.run(self._hold(tenant))

    async def _hold(self, tenant: str) -> None:
        await self._connection.execute("BEGIN")
        await self._connection.execute("SELECT 1 FROM memory_notes WHERE tenant_id = $1 FOR UPDATE", tenant)

    def end(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()


@pytest.mark.parametrize("kind", ["without a key", "with a key", "update"])
def test_a_flood_of_one_thing_keeps_nobody_else_waiting(
    service: RunningService, tenant: str, kind: str
) -> None:
    (hot,) = service.add(tenant, note(HOT, key="kettle" if kind == "with a key" else None))
    service.wait_found(tenant, HOT, hot["note_id"])  # and no indexer is at it any more
    path = "update" if kind == "update" else "add_note"

    def write(number: int) -> httpx.Response:
        body = add_body(tenant, note(HOT, key="kettle" if kind == "with a key" else None))
        if kind == "update":
            owner = {name: body[name] for name in ("tenant_id", "project_id", "agent_id")}
            body = owner | {"note_id": hot["note_id"], "importance": number / 100}
        return httpx.post(f"{service.url}/v1/memory/{path}", json=body, timeout=60)

    def one_waits_for_the_lock() -> bool:
        return bool(rows(service.config.parent, "SELECT 1 FROM pg_locks WHERE NOT granted"))

    slow = SlowWriter(service, tenant)
    with ThreadPoolExecutor(FLOOD) as threads:
        try:
            flood = [threads.submit(write, number) for number in range(FLOOD)]
            wait_for(one_waits_for_the_lock, "a writer of the flood waits")
            other = f"other {tenant}"[:128]
            (added,) = service.add(other, note("The window faces north.", key="window"))
            service.wait_found(other, "Where does the window face?", added["note_id"])
            (waiting,) = rows(service.config.parent, "SELECT count(*) AS n FROM pg_locks WHERE NOT granted")
            assert waiting["n"] == 1
            assert not any(one.done() for one in flood)
        finally:
            slow.end()
        answers = [one.result() for one in flood]
    assert {answer.status_code for answer in answers} == {200}
    assert service.complaints() == []
