"""A service is killed while it erases somebody: the next one goes on by itself, and ends it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import asyncpg
import pytest

from elf.client import Client, ElfError
from elf.client.retries import NO_RETRIES
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.planting import TENANT, Planted
from tests.system.service import RunningService, wait_for, write_config


@pytest.fixture
def service(model_folder: Path) -> Iterator[RunningService]:
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        yield service


async def _fetch(service: RunningService, query: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(planting.dsn_of(service))
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


def fetched(service: RunningService, query: str) -> list[asyncpg.Record]:
    """Return the rows of a query of what a service keeps."""
    return asyncio.run(_fetch(service, query))


async def until_some_is_erased(service: RunningService) -> None:
    query = "SELECT FROM memory_erasures WHERE erased ? 'notes'"
    await asyncio.to_thread(wait_for, lambda: fetched(service, query), "the notes are erased")


def texts_of(admin: Client, who: Planted) -> Counter[str]:
    """Count, by family, the lines of an export in which a user's word stands: jobs change what else they say."""
    lines = planting.exported(admin, user_id=who.user)
    return Counter(line["family"] for line in lines if who.word in json.dumps(line))


def test_an_erasure_that_is_killed_midway_ends_verified_after_the_restart(service: RunningService) -> None:
    gone, kept = planting.plant(service, rounds=3), planting.plant(service)

    # A lock on the last family's rows keeps the erasure from its end, so that it is killed midway.
    async def hold_up() -> None:
        connection = await asyncpg.connect(planting.dsn_of(service))
        await connection.execute("BEGIN")
        await connection.execute("SELECT FROM store_items WHERE user_id = $1 FOR UPDATE", gone.user)
        thread = Thread(target=erase)
        thread.start()
        await until_some_is_erased(service)
        service.kill()
        thread.join()
        await connection.close()

    def erase() -> None:
        try:
            with Client(service.admin_url, tenant_id=TENANT, timeout_s=60, retries=NO_RETRIES) as admin:
                admin.memories.erase(user_id=gone.user)
        except ElfError:
            return

    with Client(service.admin_url, tenant_id=TENANT) as admin:
        before = texts_of(admin, kept)
    asyncio.run(hold_up())
    assert planting.in_tables(planting.dsn_of(service), gone.needles) != {}
    service.start()
    (receipt_id,) = wait_for(
        lambda: [row["receipt_id"] for row in fetched(service, "SELECT receipt_id FROM memory_receipts")],
        "the erasure goes on by itself, and ends",
    )
    assert planting.in_tables(planting.dsn_of(service), gone.needles) == {}
    assert planting.in_graphs(service.config.parent / ".elf" / "graph", gone.needles) == []
    with Client(service.admin_url, tenant_id=TENANT, timeout_s=120) as admin:
        receipt = admin.memories.receipt(receipt_id, user_id=gone.user)
        proof = admin.memories.prove(receipt, user_id=gone.user, texts=[gone.word])
        assert (proof.proven, proof.found) == (True, [])
        assert receipt.erased["notes"]["notes"] == gone.counts["notes"]["notes"]
        assert texts_of(admin, kept) == before
