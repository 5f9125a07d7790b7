"""The plans of what reads and writes the store, among 20,000 values: rows of one user by an index, which is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

import pytest
from pgvector import Vector

from elf.families.store.kit import store_queries
from elf.families.store.rules.places import address_of, within
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.notes.test_query_plans import explain
from tests.notes_kit import NOW, unit

pytestmark = pytest.mark.anyio

NAME: Final = "store_plans"
VERSION: Final = "fake:hash:384"
# Twenty users with a thousand values each, in forty namespaces. Every tenth expires one day, and half have a vector.
SEED: Final = """
INSERT INTO store_items (
  tenant_id, user_id, address, revision, namespace, path, key, value, indexed, ttl, expires_at, created_at, updated_at)
SELECT 'acme', 'user ' || i % 20, sha256(('value ' || i)::bytea), md5('revision ' || i)::uuid,
  ARRAY['notes', 'n' || i % 40], 'notes.n' || i % 40 || '.', 'key ' || i, json_build_object('n', i), '["$"]',
  CASE WHEN i % 10 = 0 THEN interval '1 day' END,
  CASE WHEN i % 10 = 0 THEN now() + i * interval '1 minute' END, now(), now() - i * interval '1 second'
FROM generate_series(1, 20000) AS i;

INSERT INTO store_vectors (tenant_id, user_id, item_id, place, embedding_version, embedding)
SELECT tenant_id, user_id, item_id, 0, 'fake:hash:384', array_fill(random(), ARRAY[384])::vector
FROM store_items WHERE key LIKE '%0' OR key LIKE '%7' OR key LIKE '%4' OR key LIKE '%2' OR key LIKE '%5';

INSERT INTO store_outbox (tenant_id, user_id, revision, status, updated_at)
SELECT tenant_id, user_id, revision, CASE WHEN key LIKE '%00' THEN 'PENDING' ELSE 'DONE' END,
  now() - random() * interval '10 days'
FROM store_items;

VACUUM ANALYZE;
"""
PLACE: Final = ("acme", "user 7")
ADDRESSES: Final = [address_of(["notes", "n1"], f"key {number}") for number in range(10)]
IDS: Final = [UUID(int=number) for number in range(10)]
FOUND: Final = (*PLACE, NOW, *within(["notes", "n7"]))
A_VECTOR: Final = Vector(unit(1.0))
ADDRESS, ITEM, REVISION = "store_items_pkey", "uq_store_items_item", "uq_store_items_revision"
PATH, NEWEST = "idx_store_items_path", "idx_store_items_newest"
VECTOR, EXPIRY = "store_vectors_pkey", "idx_store_items_expiry"

# What each statement is given, and by which indexes it goes; of those that are named together by any.
PLANS: Final[Mapping[str, tuple[tuple[Any, ...], set[frozenset[str]]]]] = {
    name: (values, {frozenset([each] if isinstance(each, str) else each) for each in by})
    for name, values, by in (
        ("get_items", (*PLACE, NOW, ADDRESSES), [ADDRESS]),
        ("find_newest", (*FOUND, "[]", 10, 0), [(PATH, NEWEST)]),
        ("find_nearest", (*FOUND, "[]", 10, 0, A_VECTOR, VERSION), [(PATH, NEWEST), VECTOR]),
        ("load_items", (*PLACE, IDS), [ITEM]),
        ("refresh_items", (*PLACE, NOW, IDS), [ITEM]),
        ("list_namespaces", (*PLACE, NOW, "[]", 32, 100, 0), [(PATH, NEWEST, ADDRESS)]),
        ("delete_items", (*PLACE, ADDRESSES), [ADDRESS]),
        ("export_items", (*PLACE, NOW, "", b"", 100), [ADDRESS]),
        ("drop_vectors", (IDS,), [VECTOR]),
        ("read_revisions", (IDS,), [REVISION]),
        ("measure_revisions", (IDS,), [REVISION]),
        ("lock_revision", (IDS[0],), [REVISION]),
        ("drop_expired", (NOW, 500), [EXPIRY, ITEM]),
        ("drop_done_jobs", (NOW, 500), ["idx_store_outbox_done", "store_outbox_pkey"]),
    )
}


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, NAME)
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {NAME} TEMPLATE {TEMPLATE}"))
    for statement in SEED.split(";\n\n"):
        asyncio.run(run_sql(dsn, statement))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {NAME} WITH (FORCE)"))


@pytest.fixture(params=["custom", "kept"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", PLANS)
async def test_rows_are_found_by_an_index(seeded_dsn: str, name: str, kind: str) -> None:
    values, by = PLANS[name]
    plan = await explain(seeded_dsn, store_queries()[name], values, kind)
    assert not plan.scanned
    for either in by:
        assert plan.indexes & either, plan
