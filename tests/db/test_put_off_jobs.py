"""The contract of every outbox with jobs that are put off: however many there are, a lease does not look at them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from elf.db.database import Database
from elf.outbox.leased import LeasedOutbox
from tests.db.test_given_up_jobs import EVERY, Outbox, database, dsn, pool

__all__ = ["database", "dsn", "pool"]

pytestmark = pytest.mark.anyio

OWNERS: Final = 4_000
FLOOD: Final = 1_000
LIMIT: Final = 8


async def make(
    database: Database, outbox: Outbox, number: int, *, put_off: bool, tenant: str | None = None
) -> set[UUID]:
    """Make so many jobs, each of a tenant of its own unless one is named."""
    jobs = [(uuid4(), uuid4(), tenant or f"tenant {place}") for place in range(number)]
    ids = [job[0] for job in jobs]
    async with database.transaction() as connection:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.executemany(outbox.make, jobs)
        if "indexing" in outbox.table:  # its lane is a hash of the tenant
            lane = "hashtextextended(outbox_id::text, 0)" if tenant is None else "7"
            await connection.execute(
                f"UPDATE {outbox.table} SET lane = {lane} WHERE outbox_id = ANY ($1)", ids
            )
        if put_off:
            await connection.execute(
                f"UPDATE {outbox.table} SET status = 'FAILED', attempts = 1, available_at = now() + interval '1 h'"
                " WHERE outbox_id = ANY ($1)",
                ids,
            )
    return set(ids)


async def settle(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("VACUUM ANALYZE")


async def pages_of_a_lease(database: Database, outbox: Outbox) -> int:
    """Return how many pages a lease looks at."""
    queries = outbox.queries()
    lease = timedelta(seconds=60)
    if "lease_fairly" in queries:
        statement, values = queries["lease_fairly"], (LIMIT, lease, None, *outbox.terms)
    else:
        statement, values = queries["lease_jobs"], (LIMIT, lease, *outbox.terms)
    async with database.connection() as connection:
        await connection.execute("BEGIN")
        explained = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *values)
        await connection.execute("ROLLBACK")  # nothing is leased
    plan: dict[str, Any] = json.loads(explained)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def lease_all(database: Database, outbox: Outbox) -> set[UUID]:
    leased = LeasedOutbox(
        database, outbox.queries(), table=outbox.table, lease_seconds=60, terms=outbox.terms
    )
    found: set[UUID] = set()
    while jobs := await leased.lease(LIMIT):
        found |= {job.outbox_id for job in jobs}
    return found


@EVERY
async def test_what_is_put_off_is_not_looked_at(database: Database, outbox: Outbox) -> None:
    await make(database, outbox, OWNERS, put_off=True)
    await settle(database)
    assert await pages_of_a_lease(database, outbox) < 50


@EVERY
async def test_few_due_jobs_are_found_among_what_is_put_off(database: Database, outbox: Outbox) -> None:
    await make(database, outbox, OWNERS, put_off=True)
    due = await make(database, outbox, 20, put_off=False)
    await settle(database)
    assert await pages_of_a_lease(database, outbox) < 1_000
    assert await lease_all(database, outbox) == due


@EVERY
async def test_many_due_jobs_of_one_are_found_among_what_is_put_off(
    database: Database, outbox: Outbox
) -> None:
    await make(database, outbox, OWNERS, put_off=True)
    due = await make(database, outbox, FLOOD, put_off=False, tenant="the flood")
    due |= await make(database, outbox, 3, put_off=False)
    await settle(database)
    assert await pages_of_a_lease(database, outbox) < 2_500
    assert await lease_all(database, outbox) == due
