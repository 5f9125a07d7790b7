"""The plan of each hot query: its index is used, and no big table is read from end to end.

Plans are looked at twice, because Postgres plans a prepared statement first with its values and later without.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import pytest
from pgvector import Vector
from pgvector.asyncpg import register_vector

from elf.db.queries import Queries
from elf.indexing.worker import LEASE_BYTES
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.notes_kit import NOW, unit

pytestmark = pytest.mark.anyio

BIG = {
    "memory_notes", "memory_note_chunks", "note_chunk_tokens", "note_chunk_embeddings", "note_embeddings",
    "indexing_outbox",
    "memory_note_versions", "memory_ingest_decisions", "memory_hits", "search_trace_items",
}  # fmt: skip
VERSION = "fake:hash:384"
CUSTOM_PLANS = 5  # so many does Postgres make before it looks whether one without the values costs no more

# 6,000 notes, most of them in one project, of 3 agents with a scope each; two chunks a note; 12,000 jobs, few of them
# open.
SEED = """
SELECT setseed(0.25);

INSERT INTO memory_notes (
  note_id, tenant_id, project_id, agent_id, scope, type, key, text, importance, confidence, status, created_at,
  updated_at, expires_at, requested_ttl_days, embedding_version, source_ref)
SELECT md5('note' || i)::uuid, 'acme', 'project ' || CASE WHEN i % 4 < 3 THEN 5 ELSE i % 20 END, 'agent ' || i % 3,
  (ARRAY['agent_private', 'project_shared', 'org_shared'])[1 + i % 3],
  (ARRAY['fact', 'plan'])[1 + i / 60 % 2], CASE WHEN i % 2 = 0 THEN 'key ' || i END, 'Fact: number ' || i || '.',
  0.5, 0.9, CASE WHEN i % 10 = 0 THEN 'deleted' ELSE 'active' END, now(), now() - i * interval '1 minute',
  CASE WHEN i % 5 = 0 THEN now() + interval '90 days' END, NULL, 'fake:hash:384', '{}'
FROM generate_series(1, 6000) AS i;

INSERT INTO memory_note_chunks (chunk_id, note_id, chunk_index, start_offset, end_offset, text, embedding_version)
SELECT md5(note_id::text || place)::uuid, note_id, place, place * 5, place * 5 + 5, 'text', 'fake:hash:384'
FROM memory_notes, generate_series(0, 1) AS place;

INSERT INTO note_chunk_embeddings (chunk_id, embedding_version, embedding_dim, vec)
SELECT chunk_id, 'fake:hash:384', 384, array_fill(random(), ARRAY[384])::vector FROM memory_note_chunks;

INSERT INTO note_chunk_tokens (chunk_id, version, digest, tokens, vectors)
SELECT chunk_id, 'fake:hash:384', 'digest', 1, repeat('a', 388)::bytea FROM memory_note_chunks;

INSERT INTO note_embeddings (note_id, embedding_version, embedding_dim, vec)
SELECT note_id, 'fake:hash:384', 384, array_fill(random(), ARRAY[384])::vector FROM memory_notes;

INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status, available_at)
SELECT md5(note_id::text || round)::uuid, note_id, 'UPSERT', 'fake:hash:384',
  CASE WHEN random() < 0.01 THEN 'PENDING' ELSE 'DONE' END, now() - random() * interval '1 day'
FROM memory_notes, generate_series(0, 1) AS round;

INSERT INTO memory_note_versions (version_id, note_id, op, prev_snapshot, new_snapshot, reason, actor, ts)
SELECT gen_random_uuid(), note_id, 'UPDATE', '{}', '{"status": "active"}', 'seed', 'seed',
  now() - round * interval '1 hour'
FROM memory_notes, generate_series(0, 1) AS round;

INSERT INTO memory_note_versions (version_id, note_id, op, prev_snapshot, reason, actor, ts)
SELECT gen_random_uuid(), gen_random_uuid(), 'PURGE',
  jsonb_build_object('tenant_id', 'acme', 'project_id', 'project ' || i % 100, 'agent_id', 'agent 1'), 'seed', 'seed',
  now()
FROM generate_series(1, 2000) AS i;

INSERT INTO memory_ingest_decisions (
  tenant_id, project_id, agent_id, keyed, text_chars, note_id, op, reason, matched_note_id, policy, actor, ts)
