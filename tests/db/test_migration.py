"""How a database gets from any schema it may have to the one of this code, and when it is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import asyncpg
import pytest
from structlog.testing import capture_logs

from actors.families import FAMILIES, steps_on
from elf.core.errors import StartupError
from elf.db import migration, patience
from elf.db.schema import Step, schema_steps
from tests.conftest import run_sql

pytestmark = pytest.mark.anyio

DIM = 8
WITHOUT_STEPS = Path(__file__).parents[1] / "data" / "schema_without_steps.sql"
STARTS = 10
SHIPPED = [str(step) for step in steps_on()]
COMMON_STEPS = [name for name in SHIPPED if name.startswith("common/")]
SLOW_STEP = (
    "CREATE TABLE IF NOT EXISTS seen (at timestamptz); INSERT INTO seen SELECT now() FROM pg_sleep(0.2);"
)

APPLY_ON_A_LINE = """
import asyncio, sys
from pathlib import Path
from elf.db import migration
from elf.db.schema import schema_steps

sys.stdin.readline()
steps = schema_steps([("words", Path(sys.argv[2]))])
asyncio.run(migration.apply(sys.argv[1], steps, vector_dim=8))
"""

# A note with a vector, its history, a trace of a search and a cached answer.
ROWS = """
INSERT INTO schema_state (fingerprint, vector_dim) VALUES ('that of the code before', 8);
INSERT INTO memory_notes (note_id, tenant_id, project_id, agent_id, scope, type, key, text, importance, confidence,
  status, created_at, updated_at, embedding_version, source_ref)
VALUES ('00000000-0000-0000-0000-000000000001', 't', 'p', 'a', 'agent_private', 'fact', 'k', 'Tea is green.', 0.5,
  0.5, 'active', now(), now(), 'fake:hash:8', '{}');
INSERT INTO memory_note_chunks (chunk_id, note_id, chunk_index, start_offset, end_offset, text, embedding_version)
SELECT gen_random_uuid(), note_id, 0, 0, 13, text, embedding_version FROM memory_notes;
INSERT INTO note_chunk_embeddings (chunk_id, embedding_version, embedding_dim, vec)
SELECT chunk_id, embedding_version, 8, '[1,0,0,0,0,0,0,0]' FROM memory_note_chunks;
INSERT INTO memory_note_versions (version_id, note_id, op, new_snapshot, reason, actor)
SELECT gen_random_uuid(), note_id, 'ADD', '{"text": "Tea is green."}', 'add_note', 'a' FROM memory_notes;
INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
SELECT gen_random_uuid(), note_id, 'UPSERT', embedding_version, 'PENDING' FROM memory_notes;
INSERT INTO search_traces (trace_id, tenant_id, project_id, agent_id, read_profile, query, expansion_mode,
  expanded_queries, allowed_scopes, candidate_count, top_k, config_snapshot, trace_version, created_at, expires_at)
