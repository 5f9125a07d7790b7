#!/usr/bin/env python3
"""What the row in the audit log adds to a read of the admin server.

    python -m ops.bench.audit [--rows 100000] [--pairs 21] [--reads 100]

One embedded Postgres, whose audit log has as many rows as a busy year, and one read of it: the newest call of a tenant.
Each pair of blocks asks for it with and without a row of its own, in turns of which comes first; the row names a tenant
and a user. Prints the median of both, the median of the differences of the pairs, the bounds between which 90 % of the
medians lie when the pairs are drawn again (bootstrap), and the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import httpx
import structlog

from actors.families import steps_on
from elf.audit.admin import audit_handlers
from elf.audit.log import AuditRows, Hasher
from elf.audit.operations import LIST_AUDIT
from elf.core.clock import SystemClock
from elf.db import migration
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from elf.db.queries import Queries, sql_folder
from elf.memory.erasing.signing import signer_of
from elf.web.app import create_app
from elf.web.readiness import Readiness
from ops.bench.identity import bounds
from tests.folders import fresh_folder

WARM_UP: Final = 50
QUERY: Final[Mapping[str, str]] = {"tenant_id": "tenant 7", "subject": "user 7", "limit": "1"}
SEEDED: Final = """
INSERT INTO audit_log (
  call_id, called_at, ended_at, request_id, operation, caller_user, caller_client, caller_role, tenant_id, subject,
  outcome, status, items)
SELECT gen_random_uuid(), now() - n * interval '5 minutes', now(), gen_random_uuid(), 'export_memory', 'boss',
  'operator', 3, 'tenant ' || n % 100, jsonb_build_object('user_id', 'user ' || n % 1000), 'done', 200, n % 50
FROM generate_series(1, $1::int) AS n
"""


structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


async def measure(rows: int, pairs: int, reads: int) -> None:
    with fresh_folder() as folder:
        server = EmbeddedServer(folder / "postgres")
        dsn = await server.start()
        database = Database(max_conns=4)
        try:
            await migration.apply(dsn, steps_on(), vector_dim=384)
            await database.open(dsn)
            async with database.connection() as connection:
                await connection.execute(SEEDED, rows, timeout=600.0)
                await connection.execute("ANALYZE audit_log")
                size = await connection.fetchval("SELECT pg_total_relation_size('audit_log')")
            print(f"{rows} rows, {size / rows:.0f} bytes a row with its indexes")
            await _measured(database, pairs, reads)
        finally:
            await database.close()
            await server.leave()


async def _measured(database: Database, pairs: int, reads: int) -> None:
    queries, clock = Queries.load(sql_folder() / "memories"), SystemClock()

    async def hasher() -> Hasher:
        return (await signer_of(database, queries, clock.now())).hash

    log = AuditRows(database, hasher, clock)
    without, with_row = (_client(log, is_audited=is_audited) for is_audited in (False, True))
    async with without, with_row:
        for client in (without, with_row):
            await _block(client, WARM_UP)
        blocks: list[tuple[float, float]] = []
        for number in range(pairs):
            if number % 2:
                before = await _block(without, reads)
                blocks.append((before, await _block(with_row, reads)))
            else:
                after = await _block(with_row, reads)
                blocks.append((await _block(without, reads), after))
    added = [after - before for before, after in blocks]
    low, high = bounds(added)
    before, after = (statistics.median(column) for column in zip(*blocks, strict=True))
    print(f"{pairs} pairs of {reads} reads: p50 {before:.2f} ms without a row, {after:.2f} ms with one")
    print(
        f"the row adds {statistics.median(added):.2f} ms ({low:.2f} to {high:.2f}); load {os.getloadavg()[0]:.1f}"
    )


def _client(log: AuditRows, *, is_audited: bool) -> httpx.AsyncClient:
    operation = replace(LIST_AUDIT, role=None, is_audited=is_audited)
    app = create_app(
        [operation], audit_handlers(log), readiness=lambda: Readiness(ready=True, parts=[]), audit_log=log
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://elf")


async def _block(client: httpx.AsyncClient, reads: int) -> float:
    """Return the median of some reads, in milliseconds."""
    took = []
    for _ in range(reads):
        began = time.perf_counter()
        (await client.get(LIST_AUDIT.path, params=QUERY)).raise_for_status()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (("rows", 100_000), ("pairs", 21), ("reads", 100)):
        parser.add_argument(f"--{name}", type=int, default=usual, help=f"(default {usual})")
    options = parser.parse_args()
    asyncio.run(measure(options.rows, options.pairs, options.reads))


if __name__ == "__main__":
    main()
