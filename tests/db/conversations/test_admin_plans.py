"""The plans of what operators list and evict: each uses its index, and reads no table from end to end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from actors.families import steps_on
from elf.db import migration
from elf.db.queries import Queries
from tests.conftest import VECTOR_DIM, dsn_of, run_sql
from tests.db.notes.test_query_plans import explain

pytestmark = pytest.mark.anyio

BIG = {"conversation_trees", "conversations", "conversation_entries", "conversation_memberships"}

# 6,000 trees, one in eight of one tenant, of 50 owners, half of them deleted; each with a root, every fourth with a
# fork, and an entry of each channel.
SEED = """
INSERT INTO conversation_trees (tenant_id, tree_id, owner_user_id, creator, created_at, deleted_at)
SELECT CASE WHEN i % 16 < 2 THEN 'acme' ELSE 'tenant ' || i % 40 END, md5('tree' || i)::uuid, 'user ' || i % 50, 'ana',
  now() - i * interval '1 minute', CASE WHEN i % 2 = 0 THEN now() - i * interval '1 minute' END
FROM generate_series(1, 6000) AS i;

INSERT INTO conversations (tenant_id, conversation_id, tree_id, forked_at_conversation_id, created_at, updated_at)
SELECT tenant_id, tree_id, tree_id, NULL, created_at, created_at FROM conversation_trees;

INSERT INTO conversations (tenant_id, conversation_id, tree_id, forked_at_conversation_id, created_at, updated_at)
SELECT tenant_id, md5('fork' || tree_id)::uuid, tree_id, tree_id, created_at, created_at + interval '1 second'
FROM conversation_trees WHERE get_byte(uuid_send(tree_id), 0) % 4 = 0;

INSERT INTO conversation_entries (
  tenant_id, conversation_id, seq, entry_id, tree_id, client_id, channel, epoch, content_type, content, is_indexed,
  memory_count, memory_digest, created_at)
SELECT c.tenant_id, c.conversation_id, k.seq, gen_random_uuid(), c.tree_id, 'bot', k.channel, k.epoch, 'history', '[]',
  k.epoch IS NULL, k.epoch, ''::bytea, c.created_at
FROM conversations AS c CROSS JOIN (VALUES (1, 'history', NULL), (2, 'memory', 1)) AS k (seq, channel, epoch);

ANALYZE;
"""
NOW = datetime.now(UTC)
ID = UUID(int=2**127)
PAGE = (NOW - timedelta(hours=1), ID, 101)

PLANS: dict[str, tuple[Sequence[Any], set[str]]] = {
    "get_any_conversation": (("acme", ID), {"conversations_pkey", "conversation_trees_pkey"}),
    "lock_any_tree": (("acme", ID), {"conversations_pkey", "conversation_trees_pkey"}),
    "list_newest_conversations": (("acme", "latest-fork", *PAGE, False), {"idx_conversations_newest"}),
    "list_conversations_of_owner": (
        ("acme", "latest-fork", *PAGE, "user 7", True, True, None, None),
        {"idx_conversation_trees_owner", "idx_conversations_tree"},
    ),
    "list_deleted_conversations": (
        ("acme", "latest-fork", *PAGE, NOW - timedelta(days=4), NOW),
        {"idx_conversation_trees_tenant_deleted", "idx_conversations_tree"},
    ),
    "locate_any_entry": (("acme", ID), {"conversation_entries_id"}),
    "list_whole_view": (
        ("acme", [ID, UUID(int=1)], [0, 0], [7, None], None, 51), {"conversation_entries_pkey"},
    ),
    "list_whole_tree": (("acme", ID, 51, None, *PAGE[:2]), {"idx_conversation_entries_tree"}),
    "count_evictable": (("acme", NOW - timedelta(days=1)), {"idx_conversation_trees_tenant_deleted"}),
    "take_evictable": (("acme", NOW - timedelta(days=1)), {"idx_conversation_trees_tenant_deleted"}),
    "take_evictable_of_all": ((None, NOW - timedelta(days=1)), {"idx_conversation_trees_deleted"}),
    "begin_eviction": (("acme", ID), {"conversation_trees_pkey"}),
    "evict_entries": (("acme", ID, 1000), {"idx_conversation_entries_tree"}),
    "evict_conversations": (("acme", ID, 1000), {"idx_conversations_tree"}),
    "evict_tree": (("acme", ID), {"conversation_trees_pkey"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "admin_plans")
    asyncio.run(run_sql(postgres_dsn, "CREATE DATABASE admin_plans"))
    asyncio.run(migration.apply(dsn, steps_on(), vector_dim=VECTOR_DIM))
    asyncio.run(run_sql(dsn, SEED))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE admin_plans WITH (FORCE)"))


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_what_operators_ask_for_uses_its_index_and_reads_no_table_whole(
    seeded_dsn: str, queries: Queries, name: str, kind: str
) -> None:
    values, indexes = PLANS[name]
    plan = await explain(seeded_dsn, queries[name], values, kind)
    assert not plan.scanned & BIG
    assert indexes <= plan.indexes


@pytest.mark.parametrize("kind", ["custom", "generic"])
async def test_the_listing_of_all_enters_its_index_at_the_cursor(
    seeded_dsn: str, queries: Queries, kind: str
) -> None:
    plan = await explain(
        seeded_dsn, queries["list_newest_conversations"], PLANS["list_newest_conversations"][0], kind
    )
    assert "updated_at" in plan.conditions
