"""The plans of searches, listings, writers, entities and consolidation: each uses its index, reads rows of its tenant
alone, and no table from end to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np
import pytest
from pgvector import Vector

from actors.families import steps_on
from elf.db import migration
from elf.families.knowledge import model as m
from elf.families.knowledge.access import Reach
from elf.families.knowledge.kit import knowledge_queries
from elf.families.knowledge.reading.legs import Question, nearest_first
from tests.conftest import dsn_of, run_sql
from tests.db.notes.test_query_plans import nodes_of_plan

pytestmark = pytest.mark.anyio

BIG: Final = {
    f"knowledge_{name}"
    for name in ("episodes", "facts", "rules", "events", "links", "outbox", "entities", "rule_applications")
}
DIM: Final = 8  # plans do not depend on it, and an index of short vectors is made at once
VERSION: Final = "fake:hash:8"

# 3,000 of each, half of them of one tenant and the others of 25; few episodes wait, and few jobs are open.
SEED = """
SELECT setseed(0.25);

CREATE FUNCTION tenant(i int) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN i % 2 = 0 THEN 'acme' ELSE 'tenant ' || i % 50 END $$;
CREATE FUNCTION some_vector(i int) RETURNS vector LANGUAGE sql AS
$$ SELECT array_agg(random() + i * 0)::vector FROM generate_series(1, 8) $$;

INSERT INTO knowledge_entities (id, tenant_id, canonical_name, entity_type, names, searched, created_at)
SELECT md5('entity' || i)::uuid, tenant(i), 'Person ' || md5(i::text), 'person', ARRAY['person ' || md5(i::text)],
  'person ' || md5(i::text), now() - i * interval '1 minute'
FROM generate_series(1, 3000) AS i;

INSERT INTO knowledge_episodes (
  id, tenant_id, butler, session_id, content, embedding, embedding_version, search_vector, consolidated,
  consolidation_status, lease, leased_until, created_at, expires_at, idempotency_key, request_digest)
SELECT md5('episode' || i)::uuid, tenant(i), 'agent ' || i % 7, md5('session' || i / 10)::uuid, 'content',
  some_vector(i), 'fake:hash:8', to_tsvector('english', 'seat ' || md5(i::text)), i % 20 > 1,
  CASE i % 20 WHEN 0 THEN 'pending' WHEN 1 THEN 'dead_letter' ELSE 'consolidated' END,
  CASE WHEN i % 600 = 0 THEN md5('lease')::uuid END, CASE WHEN i % 600 = 0 THEN now() + interval '5 minutes' END,
  now() - i * interval '1 minute', now() + interval '7 days', 'key ' || i, 'digest'
FROM generate_series(1, 3000) AS i;

INSERT INTO knowledge_facts (
  id, tenant_id, subject, predicate, content, embedding, embedding_version, search_vector, validity, scope,
  last_confirmed_at, source_episode_id, supersedes_id, entity_id, created_at, tags, idempotency_key, request_digest)
SELECT md5('fact' || i)::uuid, tenant(i), 'subject ' || i / 8, 'p' || i, 'c', some_vector(i), 'fake:hash:8',
  to_tsvector('english', 'seat ' || md5(i::text)), CASE WHEN i % 5 = 0 THEN 'superseded' ELSE 'active' END,
  CASE WHEN i % 6 < 4 THEN 'global' ELSE 'agent ' || i % 7 END, now() - i * interval '1 hour',
  md5('episode' || i)::uuid, NULL, CASE WHEN i % 3 = 0 THEN md5('entity' || i)::uuid END,
  now() - i * interval '1 minute', jsonb_build_array('tag ' || i % 500), 'key ' || i, 'digest'
FROM generate_series(1, 3000) AS i;

UPDATE knowledge_facts SET supersedes_id = md5('fact' || 10)::uuid WHERE id = md5('fact' || 12)::uuid;

INSERT INTO knowledge_rules (
  id, tenant_id, content, embedding, embedding_version, search_vector, scope, last_confirmed_at, created_at, tags,
  idempotency_key, request_digest)
