"""The plans of what answers agents: filters are conditions of the scans, which read rows of one user by an index. What
is aging is found by an index, and the state of a graph, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np
import pytest
from pgvector import Vector

from elf.db import migration
from elf.db.queries import sql_folder
from elf.db.schema import schema_steps
from elf.families.assistant.kit import assistant_queries
from elf.families.assistant.model import FAMILY, Place
from elf.families.assistant.rules.filters import Filters
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.notes.test_query_plans import nodes_of_plan
from tests.notes_kit import NOW

pytestmark = pytest.mark.anyio

DIM: Final = 384
NAME: Final = "assistant_plans"
BIG: Final = {
    f"assistant_{name}"
    for name in ("memories", "vectors", "relations", "changes", "threads", "recalls", "recent", "runs")
} | {"saver_checkpoints", "saver_blobs", "saver_writes"}
# 6,000 memories of 60 users, in threads, each related to the next one of its user.
SEED: Final = """
INSERT INTO assistant_memories (
  tenant_id, user_id, memory_id, type, category, text, importance, source, created_at, updated_at)
SELECT 'acme', 'user ' || i % 60, md5('memory' || i)::uuid, 'semantic', 'category ' || i % 7, 'seat ' || md5(i::text),
  i % 5 + 1, 'manual', now() - i * interval '1 minute', now() - i * interval '1 minute'
FROM generate_series(1, 6000) AS i;

INSERT INTO assistant_vectors (tenant_id, user_id, memory_id, embedding_version, embedding)
SELECT m.tenant_id, m.user_id, m.memory_id, 'fake', array_fill(0.5, ARRAY[384])::vector FROM assistant_memories AS m;

INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, strength)
SELECT 'acme', 'user ' || i % 60, md5('memory' || i)::uuid, md5('memory' || i + 60)::uuid, 0.7
FROM generate_series(1, 5940) AS i;

INSERT INTO assistant_threads (tenant_id, user_id, thread_id, rev)
SELECT 'acme', 'user ' || i % 60, 'thread ' || i, 5 FROM generate_series(1, 3000) AS i;

INSERT INTO assistant_changes (tenant_id, user_id, thread_id, rev, memory_id, event, ts)
SELECT t.tenant_id, t.user_id, t.thread_id, r, md5('memory' || r)::uuid, 'created', now()
FROM assistant_threads AS t, generate_series(1, 5) AS r;

INSERT INTO assistant_recalls (tenant_id, user_id, thread_id, agent_id, seen_rev)
SELECT t.tenant_id, t.user_id, t.thread_id, 'planner', 3 FROM assistant_threads AS t;

INSERT INTO assistant_recent (tenant_id, user_id, thread_id, turn_id, role, content, said_at)
SELECT t.tenant_id, t.user_id, t.thread_id, 'turn ' || i, 'user', 'words', now()
FROM assistant_threads AS t, generate_series(1, 10) AS i;

INSERT INTO assistant_runs (tenant_id, user_id, kind, slot, begun_at)
SELECT 'acme', 'user ' || i % 3000, CASE WHEN i <= 3000 THEN 'insights' ELSE 'episode' END, now(), now()
FROM generate_series(1, 6000) AS i;

INSERT INTO saver_checkpoints (
  tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, checkpoint_type, checkpoint, metadata_type, metadata,
  facts, versions)
SELECT 'acme', 'user ' || i % 60, 'thread ' || i % 300, '', 'id ' || i, 'msgpack', '', 'msgpack', '', '{}',
  jsonb_build_object('messages', i::text)
FROM generate_series(1, 6000) AS i;

INSERT INTO saver_blobs (tenant_id, user_id, thread_id, checkpoint_ns, channel, version, type, data)
SELECT c.tenant_id, c.user_id, c.thread_id, '', 'messages', c.versions ->> 'messages', 'msgpack', 'state'
FROM saver_checkpoints AS c;

INSERT INTO saver_writes (
  tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, type, data)
SELECT c.tenant_id, c.user_id, c.thread_id, '', c.checkpoint_id, 'task', 0, '', 'messages', 'msgpack', 'write'
FROM saver_checkpoints AS c;

INSERT INTO assistant_outbox (tenant_id, user_id, kind, subject_id, status)
SELECT 'acme', 'user ' || i % 60, 'turn', gen_random_uuid(), CASE WHEN i <= 600 THEN 'PENDING' ELSE 'DONE' END
FROM generate_series(1, 6000) AS i;

