"""Collecting on a moved clock, and looking for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

from elf.db.garbage import GarbageCollector, GarbageStep
from elf.families.notes.keeping.lifecycle import LifecycleRules, NoteLifecycle
from elf.indexing.garbage import corpus_garbage
from tests.db.notes.conftest import House

RULES = LifecycleRules(purge_deleted_after_days=30, purge_deprecated_after_days=180)


def steps_of(house: House, rules: LifecycleRules = RULES) -> list[GarbageStep]:
    notes = NoteLifecycle(
        database=house.database, queries=house.queries, store=house.store, rules=rules, ring=house.ring
    )
    return [*notes.steps(), *corpus_garbage(house.database, house.corpus)]


def collector(house: House, *, rules: LifecycleRules = RULES, batch_size: int = 500) -> GarbageCollector:
    return GarbageCollector(house.database, steps_of(house, rules), clock=house.clock, batch_size=batch_size)


async def collect(house: House, **options: Any) -> dict[str, int]:
    """Collect, and return the counts that are not 0."""
    collected = await collector(house, **options).collect()
    assert collected.ran
    return {name: count for name, count in collected.counts.items() if count}


async def places_of(house: House, note_id: UUID) -> dict[str, int]:
    """Every column of every table that holds the note's id, with the number of its rows."""
    columns = await house.rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND column_name LIKE '%note_id' AND data_type = 'uuid' ORDER BY 1, 2"
    )
    found = {}
    for row in columns:
        table, column = row["table_name"], row["column_name"]
        count = await house.value(f"SELECT count(*) FROM {table} WHERE {column} = $1", note_id)
        if count:
            found[f"{table}.{column}"] = count
    return found


async def rows_saying(house: House, words: str) -> dict[str, int]:
    """Every table with rows that hold these words in any column, in any case, with the number of such rows."""
    tables = await house.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    found = {}
    for (table,) in tables:
        statement = f"SELECT count(*) FROM {table} AS t WHERE t::text ILIKE '%' || $1 || '%'"
        if count := await house.value(statement, words):
            found[table] = count
    return found


def assert_gapless(versions: Sequence[Any]) -> None:
    """Each version begins with what the one before it ended with, at a later moment."""
    assert versions[0]["prev_snapshot"] is None
    assert versions[0]["op"] == "ADD"
    for before, after in pairwise(versions):
        assert after["prev_snapshot"] == before["new_snapshot"]
        assert after["ts"] > before["ts"]


async def trace(house: House, *note_ids: UUID, days: int) -> None:
    """Store a trace with these results that is kept for some days."""
    trace_id, now = uuid4(), house.clock.now()
    await house.execute(
        "INSERT INTO search_traces VALUES ($1, 't', 'p', 'a', 'all', 'tea', 'off', '[]', '[]', 1, 1, '{}', 1, $2, $3)",
        trace_id, now, now + timedelta(days=days),
    )  # fmt: skip
    await house.execute(
        "INSERT INTO search_trace_items SELECT gen_random_uuid(), $1, note_id, NULL, rank, 0.5, 1, 0.5, 0.1, 0.6,"
        " '[]', '[]', '[]' FROM unnest($2::uuid[]) WITH ORDINALITY AS t (note_id, rank)",
        trace_id, list(note_ids),
    )  # fmt: skip