SELECT md5('rule' || i)::uuid, tenant(i), 'content', some_vector(i), 'fake:hash:8',
  to_tsvector('english', 'seat ' || md5(i::text)), CASE WHEN i % 6 < 4 THEN 'global' ELSE 'agent ' || i % 7 END,
  now() - i * interval '1 hour', now() - i * interval '1 minute', jsonb_build_array('tag ' || i % 500), 'key ' || i,
  'digest'
FROM generate_series(1, 3000) AS i;

INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation)
SELECT tenant(i), 'fact', md5('fact' || i)::uuid, 'episode', md5('episode' || i)::uuid, 'derived_from'
FROM generate_series(1, 3000) AS i;

INSERT INTO knowledge_events (event_type, actor, tenant_id, memory_type, memory_id, created_at)
SELECT 'fact_created', 'ana', tenant(i), 'fact', md5('fact' || i)::uuid, now() - i * interval '1 minute'
FROM generate_series(1, 3000) AS i;

INSERT INTO knowledge_rule_applications (tenant_id, rule_id, outcome)
SELECT tenant(i), md5('rule' || i)::uuid, 'helpful' FROM generate_series(1, 3000) AS i;

INSERT INTO knowledge_outbox (outbox_id, tenant_id, memory_type, memory_id, kind, status, available_at)
SELECT md5('job' || i)::uuid, tenant(i), 'fact', md5('fact' || i)::uuid, 'vector',
  CASE WHEN i % 100 = 0 THEN 'PENDING' ELSE 'DONE' END, now() - i * interval '1 minute'
FROM generate_series(1, 3000) AS i;

