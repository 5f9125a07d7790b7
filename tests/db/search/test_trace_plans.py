"""The plans of reading and writing traces: each uses its index among many traces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from elf.db.queries import Queries
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.notes.test_query_plans import explain

pytestmark = pytest.mark.anyio

BIG = {"search_traces", "search_trace_items", "search_trace_outbox"}

# 6,000 traces of 3 agents, two items each; as many jobs, few of them open.
SEED = """
INSERT INTO search_traces (
  trace_id, tenant_id, project_id, agent_id, read_profile, query, expansion_mode, expanded_queries, allowed_scopes,
  candidate_count, top_k, config_snapshot, trace_version, created_at, expires_at)
SELECT md5('trace' || i)::uuid, 'acme', 'alpha', 'agent ' || i % 3, 'all', 'q', 'off', '[]', '[]', 60, 12, '{}', 1,
  now() - i * interval '1 minute', now() - i * interval '1 minute' + interval '7 days'
FROM generate_series(1, 6000) AS i;

INSERT INTO search_trace_items
SELECT md5(trace_id::text || rank)::uuid, trace_id, gen_random_uuid(), NULL, rank, 0.5, 1, 0.5, 0.1, 0.6, '[]', '[]',
  '[]'
FROM search_traces, generate_series(1, 2) AS rank;

INSERT INTO search_trace_outbox (outbox_id, trace_id, status, available_at, payload)
SELECT trace_id, trace_id, CASE WHEN expires_at - now() < interval '3 days 1 hour' THEN 'PENDING' ELSE 'DONE' END,
  created_at, '{}'
FROM search_traces;

ANALYZE;
"""

SOME = [UUID(int=number) for number in range(32)]
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "trace_plans")
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE trace_plans TEMPLATE {TEMPLATE}"))
    asyncio.run(run_sql(dsn, SEED))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE trace_plans WITH (FORCE)"))


PLANS: dict[str, tuple[Sequence[Any], set[str]]] = {
    "read_trace": ((SOME[0], NOW, "notes"), {"search_traces_pkey"}),
    "read_trace_of_item": ((SOME[0], NOW, "notes"), {"search_trace_items_pkey", "search_traces_pkey"}),
    "read_trace_items": ((SOME[0],), {"idx_search_trace_items_trace"}),
    "list_traces": (
        ("acme", "alpha", "agent 1", NOW - timedelta(hours=1), SOME[0], NOW, 51, "notes", None),
        {"idx_search_traces_newest", "idx_search_trace_items_trace"},
    ),
    "write_traces": ((SOME,), {"search_trace_outbox_pkey"}),
    "lease_jobs": ((64, timedelta(seconds=10)), {"idx_trace_outbox_due", "search_trace_outbox_pkey"}),
    "fail_jobs": ((SOME, [1] * 32, [timedelta(seconds=1)] * 32, "error", 12), {"search_trace_outbox_pkey"}),
    "renew_jobs": ((SOME, [1] * 32, timedelta(seconds=60)), {"search_trace_outbox_pkey"}),
    "finish_jobs": ((SOME, [1] * 32), {"search_trace_outbox_pkey"}),
    "release_abandoned": ((10_000,), {"idx_trace_outbox_due", "search_trace_outbox_pkey"}),
    "drop_done_trace_jobs": ((NOW, 500), {"idx_trace_outbox_status_available", "search_trace_outbox_pkey"}),
    "release_jobs": ((SOME, [1] * 32), {"search_trace_outbox_pkey"}),
}


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_a_hot_query_uses_its_index_and_scans_no_big_table(
    seeded_dsn: str, queries: Queries, name: str, kind: str
) -> None:
    values, indexes = PLANS[name]
    plan = await explain(seeded_dsn, queries[name], values, kind)
    assert not plan.scanned & BIG
    assert indexes <= plan.indexes


@pytest.mark.parametrize("kind", ["custom", "generic"])
async def test_a_listing_enters_its_index_at_the_cursor(seeded_dsn: str, queries: Queries, kind: str) -> None:
    plan = await explain(seeded_dsn, queries["list_traces"], PLANS["list_traces"][0], kind)
    assert "created_at" in plan.conditions
