"""The plans of hot queries: each uses its index, reads rows of its tenant alone, and no table from end to end; and a
page costs what is on it, however large the tree.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import asyncpg
import pytest

from actors.families import steps_on
from elf.db import migration
from elf.db.queries import Queries
from tests.conftest import VECTOR_DIM, dsn_of, run_sql
from tests.db.notes.test_query_plans import nodes_of_plan

pytestmark = pytest.mark.anyio

OF_TENANTS: Final = {
    "conversation_trees", "conversation_memberships", "conversations", "conversation_entries", "conversation_texts",
    "conversation_sessions",
}  # fmt: skip
BIG: Final = OF_TENANTS | {"conversations_chunks", "conversations_indexing_outbox"}
VERSION: Final = "fake:hash:8"

# 6,000 trees, half of them of one tenant; ana is a member of 2,000: she began half of these. A conversation each of
# three entries, but for one of 12,000 with 100 forks of 100; every third entry of it is memory. Few trees are deleted,
# few texts wait for the index, few entries have no text.
SEED = """
SELECT setseed(0.25);

CREATE FUNCTION tenant(i int) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN i % 2 = 0 THEN 'acme' ELSE 'tenant ' || i % 50 END $$;

INSERT INTO conversation_trees (tenant_id, tree_id, owner_user_id, creator, created_at, deleted_at)
SELECT tenant(i), md5('tree' || i)::uuid, o.name, o.name, now() - i * interval '1 minute',
  CASE WHEN i % 50 = 1 THEN now() - i * interval '1 hour' END
FROM generate_series(1, 6000) AS i
CROSS JOIN LATERAL (SELECT CASE WHEN i % 6 = 2 THEN 'ana' ELSE 'user ' || i % 97 END AS name) AS o;

INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
SELECT t.tenant_id, t.tree_id, t.owner_user_id, 'owner', true, t.created_at FROM conversation_trees AS t
UNION ALL
SELECT tenant(i), md5('tree' || i)::uuid, CASE WHEN i % 6 = 4 THEN 'ana' ELSE 'reader ' || i % 97 END, 'reader', false,
  now()
FROM generate_series(1, 6000) AS i;

INSERT INTO conversations (tenant_id, conversation_id, tree_id, title, last_seq, created_at, updated_at)
SELECT tenant(i), md5('root' || i)::uuid, md5('tree' || i)::uuid, 'title ' || i, 3, now(),
  now() - i * interval '1 minute'
FROM generate_series(1, 6000) AS i;

INSERT INTO conversations (
  tenant_id, conversation_id, tree_id, forked_at_conversation_id, ancestors, ancestor_ends, created_at, updated_at)
SELECT 'acme', md5('fork' || i)::uuid, md5('tree2')::uuid, md5('root2')::uuid, ARRAY[md5('root2')::uuid],
  ARRAY[100 * i], now(), now() - i * interval '1 second'
FROM generate_series(1, 100) AS i;

INSERT INTO conversation_entries (
  tenant_id, conversation_id, seq, entry_id, tree_id, user_id, client_id, channel, epoch, content_type, content,
  is_indexed, memory_count, memory_digest, memory_type, created_at)
SELECT s.tenant_id, s.conversation_id, s.seq, md5(s.conversation_id || ' ' || s.seq)::uuid, s.tree_id, 'ana',
  CASE WHEN is_memory THEN 'bot ' || s.seq % 2 END, CASE WHEN is_memory THEN 'memory' ELSE 'history' END,
  CASE WHEN is_memory THEN s.seq / 1000 END, 'history', '[{"role": "USER", "text": "hello"}]',
  NOT is_memory AND s.seq % 100 <> 1, CASE WHEN is_memory THEN 1 END, CASE WHEN is_memory THEN ''::bytea END,
  CASE WHEN is_memory THEN 'history' END, now() - (20000 - s.seq) * interval '1 second'
FROM (
  SELECT c.*, n AS seq, c.tree_id = md5('tree2')::uuid AND n % 3 = 0 AS is_memory FROM conversations AS c
  CROSS JOIN LATERAL generate_series(1, CASE WHEN c.conversation_id = md5('root2')::uuid THEN 12000
    WHEN c.tree_id = md5('tree2')::uuid THEN 100 ELSE 3 END) AS n
) AS s;