SELECT 'tenant ' || round, project_id, agent_id, false, 17, CASE WHEN random() < 0.5 THEN note_id END, 'ADD', 'seed',
  CASE WHEN random() < 0.2 THEN md5(note_id::text)::uuid END, '{}', 'seed', now() - random() * interval '30 days'
FROM memory_notes, generate_series(0, 1) AS round;

INSERT INTO memory_hits (hit_id, note_id, query_hash, rank, final_score)
SELECT gen_random_uuid(), note_id, 'q', 1, 0.5 FROM memory_notes;

INSERT INTO search_traces
SELECT md5('trace')::uuid, 't', 'p', 'a', 'all', 'q', 'off', '[]', '[]', 1, 1, '{}', 1, now(), now();

INSERT INTO search_trace_items
SELECT gen_random_uuid(), md5('trace')::uuid, note_id, NULL, 1, 0.5, 1, 0.5, 0.1, 0.6, '[]', '[]', '[]'
FROM memory_notes;

INSERT INTO memory_note_sources (note_id, thread, source_ref, created_at)
SELECT note_id, 'r1', '{"thread": "r1"}', now() FROM memory_notes;

ANALYZE;
"""

GROUP = ("acme", "project 5", "agent 1", "project_shared", "fact")
ID_RANGE = (UUID("0b8ff2a0" + 24 * "0"), UUID("0b8ff2a0" + 24 * "f"))
SOME_NOTES = [UUID(int=number) for number in range(32)]
UNFILTERED = (None,) * 7
FILTERED = (
    ["fact"], "key 1", NOW - timedelta(days=1), NOW, NOW - timedelta(days=1), NOW, ['{"a": 1}', '{"b": 1}'],
)  # fmt: skip


class Plan(NamedTuple):
    """What a plan reads: the tables it scans whole, the indexes it uses, and how it enters them and chooses rows."""

    scanned: set[str]
    indexes: set[str]
    conditions: str
    filters: str


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "query_plans")
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE query_plans TEMPLATE {TEMPLATE}"))
    asyncio.run(run_sql(dsn, SEED))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE query_plans WITH (FORCE)"))


@pytest.fixture(params=["custom", "generic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def nodes_of_plan(
    dsn: str, statement: str, values: Sequence[Any], kind: str
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the nodes of the plan of a statement; of `kind` "kept" the one that Postgres keeps to in the end."""
    connection = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        await register_vector(connection)
        if kind == "kept":
            text = await _kept_plan(connection, statement, values)
        else:
            options = "FORMAT JSON, GENERIC_PLAN" if kind == "generic" else "FORMAT JSON"
            text = await connection.fetchval(f"EXPLAIN ({options}) {statement}", *values)
    finally:
        await connection.close()
    pending = [json.loads(text)[0]["Plan"]]
    while pending:
        node = pending.pop()
        pending += node.get("Plans", [])
        yield node


async def _kept_plan(connection: asyncpg.Connection, statement: str, values: Sequence[Any]) -> str:
    """Return the plan of a prepared statement that was executed so often that it may be one without the values.

    It is only where that costs no more. EXPLAIN counts as an execution, and takes no parameters of its own.
    """
    await connection.execute(f"PREPARE asked AS {statement}")
    types = await connection.fetchval("SELECT parameter_types::text[] FROM pg_prepared_statements")
    literals = [
        await connection.fetchval(f"SELECT quote_nullable($1::{type}::text)", value)
        for type, value in zip(types, values, strict=True)
    ]
    execute = f"EXECUTE asked({', '.join(literals)})" if literals else "EXECUTE asked"
    text = ""
    for _ in range(CUSTOM_PLANS + 1):
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {execute}")
    return text


async def explain(dsn: str, statement: str, values: Sequence[Any], kind: str) -> Plan:
    scanned: set[str] = set()
    indexes: set[str] = set()
    conditions: list[str] = []
    filters: list[str] = []
    async for node in nodes_of_plan(dsn, statement, values, kind):
        if node["Node Type"] == "Seq Scan":
            scanned.add(node["Relation Name"])
        filters.append(str(node.get("Filter")))
        if "Index Name" in node:
            indexes.add(node["Index Name"])
            conditions.append(str(node.get("Index Cond")))
    return Plan(scanned, indexes, " ".join(conditions), " ".join(filters))


