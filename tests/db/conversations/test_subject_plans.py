"""The plans of what erases and exports: each step reads what is the subject's, however much others have."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import pytest

from actors.families import steps_on
from elf.db import migration
from elf.db.queries import Queries
from tests.conftest import VECTOR_DIM, dsn_of, run_sql
from tests.db.conversations.test_conversation_plans import rows_read
from tests.db.notes.test_query_plans import explain

pytestmark = pytest.mark.anyio

BIG: Final = {
    "conversation_trees", "conversations", "conversation_entries", "conversation_memberships", "conversation_texts",
}  # fmt: skip

# 6,000 trees, three in four of one tenant, of 50 owners; a conversation each of 3 entries, but for one of 30,000, of
# which ana said 300, and her bot remembers 300. She said one in 100 others, is a member of 100, and began 100.
SEED = """
INSERT INTO conversation_trees (tenant_id, tree_id, owner_user_id, creator, created_at)
SELECT CASE WHEN i % 4 > 0 THEN 'acme' ELSE 'tenant ' || i % 40 END, md5('tree' || i)::uuid, 'user ' || i % 50,
  CASE WHEN i % 60 = 3 THEN 'ana' ELSE 'user ' || i % 50 END, now()
FROM generate_series(1, 6000) AS i;

INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
SELECT t.tenant_id, t.tree_id, t.owner_user_id, 'owner', t.owner_user_id = t.creator, now() FROM conversation_trees AS t
UNION ALL
SELECT t.tenant_id, t.tree_id, 'ana', 'writer', false, now() FROM conversation_trees AS t WHERE t.creator = 'ana';

INSERT INTO conversations (tenant_id, conversation_id, tree_id, titled_by, last_seq, created_at, updated_at)
SELECT t.tenant_id, t.tree_id, t.tree_id, t.creator, 3, now(), now() FROM conversation_trees AS t;

INSERT INTO conversation_entries (
  tenant_id, conversation_id, seq, entry_id, tree_id, user_id, client_id, channel, epoch, content_type, content,
  is_indexed, memory_count, memory_digest, created_at)
SELECT c.tenant_id, c.conversation_id, n, md5(c.conversation_id || ' ' || n)::uuid, c.tree_id,
  CASE WHEN is_hers THEN 'ana' ELSE 'user ' || n % 50 END, CASE WHEN is_memory THEN bot ELSE 'chat' END,
  CASE WHEN is_memory THEN 'memory' ELSE 'history' END, CASE WHEN is_memory THEN 1 END, 'history',
  '[{"role": "USER", "text": "hello"}]', NOT is_memory, CASE WHEN is_memory THEN 1 END,
  CASE WHEN is_memory THEN ''::bytea END, now()
FROM (
  SELECT c.*, n, CASE WHEN is_long THEN n % 100 = 7 ELSE c.titled_by = 'ana' AND n = 2 END AS is_hers,
    CASE WHEN is_long THEN n % 100 = 8 ELSE n = 3 END AS is_memory,
    CASE WHEN is_long THEN 'bot' ELSE 'helper' END AS bot
  FROM conversations AS c
  CROSS JOIN LATERAL (SELECT c.conversation_id = md5('tree1')::uuid AS is_long) AS s
  CROSS JOIN LATERAL generate_series(1, CASE WHEN s.is_long THEN 30000 ELSE 3 END) AS n
) AS c;

INSERT INTO conversation_texts (
  entry_id, tenant_id, tree_id, conversation_id, seq, creator, role, text, words, embedding_version, said_at,
  created_at, changed_at)
SELECT e.entry_id, e.tenant_id, e.tree_id, e.conversation_id, e.seq, t.creator, 'USER', 'seat', 'seat', 'v', now(),
  now(), now()
FROM conversation_entries AS e JOIN conversation_trees AS t USING (tenant_id, tree_id) WHERE e.is_indexed;