VALUES (gen_random_uuid(), 't', 'p', 'a', 'private_only', 'tea', 'off', '[]', '[]', 1, 1, '{}', 1, now(), now());
INSERT INTO llm_cache (cache_id, cache_kind, cache_key, payload, created_at, last_accessed_at, expires_at)
VALUES (gen_random_uuid(), 'expansion', 'k', '{}', now(), now(), now());
"""


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """The folder of a family with one step."""
    folder = tmp_path / "words"
    folder.mkdir()
    write(folder, "001-tables", "CREATE TABLE IF NOT EXISTS words (word text, vec vector(<vector_dim>));\n")
    return folder


def write(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.sql").write_text(text, encoding="utf-8")


def with_words(folder: Path) -> tuple[Step, ...]:
    return schema_steps([*((family.name, family.sql_folder) for family in FAMILIES), ("words", folder)])


async def bring(dsn: str, steps: Sequence[Step]) -> list[list[str]]:
    """Bring a database to the steps and return which were applied, a list for each transaction."""
    with capture_logs() as told:
        await migration.apply(dsn, steps, vector_dim=DIM)
    return [line["steps"].split(", ") for line in told if line["event"] == "schema_applied"]


async def rows_of(dsn: str, query: str, *args: Any) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(query, *args)]
    finally:
        await connection.close()


async def recorded(dsn: str) -> list[str]:
    rows = await rows_of(dsn, "SELECT family || '/' || name FROM schema_steps ORDER BY applied_at, 1")
    return [name for (name,) in rows]


async def catalog_of(dsn: str) -> set[tuple[Any, ...]]:
    """Everything that DDL makes: relations with their options, columns, indexes, constraints, functions."""
    rows = await rows_of(
        dsn,
        "SELECT c.relname, c.relkind::text, c.reloptions::text, '', '' FROM pg_class AS c"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S') UNION ALL"
        " SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull || a.attstorage::text,"
        " pg_get_expr(d.adbin, d.adrelid) FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum"
        " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped UNION ALL"
        " SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public' UNION ALL"
        " SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '' FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace UNION ALL"
        " SELECT proname, pg_get_functiondef(p.oid), '', '', '' FROM pg_proc AS p JOIN pg_language AS l"
        " ON l.oid = p.prolang WHERE pronamespace = 'public'::regnamespace AND lanname = 'sql'",
    )
    return {row for row in rows if "schema_st" not in str(row)}


async def contents_of(dsn: str) -> dict[str, list[tuple[Any, ...]]]:
    tables = await rows_of(dsn, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return {name: await rows_of(dsn, f"SELECT t::text FROM {name} AS t") for (name,) in tables}


async def made_without_steps(dsn: str) -> None:
    """Make a database as code did that kept no record of steps."""
    script = WITHOUT_STEPS.read_text(encoding="utf-8").replace("<vector_dim>", str(DIM))
    await run_sql(dsn, script + ROWS)


async def test_each_step_is_applied_once_in_order_and_recorded_with_its_digest(
    empty_dsn: str, words: Path
) -> None:
    write(words, "002-length", "ALTER TABLE words ADD COLUMN IF NOT EXISTS length int;\n")
    steps = with_words(words)
    names = [*SHIPPED, "words/001-tables", "words/002-length"]
    assert await bring(empty_dsn, steps) == [[name] for name in names]
    assert await bring(empty_dsn, steps) == []
    assert await recorded(empty_dsn) == names
    digests = await rows_of(empty_dsn, "SELECT family, name, digest, breaks_older FROM schema_steps")
    assert set(digests) == {(step.family, step.name, step.digest, step.breaks_older) for step in steps}


async def test_a_database_without_a_record_of_steps_is_taken_over_as_it_is(empty_dsn: str) -> None:
    await made_without_steps(empty_dsn)
    schema, before = await catalog_of(empty_dsn), await contents_of(empty_dsn)
    first = [step for step in steps_on() if step.name == "001-tables" and step.family in ("common", "notes")]
    assert await bring(empty_dsn, first) == [["common/001-tables"], ["notes/001-tables"]]
    assert await catalog_of(empty_dsn) == schema
    after = await contents_of(empty_dsn)
    assert len(after.pop("schema_steps")) == 2
    assert after == before
    assert all(before[name] for name in ("memory_notes", "memory_note_versions", "search_traces"))


async def test_a_database_that_was_taken_over_is_like_a_new_one(empty_dsn: str, second_dsn: str) -> None:
    await made_without_steps(empty_dsn)
    await bring(empty_dsn, steps_on())
    await bring(second_dsn, steps_on())
    assert await catalog_of(empty_dsn) == await catalog_of(second_dsn)


async def test_code_that_knows_no_steps_still_finds_its_schema_in_a_database_taken_over(
    empty_dsn: str,
) -> None:
    await made_without_steps(empty_dsn)
    await bring(empty_dsn, steps_on())
    assert await rows_of(empty_dsn, "SELECT fingerprint FROM schema_state") == [("that of the code before",)]


async def test_a_family_turned_on_later_gets_its_steps_then_and_turned_off_it_keeps_its_tables(
    empty_dsn: str, words: Path
) -> None:
    await bring(empty_dsn, steps_on())
    assert await bring(empty_dsn, with_words(words)) == [["words/001-tables"]]
    assert await bring(empty_dsn, steps_on()) == []
    await run_sql(empty_dsn, "INSERT INTO words (word) VALUES ('tea')")


async def test_an_edited_step_is_refused_by_its_name_with_what_to_do(empty_dsn: str, words: Path) -> None:
    await bring(empty_dsn, with_words(words))
    write(words, "001-tables", "-- Better said.\nCREATE TABLE IF NOT EXISTS words (word text);\n")
    with pytest.raises(
        StartupError, match=r"words/001-tables is not the one that was applied.*new step with the"
    ):
        await bring(empty_dsn, with_words(words))
    assert await bring(empty_dsn, steps_on()) == []  # who does not have the family does not mind


async def test_the_length_of_vectors_is_not_part_of_a_digest_and_is_checked_by_itself(
    empty_dsn: str, words: Path
) -> None:
    await bring(empty_dsn, with_words(words))
    await run_sql(
        empty_dsn,
        "DROP TABLE note_embeddings, note_chunk_embeddings, knowledge_facts, knowledge_rules, knowledge_episodes,"
        " conversations_chunk_embeddings, assistant_signals, assistant_vectors, store_vectors CASCADE",
    )
    await run_sql(empty_dsn, "INSERT INTO words (vec) VALUES (array_fill(1, ARRAY[8])::vector)")
    with pytest.raises(StartupError, match=r"8 dimensions \(words\).*vector_dim is 16"):
        await migration.apply(empty_dsn, with_words(words), vector_dim=16)


DIMENSIONS = """
SELECT DISTINCT a.atttypmod FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r'
WHERE a.atttypid = to_regtype('vector') AND NOT a.attisdropped
"""
NEAREST = "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'"


async def test_a_database_without_a_vector_takes_any_dimension_and_one_with_a_vector_keeps_its_own(
    empty_dsn: str,
) -> None:
    steps = steps_on()
    await bring(empty_dsn, steps)
    before = await catalog_of(empty_dsn)
    await run_sql(
        empty_dsn,
        "INSERT INTO knowledge_facts (tenant_id, subject, predicate, content) VALUES ('t', 'Ana', 'home', 'Oslo')",
    )
    for dim in (16, 3000, 1024):
        await migration.apply(empty_dsn, steps, vector_dim=dim)
        assert await rows_of(empty_dsn, DIMENSIONS) == [(dim,)]
        ((indexes,),) = await rows_of(empty_dsn, NEAREST)
        assert (indexes > 0) == (dim <= 2000)
        await migration.apply(empty_dsn, steps, vector_dim=dim)
    assert await rows_of(empty_dsn, "SELECT content FROM knowledge_facts") == [("Oslo",)]
    await migration.apply(empty_dsn, steps, vector_dim=DIM)
    assert await catalog_of(empty_dsn) == before
    await run_sql(
        empty_dsn,
        f"UPDATE knowledge_facts SET embedding = array_fill(1, ARRAY[{DIM}])::vector, embedding_version = 'v'",
    )
    with pytest.raises(StartupError, match=rf"holds vectors of {DIM} dimensions"):
        await migration.apply(empty_dsn, steps, vector_dim=16)
    assert await catalog_of(empty_dsn) == before


async def test_a_newer_database_is_served_unless_a_step_of_it_breaks_older_code(
    empty_dsn: str, words: Path
) -> None:
    older = with_words(words)
    write(words, "002-length", "ALTER TABLE words ADD COLUMN IF NOT EXISTS length int;\n")
    await bring(empty_dsn, with_words(words))
    assert await bring(empty_dsn, older) == []
    write(words, "003-word", "-- breaks: older\nALTER TABLE words DROP COLUMN IF EXISTS word;\n")
    await bring(empty_dsn, with_words(words))
    with pytest.raises(
        StartupError, match=r"words/003-word.*install the newer version, or restore the backup"
    ):
        await bring(empty_dsn, older)
    assert await bring(empty_dsn, steps_on()) == []


async def test_what_is_lost_is_made_again_with_all_that_later_steps_changed_of_it(
    empty_dsn: str, words: Path
) -> None:
    write(words, "002-length", "ALTER TABLE words ADD COLUMN IF NOT EXISTS length int;\n")
    await bring(empty_dsn, with_words(words))
    before = await catalog_of(empty_dsn)
    await run_sql(empty_dsn, "DROP TABLE words")
    assert await bring(empty_dsn, with_words(words)) == [["words/001-tables", "words/002-length"]]
    assert await catalog_of(empty_dsn) == before


async def test_a_step_that_fails_leaves_nothing_of_itself_and_all_before_it(
    empty_dsn: str, words: Path
) -> None:
    write(
        words,
        "002-more",
        "CREATE TABLE IF NOT EXISTS more (id int);\nALTER TABLE nothing ADD COLUMN x int;\n",
    )
    with pytest.raises(StartupError, match=r"words/002-more failed:.*\"nothing\" does not exist"):
        await bring(empty_dsn, with_words(words))
    assert await recorded(empty_dsn) == [*SHIPPED, "words/001-tables"]
    assert await rows_of(empty_dsn, "SELECT to_regclass('more')") == [(None,)]
    write(words, "002-more", "CREATE TABLE IF NOT EXISTS more (id int);\n")
    assert await bring(empty_dsn, with_words(words)) == [["words/002-more"]]


async def test_a_step_whose_tables_are_not_found_afterwards_is_refused(empty_dsn: str, words: Path) -> None:
    await run_sql(empty_dsn, "CREATE SCHEMA aside")
    write(words, "002-more", "CREATE TABLE IF NOT EXISTS aside.more (id int);\n")
    with pytest.raises(StartupError, match="words/002-more did not make aside"):
        await bring(empty_dsn, with_words(words))


async def test_a_process_killed_in_the_middle_of_a_step_leaves_nothing_half_done(
    empty_dsn: str, words: Path
) -> None:
    write(words, "002-slow", "CREATE TABLE IF NOT EXISTS slow (id int);\nSELECT pg_sleep(600);\n")
    with start_applying(empty_dsn, words) as process:
        tell_to_start(process)
        with anyio.fail_after(60):
            while not await asleep(empty_dsn):  # noqa: ASYNC110 - another process cannot set an event here
                await anyio.sleep(0.01)
        process.kill()
    # The server only sees that its client is gone when it has something to say.
    await run_sql(
        empty_dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    )
    write(words, "002-slow", "CREATE TABLE IF NOT EXISTS slow (id int);\n")
    steps = schema_steps([("words", words)])
    assert await bring(empty_dsn, steps) == [["words/002-slow"]]
    assert await bring(empty_dsn, steps) == []


async def asleep(dsn: str) -> bool:
    name = urlsplit(dsn).path.removeprefix("/")
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'PgSleep'"
    return bool(await rows_of(dsn, query, name))


async def test_of_ten_processes_at_once_one_applies_a_step(empty_dsn: str, words: Path) -> None:
    write(words, "002-slow", SLOW_STEP)
    processes = [start_applying(empty_dsn, words) for _ in range(STARTS)]
    for process in processes:
        tell_to_start(process)
    assert [await anyio.to_thread.run_sync(end_of, process) for process in processes] == [0] * STARTS
    assert await rows_of(empty_dsn, "SELECT count(*) FROM seen") == [(1,)]
    assert await recorded(empty_dsn) == [*COMMON_STEPS, "words/001-tables", "words/002-slow"]


def start_applying(dsn: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", APPLY_ON_A_LINE, dsn, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def tell_to_start(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def end_of(process: subprocess.Popen[str]) -> int:
    with process:
        return process.wait()


async def test_a_step_that_waits_for_a_long_transaction_lets_others_pass_meanwhile(
    empty_dsn: str, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "LOCK_TIMEOUT_MS", 20)
    monkeypatch.setattr(migration, "RETRY_S", 0.01)
    monkeypatch.setattr(patience, "TELL_EVERY_S", 0.1)  # some tries later
    await bring(empty_dsn, with_words(words))
    write(words, "002-length", "ALTER TABLE words ADD COLUMN IF NOT EXISTS length int;\n")
    backup, reader = await asyncpg.connect(empty_dsn), await asyncpg.connect(empty_dsn)
    try:
        async with anyio.create_task_group() as tasks, backup.transaction():
            await backup.execute("LOCK TABLE words IN ACCESS SHARE MODE")
            tasks.start_soon(bring, empty_dsn, with_words(words))
            with anyio.fail_after(30):
                while not await waiting_for_words(reader):
                    pass
                assert await reader.fetchval("SELECT count(*) FROM words") == 0
        assert await reader.fetch("SELECT length FROM words") == []
    finally:
        await backup.close()
        await reader.close()


async def waiting_for_words(connection: Any) -> bool:
    query = "SELECT count(*) FROM pg_locks WHERE relation = 'words'::regclass AND NOT granted"
    return bool(await connection.fetchval(query))


async def test_a_user_who_may_only_read_and_write_starts_on_a_schema_that_is_there_and_changes_none(
    empty_dsn: str, words: Path, clerk: str
) -> None:
    await bring(empty_dsn, with_words(words))
    theirs = urlsplit(empty_dsn)
    dsn = theirs._replace(netloc=theirs.netloc.replace("elf@", f"{clerk}@")).geturl()
    with pytest.raises(StartupError, match="may not read which schema steps there are"):
        await bring(dsn, with_words(words))
    await run_sql(
        empty_dsn, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {clerk}"
    )
    assert await bring(dsn, with_words(words)) == []
    write(words, "002-length", "ALTER TABLE words ADD COLUMN IF NOT EXISTS length int;\n")
    with pytest.raises(
        StartupError, match=r"this user may not apply.*words/002-length.*as the owner of the tables"
    ):
        await bring(dsn, with_words(words))
    await run_sql(empty_dsn, f"DROP OWNED BY {clerk}")


@pytest.fixture
async def clerk(postgres_dsn: str) -> Any:
    """The name of a user who owns nothing."""
    name = f"clerk_{uuid4().hex}"
    await run_sql(postgres_dsn, f"CREATE ROLE {name} LOGIN")
    yield name
    await run_sql(postgres_dsn, f"DROP ROLE {name}")