INSERT INTO conversation_texts (
  entry_id, tenant_id, tree_id, conversation_id, seq, creator, role, text, words, embedding_version, said_at,
  created_at, changed_at)
SELECT e.entry_id, e.tenant_id, e.tree_id, e.conversation_id, e.seq, t.creator, 'USER', 'seat',
  conversation_words('seat number ' || md5(e.entry_id::text)), 'fake:hash:8', e.created_at, now(), now()
FROM conversation_entries AS e JOIN conversation_trees AS t USING (tenant_id, tree_id) WHERE e.is_indexed;

INSERT INTO conversations_chunks (chunk_id, subject_id, chunk_index, start_offset, end_offset, text, embedding_version)
SELECT md5(x.entry_id || 'chunk')::uuid, x.entry_id, 0, 0, 4, x.text, 'fake:hash:8' FROM conversation_texts AS x;

INSERT INTO conversations_indexing_outbox (outbox_id, subject_id, op, embedding_version, status)
SELECT md5(x.entry_id || 'job')::uuid, x.entry_id, 'UPSERT', 'fake:hash:8',
  CASE WHEN random() < 0.01 THEN 'PENDING' ELSE 'DONE' END
FROM conversation_texts AS x;

INSERT INTO conversation_sessions (
  tenant_id, user_id, session_id, tree_id, conversation_id, data, revision, created_at, updated_at)
SELECT tenant(i), CASE WHEN i % 6 = 2 THEN 'ana' ELSE 'user ' || i % 97 END, 'session ' || i, md5('tree' || i)::uuid,
  md5('root' || i)::uuid, '{}', 'r', now(), now() - i * interval '1 minute'
FROM generate_series(1, 6000) AS i;

UPDATE conversation_entries SET session_key = 'key of ' || conversation_id WHERE seq = 1;

