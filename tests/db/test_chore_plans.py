"""The plans of what leases, ends and plans runs of chores: each uses its index among many runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from elf.outbox.chores import chore_queries
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.notes.test_query_plans import explain

pytestmark = pytest.mark.anyio

# A year of a daily chore over 30 tenants, those of the last day not done yet.
SEED = """
INSERT INTO chore_runs (family, chore, subject, due_at, available_at, status)
SELECT 'toys', 'tidy', 'tenant ' || tenant, day, day,
  CASE WHEN day > now() - interval '1 day' THEN 'PENDING' ELSE 'DONE' END
FROM generate_series(1, 30) AS tenant, generate_series(now() - interval '365 days', now(), interval '1 day') AS day;
ANALYZE;
"""
SOME = [UUID(int=number) for number in range(32)]
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "chore_plans")
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE chore_plans TEMPLATE {TEMPLATE}"))
    asyncio.run(run_sql(dsn, SEED))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE chore_plans WITH (FORCE)"))


PLANS: dict[str, tuple[Sequence[Any], set[str]]] = {
    "plan_runs": (("toys", "tidy", ["tenant 1", "tenant 2"], NOW), set()),
    "lease_jobs": (
        (2, timedelta(seconds=60), ["toys"], ["tidy"]),
        {"idx_chore_runs_due", "chore_runs_pkey"},
    ),
    "renew_jobs": ((SOME, [1] * 32, timedelta(seconds=60)), {"chore_runs_pkey"}),
    "finish_jobs": ((SOME, [1] * 32), {"chore_runs_pkey"}),
    "fail_jobs": ((SOME, [1] * 32, [timedelta(seconds=1)] * 32, "error", None), {"chore_runs_pkey"}),
    "release_jobs": ((SOME, [1] * 32), {"chore_runs_pkey"}),
    "release_abandoned": ((10_000,), {"idx_chore_runs_due", "chore_runs_pkey"}),
    "read_run": ((SOME[0],), {"chore_runs_pkey"}),
    "drop_old_runs": (
        (NOW - timedelta(days=360), NOW - timedelta(days=400), 500),
        {"idx_chore_runs_status_available", "chore_runs_pkey"},
    ),
}


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_a_statement_of_chores_uses_its_index_and_does_not_read_all_runs(
    seeded_dsn: str, name: str, kind: str
) -> None:
    values, indexes = PLANS[name]
    plan = await explain(seeded_dsn, chore_queries()[name], values, kind)
    assert "chore_runs" not in plan.scanned
    assert indexes <= plan.indexes
