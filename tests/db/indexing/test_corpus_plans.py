"""The plans of the statements of every corpus, over the tables that sql/indexing makes: none reads a table whole."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import run_sql
from tests.db.notes.test_query_plans import HOT, SOME_NOTES, VERSION, explain

from .conftest import TABLES, talks_database

pytestmark = pytest.mark.anyio

# 6,000 entries, two chunks each, and 12,000 jobs, few of them open.
SEED = f"""
SELECT setseed(0.25);

INSERT INTO talk_entries (entry_id, tenant_id, group_id, speaker, said, is_withdrawn, expires_at, embedding_version)
SELECT md5('entry' || i)::uuid, 'acme', 'g', 'anna', 'Number ' || i, i % 10 = 0,
  CASE WHEN i % 5 = 0 THEN now() + interval '90 days' END, '{VERSION}'
FROM generate_series(1, 6000) AS i;

INSERT INTO talks_chunks (chunk_id, subject_id, chunk_index, start_offset, end_offset, text, embedding_version)
SELECT md5(entry_id::text || place)::uuid, entry_id, place, place * 5, place * 5 + 5, 'text', '{VERSION}'
FROM talk_entries, generate_series(0, 1) AS place;

INSERT INTO talks_chunk_embeddings (chunk_id, embedding_version, embedding_dim, vec)
SELECT chunk_id, '{VERSION}', 384, array_fill(random(), ARRAY[384])::vector FROM talks_chunks;

INSERT INTO talks_indexing_outbox (outbox_id, subject_id, op, embedding_version, status, available_at)
SELECT md5(entry_id::text || round)::uuid, entry_id, 'UPSERT', '{VERSION}',
  CASE WHEN random() < 0.01 THEN 'PENDING' ELSE 'DONE' END, now() - random() * interval '1 day'
FROM talk_entries, generate_series(0, 1) AS round;

ANALYZE;
"""

BIG = {TABLES.rows, TABLES.chunks, TABLES.vectors, TABLES.outbox}
COMMON = {name: values for name, (values, _) in HOT.items() if name in TABLES.queries()}
VALUES: dict[str, tuple[Any, ...]] = COMMON | {
    "keep_vectors": COMMON["keep_vectors"][:-1],  # notes keep pooled vectors, too
    "enqueue_written": (SOME_NOTES, VERSION),
}


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    with talks_database(postgres_dsn, "corpus_plans") as dsn:
        asyncio.run(run_sql(dsn, SEED))
        yield dsn


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", VALUES)
async def test_no_statement_of_a_corpus_reads_a_table_whole(seeded_dsn: str, name: str, kind: str) -> None:
    plan = await explain(seeded_dsn, TABLES.queries()[name], VALUES[name], kind)
    assert not plan.scanned & BIG