VACUUM ANALYZE;
"""
NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=100)
NOBODY = UUID(int=0)
LAST = UUID(int=2**128 - 1)
SOME = [UUID(int=number) for number in range(32)]
ONE = SOME[0]
PAGE: Final = 51
VIEW = (SOME[:6], [0] * 6, [10] * 5 + [None])
WORDS = ["seat", "c4ca42"]
ANA = ("acme", "ana")
REACH = (*ANA, None, False)
OPERATOR = ("acme", None, None, False)


def _of(*names: str) -> set[str]:
    return {f"idx_{name}" for name in names}


def _listed(mode: str, query: str | None = None) -> tuple[str, Sequence[Any], set[str]]:
    values = (*ANA, mode, NOW, LAST, query, 21)
    return "list_conversations", values, _of("conversation_memberships_user", "conversations_tree")


def _id(name: str) -> UUID:
    """Return the id of what is called so in SEED."""
    return UUID(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest())


LONG: Final = ([_id("root2")], [0], [None])
OF_A_FORK: Final = ([_id("root2"), _id("fork90")], [0, 0], [9000, None])

ENTRIES: Final = {"conversation_entries_pkey"}
MEMORY: Final = _of("conversation_entries_memory")
HISTORY: Final = _of("conversation_entries_history")

# Each with its arguments and indexes that it must use.
PLANS: Final[dict[str, tuple[str, Sequence[Any], set[str]]]] = {
    "a conversation": ("get_conversation", ("acme", ONE, "ana"), {"conversations_pkey"}),
    "which of some may be read": (
        "readable_conversations",
        ("acme", [_id(f"root{number}") for number in range(40)], "ana"),
        {"conversations_pkey"},
    ),
    "a conversation, locked": ("lock_conversation", ("acme", ONE, "ana"), {"conversations_pkey"}),
    "an entry, written": (
        "write_entry",
        (
            "acme", ONE, "ana", ["owner"], ONE, "ana", None, "history", None, "history", "[]", None, None, None,
            datetime.now(UTC), None, None, "USER", "words", "words", "v", None,
        ),
        {"conversations_pkey"},
    ),
    "a tree, locked": ("lock_tree", ("acme", ONE), {"conversations_pkey"}),
    "a level": ("level_of", ("acme", ONE, "ana"), set()),
    "forks": ("list_forks", ("acme", ONE, None, None), _of("conversations_tree")),
    "a page of forks": ("list_forks", ("acme", ONE, ONE, 201), _of("conversations_tree")),
    "a conversation of a tree": ("is_in_tree", ("acme", ONE, ONE), set()),
    "whether there is a transfer": ("transfer_exists", ("acme", ONE), set()),
    "the latest forks": _listed("latest-fork"),
    "all conversations": _listed("all"),
    "roots": _listed("roots"),
    "conversations of a name": _listed("latest-fork", "title"),
    "an entry": ("locate_entry", ("acme", ONE), {"conversation_entries_id"}),
    "an entry by its place": ("entry_at", ("acme", ONE, 3), set()),
    "the moment of an entry": ("moment_of_entry", ("acme", ONE, ONE, "bot 0"), {"conversation_entries_id"}),
    "the latest memory": ("latest_memory", ("acme", "bot 0", VIEW[0], VIEW[2]), MEMORY),
    "a view": ("list_view", ("acme", *VIEW, True, "bot 0", 3, 51), HISTORY | _of("conversation_entries_epochs")),
    "a view of all epochs": ("list_view", ("acme", *VIEW, True, "bot 0", None, 51), HISTORY | MEMORY),
    "a tree": ("list_tree_entries", ("acme", ONE, 51, True, "bot 0", None, LONG_AGO, ONE),
               _of("conversation_entries_tree")),
    "what has no text": ("list_unindexed", ("acme", LONG_AGO, ONE, 101), _of("conversation_entries_unindexed")),
    "entries to index": ("lock_entries", ("acme", SOME), {"conversation_entries_id"}),
    "trees shared with a user": ("trees_shared_with", ANA, _of("conversation_memberships_shared")),
    "passages": ("read_passages", (*REACH, SOME, VERSION, VERSION, 4000, 128, None, None),
                 {"conversations_chunks_pkey", "conversation_texts_pkey", "conversation_trees_pkey"}),
    "passages for an operator": ("read_passages", (*OPERATOR, SOME, VERSION, VERSION, 4000, 128, None, None),
                                 {"conversations_chunks_pkey", "conversation_texts_pkey"}),
    "beginnings": ("read_beginnings", ("acme", SOME), {"conversation_texts_pkey"}),
    "what was found": ("read_found", ("acme", SOME, True), {"conversation_entries_id", "conversations_pkey"}),
    "what waits": ("find_waiting", (*REACH, WORDS[1:], 16, None, None), _of("conversations_indexing_subject_status")),
    "rare words": ("find_by_words", (*ANA, WORDS, "&", True, 0, 21, None, None), _of("conversation_texts_words")),
    "rare words, for an operator": (
        "find_all_by_words", ("acme", None, WORDS, "&", True, 0, 21, False), _of("conversation_texts_words"),
    ),
    "a session": ("get_session", (*ANA, "session 2"), {"conversation_sessions_pkey"}),
    "a session, locked": ("lock_session", (*ANA, "session 2"), {"conversation_sessions_pkey"}),
    "sessions": ("list_sessions", (*ANA, datetime.now(UTC), "", 51), _of("conversation_sessions_newest")),
    "an entry by its key": ("find_session_key", (*ANA, f"key of {ONE}"), _of("conversation_entries_session_key")),
    "members": ("list_memberships", ("acme", ONE), set()),
    "what may be evicted, counted": (
        "count_evictable", ("tenant 1", LONG_AGO), _of("conversation_trees_tenant_deleted"),
    ),
    "what is evicted next": ("take_evictable", ("tenant 1", LONG_AGO), _of("conversation_trees_tenant_deleted")),
    "what is evicted next, of all tenants": (
        "take_evictable_of_all", (None, LONG_AGO), _of("conversation_trees_deleted"),
    ),
    "evicted entries": ("evict_entries", ("acme", ONE, 1000), _of("conversation_entries_tree") | ENTRIES),
    "evicted conversations": (
        "evict_conversations", ("acme", ONE, 1000), _of("conversations_tree") | {"conversations_pkey"},
    ),
    "an evicted tree": ("evict_tree", ("acme", ONE), {"conversation_trees_pkey"}),
}  # fmt: skip
OF_ALL_TENANTS: Final = {"what is evicted next, of all tenants"}


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "conversation_plans")
    asyncio.run(run_sql(postgres_dsn, "CREATE DATABASE conversation_plans"))
    asyncio.run(migration.apply(dsn, steps_on(), vector_dim=VECTOR_DIM))
    for statement in SEED.split(";\n\n"):
        asyncio.run(run_sql(dsn, statement))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE conversation_plans WITH (FORCE)"))


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_a_statement_uses_its_index_and_reads_no_table_whole(
    seeded_dsn: str, queries: Queries, name: str, kind: str
) -> None:
    statement, values, indexes = PLANS[name]
    nodes = [node async for node in nodes_of_plan(seeded_dsn, queries[statement], values, kind)]
    assert {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"} & BIG == set()
    if name not in OF_ALL_TENANTS:
        for node in nodes:
            if node.get("Relation Name") in OF_TENANTS and "Scan" in node["Node Type"]:
                assert "tenant_id" in _conditions(node), node
    assert indexes <= {node["Index Name"] for node in nodes if "Index Name" in node}


def _conditions(node: Mapping[str, Any]) -> str:
    own = "".join(str(node.get(name, "")) for name in ("Index Cond", "Recheck Cond", "Filter"))
    return own + "".join(_conditions(child) for child in node.get("Plans", []))


@pytest.mark.parametrize("beginning", [0, 6000, 11_990])
@pytest.mark.parametrize("epoch", [0, 6, 11, None])
async def test_a_page_of_a_view_reads_what_is_on_it(
    seeded_dsn: str, queries: Queries, beginning: int, epoch: int | None
) -> None:
    ids, _, ends = LONG
    view = ("acme", ids, [beginning], ends)
    read = await rows_read(seeded_dsn, queries["list_view"], *view, True, "bot 0", epoch, PAGE)
    assert 0 < read <= 2 * PAGE


async def test_a_page_of_a_fork_reads_a_page_of_each_range_at_most(seeded_dsn: str, queries: Queries) -> None:
    read = await rows_read(seeded_dsn, queries["list_view"], "acme", *OF_A_FORK, True, "bot 0", 8, PAGE)
    assert PAGE <= read <= 2 * 2 * PAGE


async def test_the_state_of_a_memory_is_one_row_of_each_range(seeded_dsn: str, queries: Queries) -> None:
    ids, _, ends = OF_A_FORK
    assert 0 < await rows_read(seeded_dsn, queries["latest_memory"], "acme", "bot 0", ids, ends) <= len(ids)


async def test_a_page_of_a_tree_reads_what_is_on_it(seeded_dsn: str, queries: Queries) -> None:
    where = ("acme", _id("tree2"), PAGE, True, None, None, LONG_AGO, NOBODY)
    assert PAGE <= await rows_read(seeded_dsn, queries["list_tree_entries"], *where) <= 3 * PAGE


async def test_a_step_of_an_eviction_reads_what_it_removes(seeded_dsn: str, queries: Queries) -> None:
    read = await rows_read(seeded_dsn, queries["evict_entries"], "acme", _id("tree2"), PAGE)
    assert PAGE <= read <= 4 * PAGE  # found, looked up, deleted


async def rows_read(dsn: str, statement: str, *values: Any) -> int:
    """Run a statement and return how many rows it reads of tables and indexes, those that it drops included."""
    connection = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        run = connection.transaction()  # what it writes is not kept
        await run.start()
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *values)
        await run.rollback()
    finally:
        await connection.close()
    return _read(json.loads(text)[0]["Plan"])


def _read(node: Mapping[str, Any]) -> int:
    own = 0
    if "Relation Name" in node:
        dropped = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        own = round((node["Actual Rows"] + dropped) * node["Actual Loops"])
    return own + sum(_read(child) for child in node.get("Plans", []))
