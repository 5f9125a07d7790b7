"""The plans of what recordings ask for many times a second: each finds its rows by an index."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import pytest

from elf.db.queries import Queries
from elf.families.conversations.recording.store import CHUNKS_AT_ONCE
from tests.conftest import run_sql
from tests.db.conversations.test_conversation_plans import rows_read
from tests.db.notes.test_query_plans import nodes_of_plan

pytestmark = pytest.mark.anyio

# 500 recordings of 40 tenants, of 100 chunks each.
SEED: Final = """
INSERT INTO conversation_recordings (tenant_id, recording_id, conversation_id, process_id)
SELECT 'tenant ' || i % 40, md5('recording' || i)::uuid, md5('conversation' || i)::uuid, md5('process')::uuid
FROM generate_series(1, 500) AS i;

INSERT INTO conversation_recording_chunks (tenant_id, recording_id, start, content)
SELECT r.tenant_id, r.recording_id, n * 20, convert_to(repeat('a', 20), 'UTF8')
FROM conversation_recordings AS r CROSS JOIN generate_series(0, 99) AS n;

ANALYZE conversation_recordings;
ANALYZE conversation_recording_chunks;
"""
SILENCE: Final = timedelta(seconds=15)
ME: Final = uuid4()


async def _one(dsn: str) -> tuple[str, UUID, UUID]:
    connection = await asyncpg.connect(dsn)
    try:
        row = await connection.fetchrow(
            "SELECT tenant_id, recording_id, conversation_id FROM conversation_recordings LIMIT 1"
        )
    finally:
        await connection.close()
    return row["tenant_id"], row["recording_id"], row["conversation_id"]


async def test_recordings_and_their_chunks_are_found_by_their_indexes(
    database_dsn: str, queries: Queries
) -> None:
    await run_sql(database_dsn, SEED)
    tenant, id, conversation = await _one(database_dsn)
    asked: dict[str, tuple[Any, ...]] = {
        "beat_recordings": ([tenant], [id]),
        "store_chunks": ([tenant], [id], [2000], [b"a"]),
        "read_followed": ([tenant], [id], [1500], CHUNKS_AT_ONCE, ME, SILENCE),
        "follow_recording": (tenant, conversation, ME, SILENCE),
        "cancel_recordings": (tenant, conversation, SILENCE),
        "any_recording": (tenant, [id], SILENCE),
        "check_recordings": (tenant, "ana", [conversation], SILENCE),
        "end_recording": (tenant, id, "success", 2000),
        "drop_recording": (tenant, id),
    }
    for name, values in asked.items():
        nodes = [node async for node in nodes_of_plan(database_dsn, queries[name], values, "custom")]
        whole = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
        assert whole == [], f"{name} reads {whole} from end to end"


@pytest.mark.parametrize(("known", "start", "new"), [(1980, 1980, 20), (1990, 1980, 20), (2000, None, 0)])
async def test_what_is_new_of_a_recording_is_read_without_what_is_known(
    database_dsn: str, queries: Queries, known: int, start: int | None, new: int
) -> None:
    await run_sql(database_dsn, SEED)
    tenant, id, _ = await _one(database_dsn)
    asked = ([tenant], [id], [known], CHUNKS_AT_ONCE, ME, SILENCE)
    connection = await asyncpg.connect(database_dsn)
    try:
        row = await connection.fetchrow(queries["read_followed"], *asked)
    finally:
        await connection.close()
    assert (row["start"], len(row["content"] or b"")) == (start, new)
    assert await rows_read(database_dsn, queries["read_followed"], *asked) <= 4