VACUUM ANALYZE;
"""
NOW = datetime.now(UTC)
THEN = NOW - timedelta(hours=20)
MIDDLE = UUID(int=2**127)
SOME = [UUID(int=number) for number in range(32)]
ONE = SOME[0]
OWN = "user:ana"
SEEN: Final = [OWN, "ana", None]
VECTOR = Vector(np.ones(DIM, np.float32))
TEXTS = [f"text {number}" for number in range(32)]


FIND: Final[dict[str, tuple[m.MemoryType, bool]]] = {
    f"{kind}s {'by the index' if by_index else 'exactly'}": (kind, by_index)
    for kind in m.MEMORY_TYPES
    for by_index in (False, True)
}


def _question(
    kind: m.MemoryType,
    tenant: str,
    *,
    vector: Vector | None = VECTOR,
    words: str = "seat",
    scope: str | None = None,
) -> Sequence[Any]:
    asked = Question(
        reach=Reach(tenant_id=tenant, own_scope=OWN, user="ana"), scope=scope, words=words, vector=vector,
        version=VERSION, limit=10, min_confidence=0.2, now=NOW,
    )  # fmt: skip
    return asked.arguments(kind)


def _page(*where: Any) -> Sequence[Any]:
    return ("acme", SEEN, THEN, MIDDLE, 51, *where)


def _of(*names: str) -> set[str]:
    return {f"idx_knowledge_{name}" for name in names}


# Each with its arguments and indexes that it must use.
PLANS: Final[dict[str, tuple[str, Sequence[Any], set[str]]]] = {
    "a bump": ("bump_references", ("acme", NOW, SOME, SOME), set()),
    "sizes": ("count_searched", ("tenant 1", 2001), set()),
    "contents": ("contents_of_memories", ("acme", SEEN, SOME), set()),
    "stats of a tenant": ("memory_stats", ("tenant 1", SEEN, None, NOW), set()),
    "an episode": ("get_episode", ("acme", SEEN, ONE, NOW), set()),
    "a fact": ("get_fact", ("acme", SEEN, ONE, NOW), set()),
    "a rule": ("get_rule", ("acme", SEEN, ONE, NOW), set()),
    "episodes": ("list_episodes", _page(None, None, None), _of("episodes_created")),
    "episodes of an agent": ("list_episodes", _page("agent 3", None, None), set()),
    "facts": ("list_facts", _page("active", None, None, None, None, None), _of("facts_created")),
    "facts of a subject": ("list_facts", _page("active", None, "subject 9", None, None, None), set()),
    "facts of an entity": ("list_facts", _page("active", None, None, None, ONE, None), set()),
    "facts of a tag": ("list_facts", _page("active", None, None, None, None, '["tag 3"]'), set()),
    "rules": ("list_rules", _page(None, None, False, None), _of("rules_created")),
    "events": ("list_events", ("acme", SEEN, THEN, 1000, 51, None, None, None), _of("events_tenant")),
    "events of a memory": ("events_of_memory", ("acme", SEEN, ONE, "fact", 100), _of("events_memory")),
    "a chain": ("supersession_chain", ("acme", SEEN, ONE, 100), set()),
    "links": ("links_of_memory", ("acme", SEEN, "fact", ONE, True, True, 100), _of("links_target")),
    "whether it is there": ("is_there", ("acme", SEEN, "fact", ONE), set()),
    "repeated episodes": ("find_repeated_episodes", ("acme", TEXTS), _of("episodes_idempotency")),
    "repeated facts": ("find_repeated_facts", ("acme", TEXTS), _of("facts_idempotency")),
    "repeated rules": ("find_repeated_rules", ("acme", TEXTS), _of("rules_idempotency")),
    "facts of subjects": ("lock_active_of_subject", ("acme", TEXTS, TEXTS, TEXTS, TEXTS), set()),
    "facts of entities by key": (
        "lock_active_of_entity", ("acme", [str(id) for id in SOME], TEXTS, TEXTS, TEXTS), _of("facts_entity_key"),
    ),
    "supersession": ("supersede_facts", ("acme", SOME), set()),
    "episodes to refer to": ("share_episodes", ("acme", SEEN, SOME), set()),
    "entities to refer to": ("share_entities", ("acme", SOME, SEEN), set()),
    "ends of links": ("find_ends", ("acme", SEEN, SOME), set()),
    "a link": ("read_link", ("acme", "fact", ONE, "rule", ONE), set()),
    "an entity": ("get_entity", ("acme", ONE, SEEN), set()),
    "locked entities": ("lock_entities", ("acme", SOME, SEEN), set()),
    "entities": ("list_entities", ("acme", THEN, MIDDLE, 51, None, False, SEEN), _of("entities_created")),
    "entities by name": ("named_entities", ("acme", "Ana Lima", None, "%Ana Lima%", 100, SEEN), _of("entities_names")),
    "what entities are known for": ("facts_of_entities", ("acme", SEEN, SOME, 500, 500), _of("facts_entity")),
    "conflicts": ("conflicting_facts", ("acme", ONE, SOME[1], SEEN), set()),
    "facts of an entity, counted": ("count_active_facts", ("acme", ONE, SEEN), set()),
    "facts of an entity, moved": ("move_facts", ("acme", ONE, SOME[1]), _of("facts_entity")),
    "what stays": ("note_what_stays", ("acme", SOME, SOME, NOW), set()),
    "shards of a tenant": ("pending_shards", ("acme", NOW, SEEN), set()),
    "a batch": ("next_batch", ("acme", "agent 3", None, NOW, 100), _of("episodes_waiting", "episodes_lease")),
    "leased": ("lease_episodes", ("acme", ONE, NOW, SOME), set()),
    "held": ("hold_leased", ("acme", ONE, [ONE]), set()),
    "shown facts": ("shown_facts", ("acme", "agent 3", "ana", 100), set()),
    "shown rules": ("shown_rules", ("acme", "agent 3", "ana", 50), set()),
    "what is updated": ("target_of_update", ("acme", ONE), set()),
    "confirmed": ("confirm_shown", ("acme", NOW, SOME), set()),
    "consolidated": ("end_consolidated", ("acme", SOME), set()),
    "failed": ("fail_leased", ("acme", ONE, "model", NOW, 5, 60.0, ONE), set()),
    "renewed": ("renew_lease", ("acme", ONE, NOW), _of("episodes_lease")),
    "released": ("release_leased", ("acme", ONE), _of("episodes_lease")),
    "requeued": ("requeue_episodes", ("acme", None), set()),
    "dead letters": ("list_dead_letters", ("acme", NOW, MIDDLE, 51), _of("episodes_dead")),
    "episodes as jobs": (
        "list_episode_jobs", (["GIVEN_UP"], NOW, MIDDLE, None, 51),
        _of("episodes_dead", "episodes_discarded", "episodes_waiting"),
    ),
    "jobs": ("lease_fairly", (100, timedelta(seconds=60), None), _of("outbox_lane_due")),
    "renewed jobs": ("renew_jobs", (SOME, [1] * 32, timedelta(seconds=60)), {"knowledge_outbox_pkey"}),
    "done jobs": ("finish_jobs", (SOME, [1] * 32), {"knowledge_outbox_pkey"}),
    "what memories rest on": (
        "standing_of_memories", ("acme", SEEN, ["fact"] * 32, SOME, SOME, ["message_id"], ["message"], "ana", NOW),
        _of("links_target"),
    ),
    "an episode to offer": ("offered_episode", ("acme", SEEN, ONE, NOW, OWN, "ana", None), set()),
    "a fact to offer": ("offered_fact", ("acme", SEEN, ONE, OWN), set()),
    "a rule to offer": ("offered_rule", ("acme", SEEN, ONE, OWN), set()),
    "erased": ("erase_memories", ("acme", SOME), _of("outbox_memory")),
    "blanked events": ("blank_events", ("acme", SOME), _of("events_memory")),
}  # fmt: skip
QUEUES: Final = {"episodes as jobs", "jobs", "renewed jobs", "done jobs"}


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, "reading_plans")
    asyncio.run(run_sql(postgres_dsn, "CREATE DATABASE reading_plans"))
    asyncio.run(migration.apply(dsn, steps_on(), vector_dim=DIM))
    for statement in SEED.split(";\n\n"):
        asyncio.run(run_sql(dsn, statement))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE reading_plans WITH (FORCE)"))


@pytest.fixture(params=["custom", "generic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def _indexes(
    dsn: str, statement: str, values: Sequence[Any], kind: str, *, tenants: bool = False
) -> set[str]:
    """Return the indexes that a plan uses: it scans no big table, and reads rows of one tenant unless it is of all."""
    nodes = [node async for node in nodes_of_plan(dsn, statement, values, kind)]
    assert {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"} & BIG == set()
    for node in nodes:
        if node.get("Relation Name") in BIG and "Scan" in node["Node Type"] and not tenants:
            assert "tenant_id" in _conditions(node), node
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def _conditions(node: Mapping[str, Any]) -> str:
    own = "".join(str(node.get(name, "")) for name in ("Index Cond", "Recheck Cond", "Filter"))
    return own + "".join(_conditions(child) for child in node.get("Plans", []))


@pytest.mark.parametrize("name", PLANS)
async def test_a_statement_uses_its_index_and_reads_no_table_whole(
    seeded_dsn: str, name: str, kind: str
) -> None:
    statement, values, indexes = PLANS[name]
    used = await _indexes(seeded_dsn, knowledge_queries()[statement], values, kind, tenants=name in QUEUES)
    assert indexes <= used


@pytest.mark.parametrize("name", FIND)
async def test_a_search_uses_its_indexes_and_reads_no_table_whole(
    seeded_dsn: str, name: str, kind: str
) -> None:
    of, by_index = FIND[name]
    statement = nearest_first(knowledge_queries(), of, by_index=by_index)
    tenant = "acme" if by_index else "tenant 1"
    used = await _indexes(seeded_dsn, statement, _question(of, tenant), kind)
    assert (f"idx_knowledge_{of}s_embedding" in used) is by_index
    await _indexes(seeded_dsn, statement, _question(of, tenant, scope="agent 3"), kind)


@pytest.mark.parametrize("of", m.MEMORY_TYPES)
async def test_rare_words_are_looked_up_by_their_index(seeded_dsn: str, of: m.MemoryType, kind: str) -> None:
    statement = nearest_first(knowledge_queries(), of, by_index=False)
    values = _question(of, "acme", vector=None, words="c4ca4238a0b923820dcc509a6f75849b")
    assert f"idx_knowledge_{of}s_words" in await _indexes(seeded_dsn, statement, values, kind)


async def test_names_that_are_alike_are_looked_up_by_their_index(seeded_dsn: str, kind: str) -> None:
    statement = knowledge_queries()["similar_entities"].replace("<trgm>", "public")
    used = await _indexes(
        seeded_dsn, statement, ("acme", "Ana Lima", None, 0.3, 20, SEEN, "%Ana Lima%"), kind
    )
    assert "idx_knowledge_entities_searched" in used
