"""The plans of sweep, cleanup, marks and jobs: each uses its index, and reads no table from end to end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from pgvector import Vector

from elf.families.knowledge.kit import knowledge_queries
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.notes.test_query_plans import explain

pytestmark = pytest.mark.anyio

BIG = {"knowledge_episodes", "knowledge_facts", "knowledge_rules", "knowledge_outbox"}

# 6,000 memories of each kind, three quarters of them of one tenant; most jobs are done.
SEED = """
INSERT INTO knowledge_episodes (
  id, tenant_id, butler, content, consolidated, consolidation_status, created_at, expires_at)
SELECT md5('episode' || i)::uuid, CASE WHEN i % 4 < 3 THEN 'acme' ELSE 'tenant ' || i % 20 END, 'travel', 'content',
  i % 2 = 0, CASE WHEN i % 2 = 0 THEN 'consolidated' ELSE 'pending' END, now() - i * interval '1 minute',
  now() + (i - 100) * interval '1 minute'
FROM generate_series(1, 6000) AS i;

INSERT INTO knowledge_facts (
  id, tenant_id, subject, predicate, content, validity, decay_rate, last_confirmed_at, source_episode_id)
SELECT md5('fact' || i)::uuid, CASE WHEN i % 4 < 3 THEN 'acme' ELSE 'tenant ' || i % 20 END, 'subject ' || i, 'p', 'c',
  CASE WHEN i % 3 = 0 THEN 'superseded' ELSE 'active' END, 0.008, now() - i * interval '1 hour',
  md5('episode' || i)::uuid
FROM generate_series(1, 6000) AS i;

INSERT INTO knowledge_rules (id, tenant_id, content, decay_rate, last_confirmed_at)
SELECT md5('rule' || i)::uuid, CASE WHEN i % 4 < 3 THEN 'acme' ELSE 'tenant ' || i % 20 END, 'content', 0.01,
  now() - i * interval '1 hour'
FROM generate_series(1, 6000) AS i;

INSERT INTO knowledge_outbox (outbox_id, tenant_id, memory_type, memory_id, kind, status, updated_at)
SELECT md5('job' || i)::uuid, 'acme', 'fact', md5('fact' || i)::uuid, 'vector',
  CASE WHEN i % 100 = 0 THEN 'PENDING' ELSE 'DONE' END, now() - i * interval '1 minute'
FROM generate_series(1, 6000) AS i;

ANALYZE;
"""
NOW = datetime.now(UTC)
SOME = [UUID(int=number) for number in range(32)]
MIDDLE = UUID(int=2**127)
VECTOR = Vector(np.ones(384, np.float32))
TEXTS = ["text"] * 32

PLANS: dict[str, tuple[Sequence[Any], set[str]]] = {
    "decaying_tenants": ((), {"idx_knowledge_facts_decaying", "idx_knowledge_rules_decaying"}),
    "sweep_facts": (("acme", MIDDLE, 500, NOW, "worker", None), {"idx_knowledge_facts_decaying"}),
    "sweep_rules": (("acme", MIDDLE, 500, NOW, "worker", None), {"idx_knowledge_rules_decaying"}),
    "tenants_with_episodes": ((), set()),
    "delete_expired_episodes": (("acme", NOW, None, 500, "worker", None), {"idx_knowledge_episodes_expires"}),
    "delete_consolidated_episodes": (
        ("acme", NOW, None, 500, "worker", None, NOW - timedelta(hours=90), MIDDLE),
        {"idx_knowledge_episodes_consolidated"},
    ),
    "lock_fact": (("acme", ["user:ana", "ana", None], SOME[0]), set()),
    "lock_rule": (("acme", ["user:ana", "ana", None], SOME[0]), set()),
    "lock_episode": (("acme", ["user:ana", "ana", None], SOME[0]), set()),
    "mark_rule": (
        ("acme", SOME[0], NOW, 1, 0, 1, 0.1, "candidate", "harmful", None, "why", 64, "ana", True, True), set(),
    ),
    "read_jobs": ((SOME, "fake:hash:384", NOW), set()),
    "keep_memory_vectors": (
        ("fake:hash:384", ["fact"] * 32, ["acme"] * 32, SOME, TEXTS, [VECTOR] * 32), set(),
    ),
    "invert_rule": (("acme", SOME[0], "text", "text", VECTOR, "fake:hash:384"), set()),
    "find_known_ids": (("acme", SOME), set()),
    "drop_done_jobs": ((NOW - timedelta(days=1), 500), {"idx_knowledge_outbox_done", "knowledge_outbox_pkey"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "keeping_plans")
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE keeping_plans TEMPLATE {TEMPLATE}"))
    asyncio.run(run_sql(dsn, SEED))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE keeping_plans WITH (FORCE)"))


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_a_statement_of_keeping_uses_its_index_and_reads_no_table_whole(
    seeded_dsn: str, name: str, kind: str
) -> None:
    values, indexes = PLANS[name]
    plan = await explain(seeded_dsn, knowledge_queries()[name], values, kind)
    assert not plan.scanned & BIG
    assert indexes <= plan.indexes