VACUUM ANALYZE;
"""
PLACE: Final = Place("acme", "user 7")
CATEGORIES: Final = ["category 1", "category 2"]
FILTERS: Final = Filters(
    place=PLACE, categories=CATEGORIES, types=["semantic"], agent_id="a", run_id="r", actor_id="c", role="user",
    pinned=False, importance_min=1, importance_max=4, updated_after=NOW, updated_before=NOW,
).arguments  # fmt: skip
VECTOR: Final = Vector(np.ones(DIM, np.float32))
SOME: Final = [UUID(int=number) for number in range(8)]
FILTERED: Final = (
    "agent_id",
    "run_id",
    "actor_id",
    "role",
    "pinned",
    "importance",
    "updated_at",
    "category",
    "type",
)

PLANS: Final[Mapping[str, Sequence[Any]]] = {
    "find_candidates": (*FILTERS, [20, None], VECTOR, "fake", ["seat", "plan"], SOME, 50, 0.5),
    "find_whole": (*FILTERS, 1000),
    "find_related": (*FILTERS, SOME, SOME, 32),
    "categories_of": PLACE,
    "standing_of": (*PLACE, SOME, CATEGORIES),
    "see_thread": (*PLACE, "thread 7", NOW, "planner"),
    "changes_since": (*PLACE, "thread 7", 2),
    "count_recall": (*PLACE, "thread 7", "planner"),
    "keep_recent": (*PLACE, "thread 7", "turn 11", ["user"], ["words"], NOW, 10),
    "due_after_turn": (*PLACE, "thread 7", NOW, NOW, 3),
    "find_saver_checkpoints": (*PLACE, "thread 7", "", None, None, None, None, None, "{}", 10),
    "load_saver_checkpoints": (*PLACE, ["thread 7", "thread 67"], ["", ""], ["id 7", None], 1_000_000),
    "agents_of_saver_threads": (*PLACE, ["thread 7", "thread 67"]),
    "size_of_saver_checkpoint": (*PLACE, "thread 7", "", "id 7"),
    "count_hits": (["acme"] * 8, ["user 7"] * 8, SOME, [1] * 8, [NOW] * 8),
}


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, NAME)
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {NAME} TEMPLATE {TEMPLATE}"))
    asyncio.run(migration.apply(dsn, schema_steps([(FAMILY, sql_folder() / FAMILY)]), vector_dim=DIM))
    for statement in SEED.split(";\n\n"):
        asyncio.run(run_sql(dsn, statement))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {NAME} WITH (FORCE)"))


@pytest.fixture(params=["custom", "generic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def _scans(dsn: str, name: str, kind: str) -> list[Mapping[str, Any]]:
    statement = assistant_queries()[name]
    nodes = [node async for node in nodes_of_plan(dsn, statement, PLANS[name], kind)]
    return [node for node in nodes if node.get("Relation Name") in BIG and "Scan" in node["Node Type"]]


def _conditions(node: Mapping[str, Any]) -> str:
    own = "".join(str(node.get(name, "")) for name in ("Index Cond", "Recheck Cond", "Filter"))
    return own + "".join(_conditions(child) for child in node.get("Plans", []))


@pytest.mark.parametrize("name", PLANS)
async def test_a_statement_reads_rows_of_one_user_by_an_index(seeded_dsn: str, name: str, kind: str) -> None:
    scans = await _scans(seeded_dsn, name, kind)
    assert scans
    for scan in scans:
        assert scan["Node Type"] != "Seq Scan", scan
        assert "tenant_id" in _conditions(scan), scan
        assert "user_id" in _conditions(scan), scan


@pytest.mark.parametrize("name", ["find_candidates", "find_whole", "find_related"])
async def test_filters_are_conditions_of_the_scan(seeded_dsn: str, name: str, kind: str) -> None:
    scans = [
        scan for scan in await _scans(seeded_dsn, name, kind) if scan["Relation Name"] == "assistant_memories"
    ]
    filtering = [scan for scan in scans if all(field in _conditions(scan) for field in FILTERED)]
    assert len(filtering) == (2 if name == "find_candidates" else 1)
    by_id = [scan for scan in scans if scan not in filtering]
    assert all("memory_id" in _conditions(scan) for scan in by_id)


@pytest.mark.parametrize(("name", "index"), [("find_aged", "aged"), ("find_due_to_go", "purge")])
async def test_what_is_aging_is_found_by_its_index(seeded_dsn: str, name: str, index: str, kind: str) -> None:
    values = (NOW - timedelta(days=365), 500)
    nodes = [node async for node in nodes_of_plan(seeded_dsn, assistant_queries()[name], values, kind)]
    scans = [node for node in nodes if "Scan" in node["Node Type"]]
    assert {node.get("Index Name") for node in scans} - {None} == {f"idx_assistant_memories_{index}"}
    assert all(node["Node Type"] != "Seq Scan" for node in scans)


async def test_earlier_turns_of_a_user_are_found_by_their_index(seeded_dsn: str, kind: str) -> None:
    statement = assistant_queries()["lease_fairly"]
    nodes = [
        node async for node in nodes_of_plan(seeded_dsn, statement, (32, timedelta(seconds=60), None), kind)
    ]
    scans = [
        node
        for node in nodes
        if node.get("Relation Name") == "assistant_outbox" and "Scan" in node["Node Type"]
    ]
    assert all(node["Node Type"] != "Seq Scan" for node in scans)
    assert "idx_assistant_outbox_turns" in {node.get("Index Name") for node in nodes}