HOT: dict[str, tuple[tuple[Any, ...], set[str]]] = {
    "lock_notes_by_key": (
        (*GROUP[:3], ["project_shared"] * 16, ["fact"] * 16, [f"key {number}" for number in range(16)]),
        {"idx_notes_active_key"},
    ),
    "nearest_in_group": (
        (*GROUP, VERSION, unit(1.0), NOW, SOME_NOTES[:2], 8),
        {"idx_notes_group", "note_embeddings_pkey"},
    ),
    "same_text_in_group": ((*GROUP, "Fact: number 25.", NOW, SOME_NOTES[:2]), {"idx_notes_group"}),
    "lock_note": ((SOME_NOTES[0],), {"memory_notes_pkey"}),
    "get_note": ((SOME_NOTES[0],), {"memory_notes_pkey"}),
    "list_notes": (
        ("acme", "project 5", ["project_shared", "org_shared"], None, "active", None,
         datetime.now(UTC) - timedelta(hours=1), SOME_NOTES[0], NOW, 51, 2**20, None, None, None, None),
        {"idx_notes_newest"},
    ),
    "read_candidates": (
        ([UUID(int=number) for number in range(60)], VERSION, *GROUP[:3], ["project_shared"], NOW, *UNFILTERED,
         VERSION, 4000, 128),
        {"memory_note_chunks_pkey", "memory_notes_pkey", "idx_note_chunks_note_index", "note_chunk_tokens_pkey"},
    ),
    "read_references": ((SOME_NOTES, [NOW] * len(SOME_NOTES)), {"memory_notes_pkey"}),
    "exact_search": (
        ("acme", "project 7", "agent 1", ["project_shared"], VERSION, NOW, [1, 2], [Vector(unit(1.0))] * 2, [1, 2],
         ["text", "words"], [60, 60], *UNFILTERED),
        {"note_chunk_embeddings_pkey"},
    ),
    "lease_fairly": (
        (32, timedelta(seconds=60), None, VERSION, LEASE_BYTES),
        {"idx_outbox_lane_due", "indexing_outbox_pkey", "memory_notes_pkey"},
    ),
    "renew_jobs": ((SOME_NOTES, [0] * 32, timedelta(seconds=60)), {"indexing_outbox_pkey"}),
    "finish_jobs": (
        (SOME_NOTES, SOME_NOTES, [NOW] * 32, [VERSION] * 32),
        {"indexing_outbox_pkey", "idx_outbox_note_op_status", "memory_notes_pkey"},
    ),
    "readdress_jobs": ((SOME_NOTES,), {"indexing_outbox_pkey", "memory_notes_pkey"}),
    "fail_jobs": ((SOME_NOTES, [1] * 32, [timedelta(seconds=1)] * 32, "error", None), {"indexing_outbox_pkey"}),
    "release_jobs": ((SOME_NOTES, [1] * 32), {"indexing_outbox_pkey"}),
    "read_for_indexing": (
        (SOME_NOTES, VERSION), {"memory_notes_pkey", "note_chunk_embeddings_pkey"},
    ),
    "keep_vectors": (
        (SOME_NOTES, [NOW] * 32, [VERSION] * 32, [1] * 32, SOME_NOTES, SOME_NOTES, [0] * 32, [0] * 32, [4] * 32,
         ["text"] * 32, [Vector(unit(1.0))] * 32, VERSION, 384, "1:8:0:words", [Vector(unit(1.0))] * 32),
        {"memory_notes_pkey", "idx_note_chunks_note_index"},
    ),
    "live_chunks": (
        (UUID(int=2**127), NOW, 500),
        {"memory_note_chunks_pkey", "memory_notes_pkey", "note_chunk_embeddings_pkey"},
    ),
    "lease_rebuild_page": (
        (UUID(int=2**127), 0, NOW, 500, timedelta(seconds=60)),
        {"idx_note_chunks_note_index", "memory_notes_pkey", "note_chunk_embeddings_pkey"},
    ),
    "lease_strays": (
        ([UUID(int=number) for number in range(2000)],) * 2 + (VERSION, NOW, timedelta(seconds=60)),
        {"memory_note_chunks_pkey", "memory_notes_pkey"},
    ),
    "end_leased": (
        (SOME_NOTES, SOME_NOTES, [NOW] * 32, [None] * 32, NOW, [VERSION] * 32, ["1:8:0:words"] * 32),
        {"indexing_outbox_pkey", "memory_note_chunks_pkey", "memory_notes_pkey"},
    ),
    "release_abandoned": ((10_000,), {"idx_outbox_version_due", "indexing_outbox_pkey"}),
    "unchanged_notes": ((SOME_NOTES, [NOW] * 32, NOW), {"memory_notes_pkey"}),
    "notes_by_id_range": ((*ID_RANGE, *GROUP[:3], 20, None), {"memory_notes_pkey"}),
    "versions_by_id_range": ((*ID_RANGE, *GROUP[:3], 20, None), {"memory_note_versions_pkey"}),
    "traces_by_id_range": ((*ID_RANGE, *GROUP[:3], 20, None, NOW), set()),
    "results_by_id_range": ((*ID_RANGE, *GROUP[:3], 20, None, NOW), {"search_trace_items_pkey"}),
    "texts_of_notes": ((SOME_NOTES, *GROUP[:3], NOW), {"memory_notes_pkey"}),
    "versions_of_open_jobs": ((), {"idx_outbox_lane_due"}),
    "count_waiting_jobs": ((VERSION, timedelta(seconds=10), 100), {"idx_outbox_lane_due"}),
    "adopt_jobs": ((VERSION, "other", 1000), {"idx_outbox_version_due", "indexing_outbox_pkey"}),
    "renewal_page": (
        (UUID(int=2**127), 200, VERSION, ["other"], NOW),
        {"memory_notes_pkey", "idx_note_chunks_note", "note_chunk_embeddings_pkey"},
    ),
    "enqueue_renewal": ((SOME_NOTES, VERSION), {"idx_outbox_note_op_status"}),
    "cuts_of_subjects": ((SOME_NOTES, VERSION), {"memory_notes_pkey", "idx_note_chunks_note_index"}),
    "mark_chunking": (
        (SOME_NOTES, [NOW] * 32, "1:8:0:words"), {"memory_notes_pkey", "idx_note_chunks_note"},
    ),
    "moving_subjects": ((SOME_NOTES, NOW), {"idx_outbox_note_op_status"}),
    "open_jobs": ((SOME_NOTES,), {"indexing_outbox_pkey"}),
    "lock_expired_notes": ((NOW, 500), {"idx_notes_expiring"}),
    "lock_long_deleted_notes": ((NOW, 500), {"idx_notes_retired"}),
    "lock_long_deprecated_notes": ((NOW, 500), {"idx_notes_retired"}),
    "purge_notes": (
        (SOME_NOTES, [NOW] * 32, ["{}"] * 32, [VERSION] * 32, "{}", "reason", "gc"),
        {"memory_notes_pkey", "idx_hits_note", "idx_search_trace_items_note", "idx_decisions_note",
         "idx_decisions_matched", "idx_note_versions_note"},
    ),
    "drop_done_jobs": ((NOW, 500), {"idx_outbox_status_available", "indexing_outbox_pkey"}),
    "drop_old_decisions": ((NOW, 500), {"idx_decisions_without_note", "memory_ingest_decisions_pkey"}),
    "drop_old_decisions_of_notes": (
        (NOW, 500), {"idx_decisions_of_notes_ts", "memory_ingest_decisions_pkey"},
    ),
    "drop_old_hits": ((NOW, 500), {"idx_hits_ts", "memory_hits_pkey"}),
    "drop_old_versions": (
        (NOW, UUID(int=2**127), NOW, 500, 20),
        {"idx_note_versions_note", "memory_notes_pkey", "memory_note_versions_pkey"},
    ),
    "oldest_version": ((SOME_NOTES[0],), {"idx_note_versions_note"}),
    "list_versions": ((SOME_NOTES[0], NOW, SOME_NOTES[0], 51, 2**20), {"idx_note_versions_note"}),
    "last_active_version": ((SOME_NOTES[0],), {"idx_note_versions_note"}),
    "get_version": ((SOME_NOTES[0], SOME_NOTES[0]), {"memory_note_versions_pkey"}),
    "list_repetitions": ((SOME_NOTES[0], 50), {"idx_decisions_dropped"}),
    "next_project": (("acme", "project 5"), set()),
    "lock_subject_notes": (
        ("acme", "project 5", "agent 1", NOW, SOME_NOTES[0], 500), {"idx_notes_newest", "memory_notes_pkey"},
    ),
    "erase_notes": (
        (SOME_NOTES, [VERSION] * 32),
        {"memory_notes_pkey", "idx_hits_note", "idx_search_trace_items_note", "idx_decisions_note",
         "idx_decisions_matched", "idx_note_versions_note"},
    ),
    "erase_purged_notes": (
        ("acme", "project 5", None, 500), {"idx_note_versions_purged", "idx_note_versions_note"},
    ),
    "erase_decisions": (
        ("tenant 1", "project 5", None, 0, 100), {"idx_decisions_newest", "memory_ingest_decisions_pkey"},
    ),
    "export_notes": (("acme", "project 5", None, NOW, SOME_NOTES[0], 500), {"idx_notes_newest"}),
    "export_versions": ((SOME_NOTES, SOME_NOTES[0], NOW, 500), {"idx_note_versions_note"}),
    "export_decisions": ((SOME_NOTES, 0, 500), {"idx_decisions_note"}),
    "export_note_sources": ((SOME_NOTES, SOME_NOTES[0], "", 500), {"memory_note_sources_pkey"}),
    "notes_of_others": (("acme", SOME_NOTES), {"memory_notes_pkey"}),
    "known_notes": ((SOME_NOTES,), {"memory_notes_pkey", "idx_note_versions_note"}),
    "take_in_versions": (
        ("acme", SOME_NOTES, SOME_NOTES, ["ADD"] * 32, ["{}"] * 32, ["{}"] * 32, ["r"] * 32, ["a"] * 32, [NOW] * 32),
        {"memory_notes_pkey"},
    ),
    "take_in_decisions": (
        ("acme", SOME_NOTES, [NOW] * 32, ["a"] * 32, [1] * 32, ["{}"] * 32, ["s"] * 32, ["fact"] * 32, [True] * 32,
         [9] * 32, ["ADD"] * 32, ["c"] * 32, ["r"] * 32, [0.5] * 32, SOME_NOTES, ["t"] * 32),
        {"memory_notes_pkey", "idx_decisions_note"},
    ),
    "take_in_note_sources": (
        ("acme", SOME_NOTES, ["t"] * 32, ["{}"] * 32, [NOW] * 32), {"memory_notes_pkey", "idx_note_versions_note"},
    ),
    "list_decisions": (("tenant 1", None, None, None, None, 2**62, 51, None), {"idx_decisions_newest"}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_query_uses_its_index_and_scans_no_big_table(
    seeded_dsn: str, queries: Queries, name: str, kind: str
) -> None:
    values, indexes = HOT[name]
    plan = await explain(seeded_dsn, queries[name], values, kind)
    assert not plan.scanned & BIG
    assert indexes <= plan.indexes


@pytest.mark.parametrize("name", ["read_candidates", "exact_search"])
async def test_a_filter_is_asked_of_the_notes_that_are_looked_up(
    seeded_dsn: str, queries: Queries, name: str, kind: str
) -> None:
    values, indexes = HOT[name]
    start = next(place for place in range(len(values)) if values[place:][: len(UNFILTERED)] == UNFILTERED)
    filtered = values[:start] + FILTERED + values[start + len(UNFILTERED) :]
    plan = await explain(seeded_dsn, queries[name], filtered, kind)
    assert not plan.scanned & BIG
    assert indexes <= plan.indexes
    if name == "exact_search":  # the other one says what a note fails, and lets it through
        for condition in ("type = ANY", "starts_with", "updated_at >=", "created_at <", "source_ref @>"):
            assert condition in plan.filters


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("list_notes", "updated_at"),
        ("drop_old_versions", "ROW(note_id, ts) >"),
        ("live_chunks", "chunk_id >"),
        ("lease_rebuild_page", "note_id, c"),
        ("renewal_page", "note_id >"),
        ("lease_fairly", "embedding_version = "),
        ("same_text_in_group", "md5("),
    ],
)
async def test_the_index_is_entered_at_the_place_looked_for(
    seeded_dsn: str, queries: Queries, name: str, column: str, kind: str
) -> None:
    plan = await explain(seeded_dsn, queries[name], HOT[name][0], kind)
    assert column in plan.conditions


async def test_a_sequential_scan_would_be_noticed(seeded_dsn: str) -> None:
    plan = await explain(seeded_dsn, "SELECT * FROM memory_notes WHERE source_ref = $1", ("{}",), "custom")
    assert plan.scanned == {"memory_notes"}
