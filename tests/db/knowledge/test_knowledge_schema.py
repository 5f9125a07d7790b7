"""The tables of knowledge: their indexes and what they refuse. Each index begins with the tenant where one can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pytest

from elf.core.errors import InternalError
from elf.db.errors import UniqueViolation
from tests.db.knowledge.conftest import TENANT, KnowledgeHouse

pytestmark = pytest.mark.anyio

# The columns that the requirements name: type, whether null is refused, and default.
TIME, REAL, COUNT, ID = "timestamp with time zone", "double precision", "integer", "uuid"
Columns = Mapping[str, tuple[str, bool, str | None]]
OF_ALL: Columns = {
    "id": (ID, True, "gen_random_uuid()"),
    "tenant_id": ("text", True, None),
    "content": ("text", True, None),
    "embedding": ("vector(384)", False, None),
    "search_vector": ("tsvector", False, None),
    "reference_count": (COUNT, True, "0"),
    "created_at": (TIME, True, "now()"),
    "last_referenced_at": (TIME, False, None),
    "metadata": ("jsonb", True, "'{}'::jsonb"),
}
TO_EPISODES = (
    "(tenant_id, source_episode_id) REFERENCES knowledge_episodes(tenant_id, id)"
    " ON DELETE SET NULL (source_episode_id)"
)
OF_FACTS_AND_RULES: Columns = {
    **OF_ALL,
    "decay_rate": (REAL, True, "0.008"),
    "permanence": ("text", True, "'standard'::text"),
    "scope": ("text", True, "'global'::text"),
    "source_episode_id": (ID, False, None),
    "source_butler": ("text", False, None),
    "last_confirmed_at": (TIME, False, None),
    "tags": ("jsonb", True, "'[]'::jsonb"),
}


async def indexes(knowledge: KnowledgeHouse, table: str) -> list[str]:
    """Return what the indexes of a table are on, as Postgres writes it."""
    rows = await knowledge.rows("SELECT indexdef FROM pg_indexes WHERE tablename = $1", f"knowledge_{table}")
    return [row["indexdef"].partition(" USING ")[2] for row in rows]


async def test_required_postgresql_extensions(knowledge: KnowledgeHouse) -> None:
    rows = await knowledge.rows("SELECT extname, gen_random_uuid() AS id FROM pg_extension")
    assert {"vector", "pg_trgm"} <= {row["extname"] for row in rows}
    assert len({row["id"] for row in rows}) == len(rows)


async def test_episodes_table_indexes(knowledge: KnowledgeHouse) -> None:
    assert {
        "btree (tenant_id, butler, created_at DESC, id)",
        "btree (tenant_id, expires_at) WHERE (expires_at IS NOT NULL)",
        "btree (tenant_id, butler, created_at, id) WHERE ((consolidation_status)::text = 'pending'::text)",
        "gin (search_vector)",
        "hnsw (embedding vector_cosine_ops)",
    } <= {*await indexes(knowledge, "episodes")}


async def test_facts_table_indexes(knowledge: KnowledgeHouse) -> None:
    assert {
        "btree (tenant_id, scope, validity, created_at DESC, id) WHERE (validity = 'active'::text)",
        "btree (tenant_id, subject, predicate)",
        "gin (search_vector)",
        "gin (tags)",
        "hnsw (embedding vector_cosine_ops) WHERE (validity = 'active'::text)",
    } <= {*await indexes(knowledge, "facts")}


INSERT_FACT = (
    "INSERT INTO knowledge_facts (tenant_id, subject, predicate, content, scope, entity_id, validity)"
    " VALUES ($1, $2, $3, 'c', $4, $5, $6)"
)


async def test_entity_keyed_fact_uniqueness(knowledge: KnowledgeHouse) -> None:
    """A fact of an entity has its key by it, whatever its subject; one of none by its subject: both stand together."""
    (row,) = await knowledge.rows(
        "INSERT INTO knowledge_entities (tenant_id, canonical_name, entity_type) VALUES ($1, 'Ana', 'person')"
        " RETURNING id",
        TENANT,
    )
    entity = row["id"]

    async def insert(subject: str, of: Any = None, **changed: str) -> None:
        said = {"tenant_id": TENANT, "predicate": "seat", "scope": "global", "validity": "active"} | changed
        await knowledge.rows(
            INSERT_FACT, said["tenant_id"], subject, said["predicate"], said["scope"], of, said["validity"]
        )

    await insert("Ana", entity)
    await insert("Ana")
    with pytest.raises(UniqueViolation):
        await insert("Ana Lima", entity)
    with pytest.raises(UniqueViolation):
        await insert("Ana")
    for changed in ({"scope": "travel"}, {"predicate": "meal"}, {"validity": "superseded"}):
        await insert("Ana", entity, **changed)
        await insert("Ana", **changed)
    await insert("Ana", tenant_id="other")
    is_active = "AND (validity = 'active'::text))"
    user = "COALESCE(user_id, ''::text)"
    assert {
        f"btree (tenant_id, entity_id, scope, predicate, {user}) WHERE ((entity_id IS NOT NULL) {is_active}",
        f"btree (tenant_id, scope, subject, predicate, {user}) WHERE ((entity_id IS NULL) {is_active}",
    } <= {*await indexes(knowledge, "facts")}


async def test_memory_links_table(knowledge: KnowledgeHouse) -> None:
    assert sorted(await indexes(knowledge, "links")) == [
        "btree (tenant_id, source_type, source_id, target_type, target_id)",
        "btree (tenant_id, target_type, target_id)",
    ]
    insert = (
        "INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation)"
        " VALUES ($1, 'fact', $2, 'rule', $3, $4)"
    )
    for relation in ("derived_from", "supports", "contradicts", "supersedes", "related_to"):
        await knowledge.rows(insert, TENANT, uuid4(), uuid4(), relation)
    with pytest.raises(InternalError, match="knowledge_links_relation_known"):
        await knowledge.rows(insert, TENANT, uuid4(), uuid4(), "resembles")


async def test_entities_table_indexes_and_constraints(knowledge: KnowledgeHouse) -> None:
    assert {
        "btree (tenant_id, canonical_name, entity_type, COALESCE(user_id, ''::text))",
        "btree (tenant_id, canonical_name)",
        "gin (aliases)",
        "gin (metadata)",
    } <= {*await indexes(knowledge, "entities")}
    insert = (
        "INSERT INTO knowledge_entities (tenant_id, canonical_name, entity_type)"
        " VALUES ($1, 'Ana', $2) RETURNING id"
    )
    for entity_type in ("person", "organization", "place", "other"):
        (row,) = await knowledge.rows(insert, TENANT, entity_type)
    with pytest.raises(InternalError, match="knowledge_entities_type_known"):
        await knowledge.rows(insert, TENANT, "animal")
    await knowledge.rows(INSERT_FACT, TENANT, "Ana", "seat", "global", row["id"], "active")
    with pytest.raises(InternalError, match="knowledge_facts_entity"):
        await knowledge.rows("DELETE FROM knowledge_entities WHERE id = $1", row["id"])
    with pytest.raises(InternalError, match="knowledge_facts_entity"):
        await knowledge.rows(INSERT_FACT, "other", "Ana", "seat", "global", row["id"], "active")


async def test_memory_events_table(knowledge: KnowledgeHouse) -> None:
    rows = await knowledge.rows(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_name = 'knowledge_events'"
    )
    columns = {row["column_name"]: (row["data_type"], row["is_nullable"]) for row in rows}
    assert {
        "id": ("uuid", "NO"), "event_type": ("text", "NO"), "actor": ("text", "YES"), "tenant_id": ("text", "YES"),
        "payload": ("jsonb", "NO"), "created_at": ("timestamp with time zone", "NO"),
    }.items() <= columns.items()  # fmt: skip
    found = await indexes(knowledge, "events")
    assert "btree (event_type, created_at DESC)" in found
    assert "btree (tenant_id, created_at DESC, seq DESC)" in found


async def columns(knowledge: KnowledgeHouse, table: str) -> Columns:
    rows = await knowledge.rows(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull,"
        " pg_get_expr(d.adbin, d.adrelid) AS fallback"
        " FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
        " WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped",
        f"knowledge_{table}",
    )
    return {row["attname"]: (row["type"], row["attnotnull"], row["fallback"]) for row in rows}


async def references(knowledge: KnowledgeHouse, table: str) -> set[str]:
    rows = await knowledge.rows(
        "SELECT pg_get_constraintdef(c.oid) AS said FROM pg_constraint AS c"
        " WHERE c.conrelid = $1::text::regclass AND c.contype = 'f'",
        f"knowledge_{table}",
    )
    return {row["said"].removeprefix("FOREIGN KEY ") for row in rows}


async def test_episode_schema_and_defaults(knowledge: KnowledgeHouse) -> None:
    expected: Columns = {
        **OF_ALL,
        "butler": ("text", True, None),
        "session_id": (ID, False, None),
        "importance": (REAL, True, "5.0"),
        "consolidated": ("boolean", True, "false"),
        "consolidation_status": ("character varying(20)", True, "'pending'::character varying"),
        "retry_count": (COUNT, True, "0"),
        "last_error": ("text", False, None),
        "expires_at": (TIME, False, "(now() + '7 days'::interval)"),
    }
    assert expected.items() <= (await columns(knowledge, "episodes")).items()


async def test_fact_schema_and_defaults(knowledge: KnowledgeHouse) -> None:
    expected: Columns = {
        **OF_FACTS_AND_RULES,
        "subject": ("text", True, None),
        "predicate": ("text", True, None),
        "importance": (REAL, True, "5.0"),
        "confidence": (REAL, True, "1.0"),
        "supersedes_id": (ID, False, None),
        "entity_id": (ID, False, None),
        "validity": ("text", True, "'active'::text"),
    }
    assert expected.items() <= (await columns(knowledge, "facts")).items()
    assert await references(knowledge, "facts") == {
        TO_EPISODES,
        "(tenant_id, supersedes_id) REFERENCES knowledge_facts(tenant_id, id) ON DELETE SET NULL (supersedes_id)",
        "(tenant_id, entity_id) REFERENCES knowledge_entities(tenant_id, id) ON DELETE RESTRICT",
    }


async def test_rule_schema_and_defaults(knowledge: KnowledgeHouse) -> None:
    expected: Columns = {
        **OF_FACTS_AND_RULES,
        "maturity": ("text", True, "'candidate'::text"),
        "confidence": (REAL, True, "0.5"),
        "effectiveness_score": (REAL, True, "0.0"),
        "applied_count": (COUNT, True, "0"),
        "success_count": (COUNT, True, "0"),
        "harmful_count": (COUNT, True, "0"),
        "last_applied_at": (TIME, False, None),
        "last_evaluated_at": (TIME, False, None),
    }
    assert expected.items() <= (await columns(knowledge, "rules")).items()
    assert await references(knowledge, "rules") == {TO_EPISODES}


async def test_entity_schema(knowledge: KnowledgeHouse) -> None:
    expected: Columns = {
        "id": (ID, True, "gen_random_uuid()"),
        "tenant_id": ("text", True, None),
        "canonical_name": ("character varying", True, None),
        "entity_type": ("character varying", True, None),
        "aliases": ("text[]", True, "'{}'::text[]"),
        "metadata": ("jsonb", True, "'{}'::jsonb"),
        "created_at": (TIME, True, "now()"),
        "updated_at": (TIME, True, "now()"),
    }
    assert expected.items() <= (await columns(knowledge, "entities")).items()