VACUUM ANALYZE;
"""
NOW = datetime.now(UTC)
NOBODY = UUID(int=0)
SOME = [UUID(int=number) for number in range(32)]
ONE = SOME[0]
ANA = ("acme", "ana")


def _id(name: str) -> UUID:
    return UUID(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest())


LONG: Final = _id("tree1")


def _of(*names: str) -> set[str]:
    return {f"idx_{name}" for name in names}


PLANS: dict[str, tuple[Sequence[Any], set[str]]] = {
    "known_entries": (("acme", SOME), {"conversation_entries_id", "conversation_texts_pkey"}),
    "lock_trees_of_tenant": (("acme", 100), {"conversation_trees_pkey"}),
    "lock_trees_of_owner": (("acme", 100, "user 7"), _of("conversation_trees_owner")),
    "hide_trees": (("acme", SOME), {"conversation_trees_pkey"}),
    "lock_whole_tree": (("acme", ONE), {"conversation_trees_pkey"}),
    "erase_recordings": (("acme", ONE), _of("conversations_tree")),
    "next_membership": ((*ANA, NOBODY), _of("conversation_memberships_user")),
    "next_begun_tree": ((*ANA, NOBODY), _of("conversation_trees_begun")),
    "unsign_texts": (("acme", ONE, "ana", 1000), _of("conversation_texts_tree")),
    "unsign_tree": (("acme", ONE), {"conversation_trees_pkey"}),
    "next_tree_of_user": ((*ANA, NOBODY), _of("conversation_entries_user")),
    "next_tree_of_client": (("acme", "bot", NOBODY), _of("conversation_entries_client")),
    "blank_entries_of_user": (("acme", LONG, "ana", 100), _of("conversation_entries_user")),
    "blank_entries_of_client": (("acme", LONG, "bot", 100), _of("conversation_entries_client")),
    "spoil_memories": (("acme", LONG, ["bot"]), set()),
    "erase_texts": (("acme", SOME), {"conversation_texts_pkey"}),
    "erase_previews": (("acme", SOME), {"conversations_pkey"}),
    "page_of_titles": ((*ANA, NOBODY, 1000), {"conversations_pkey"}),
    "erase_titles": ((*ANA, SOME), {"conversations_pkey"}),
    "export_trees": (("acme", None, NOBODY, 100), {"conversation_trees_pkey"}),
    "export_transfer": (("acme", ONE), set()),
    "export_conversations": (("acme", ONE, NOBODY, 100), set()),
    "export_entries": (("acme", LONG, 100, 30_000, 100), {"conversation_texts_pkey"}),
    "export_memberships": ((*ANA, NOBODY, 100), _of("conversation_memberships_user")),
    "export_entries_of_user": ((*ANA, LONG, NOBODY, 0, 100), _of("conversation_entries_user")),
    "export_entries_of_client": (("acme", "bot", LONG, NOBODY, 0, 100), _of("conversation_entries_client")),
}


@pytest.fixture(scope="module")
def subjects_dsn(postgres_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "subject_plans")
    asyncio.run(run_sql(postgres_dsn, "CREATE DATABASE subject_plans"))
    asyncio.run(migration.apply(dsn, steps_on(), vector_dim=VECTOR_DIM))
    for statement in SEED.split(";\n\n"):
        asyncio.run(run_sql(dsn, statement))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE subject_plans WITH (FORCE)"))


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_a_statement_uses_its_index_and_reads_no_table_whole(
    subjects_dsn: str, queries: Queries, name: str, kind: str
) -> None:
    values, indexes = PLANS[name]
    plan = await explain(subjects_dsn, queries[name], values, kind)
    assert plan.scanned & BIG == set()
    assert indexes <= plan.indexes


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("blank_entries_of_user", 400),
        ("blank_entries_of_client", 400),
        ("spoil_memories", 900),
        ("next_tree_of_user", 1),
        ("next_tree_of_client", 1),
        ("export_entries", 400),
        ("export_entries_of_user", 1300),
        ("export_entries_of_client", 1300),
    ],
)
async def test_a_step_reads_what_is_the_subject_s(
    subjects_dsn: str, queries: Queries, name: str, most: int
) -> None:
    """Of 100 entries some are read more than once: found, looked up, changed."""
    assert 0 < await rows_read(subjects_dsn, queries[name], *PLANS[name][0]) <= most
