"""The schema: what the requirements name is there, made once by any number of processes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import asyncpg
import pytest
from blake3 import blake3
from structlog.testing import capture_logs

from actors.families import steps_on
from elf.core.errors import DatabaseUnavailable, StartupError
from elf.db import migration, patience, schema
from elf.db.database import Database
from elf.db.queries import sql_folder
from tests.conftest import VECTOR_DIM, run_sql
from tests.db.spec_tables import INDEXES, TABLES

pytestmark = pytest.mark.anyio


async def test_every_column_of_the_requirements_is_there_with_its_type(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT c.relname AS table_name, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,"
            " a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS default_value"
            " FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid"
            " LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
            " WHERE c.relname = ANY ($1::text[]) AND a.attnum > 0",
            list(TABLES),
        )
    found: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for row in rows:
        found[row["table_name"]][row["name"]] = (row["type"], row["required"], row["default_value"])
    for table, columns in TABLES.items():
        expected = {
            name: (kind.replace("<vector_dim>", str(VECTOR_DIM)), *rest)
            for name, (kind, *rest) in columns.items()
        }
        assert {name: found[table].get(name) for name in columns} == expected, table


async def test_every_index_of_the_requirements_is_there(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT indexname, tablename, split_part(indexdef, ' USING btree ', 2) AS definition FROM pg_indexes"
        )
    found = {(row["indexname"], row["tablename"], row["definition"]) for row in rows}
    assert set(INDEXES) - found == set()


async def test_only_one_active_note_may_hold_a_key(database: Database) -> None:
    async with database.connection() as connection:
        definition = await connection.fetchval(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'idx_notes_active_key'"
        )
    assert definition.startswith("CREATE UNIQUE INDEX")
    assert "status = 'active'" in definition


async def test_applying_it_again_changes_nothing(empty_dsn: str) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    before = await _fingerprint_of_catalog(empty_dsn)
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    assert await _fingerprint_of_catalog(empty_dsn) == before


async def test_running_the_script_itself_twice_changes_nothing(empty_dsn: str) -> None:
    script = schema.render(sql_folder() / "init.sql", vector_dim=8)
    await run_sql(empty_dsn, script)
    before = await _fingerprint_of_catalog(empty_dsn)
    await run_sql(empty_dsn, script)
    assert await _fingerprint_of_catalog(empty_dsn) == before


async def test_a_lost_index_is_made_again(empty_dsn: str) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    before = await _fingerprint_of_catalog(empty_dsn)
    await run_sql(empty_dsn, "DROP INDEX idx_outbox_version_due")
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    assert await _fingerprint_of_catalog(empty_dsn) == before


async def test_a_database_from_before_dropped_words_were_kept_gets_their_column(empty_dsn: str) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    whole = await _fingerprint_of_catalog(empty_dsn)
    await run_sql(
        empty_dsn,
        "ALTER TABLE memory_ingest_decisions DROP COLUMN dropped_text; DROP TABLE schema_steps",
    )
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    assert await _fingerprint_of_catalog(empty_dsn) == whole


async def test_a_database_from_before_chunkings_and_versioned_leases_gets_them_and_keeps_its_rows(
    empty_dsn: str,
) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    before = await _fingerprint_of_catalog(empty_dsn)
    await run_sql(
        empty_dsn,
        """
        ALTER TABLE memory_note_chunks DROP COLUMN chunking;
        DROP TABLE note_processes;
        DROP INDEX idx_outbox_version_due;
        CREATE INDEX idx_outbox_due ON indexing_outbox (available_at) WHERE status IN ('PENDING', 'FAILED');
        DROP TABLE schema_steps;
        INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
        VALUES (gen_random_uuid(), gen_random_uuid(), 'UPSERT', 'fake:hash:8', 'PENDING');
        """,
    )
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    assert await _fingerprint_of_catalog(empty_dsn) == before
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval("SELECT count(*) FROM indexing_outbox") == 1
    await connection.close()


async def test_a_database_from_before_vectors_were_judged_gets_the_judge(empty_dsn: str) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=3)
    await run_sql(empty_dsn, "DROP FUNCTION has_direction; DROP TABLE schema_steps")
    await migration.apply(empty_dsn, steps_on(), vector_dim=3)
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval("SELECT has_direction('[1,0,0]') AND NOT has_direction('[0,0,0]')")
    await connection.close()


async def test_a_current_schema_is_accepted_while_others_write(empty_dsn: str) -> None:
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    writer = await asyncpg.connect(empty_dsn)
    try:
        async with writer.transaction():
            await writer.execute("LOCK TABLE memory_notes IN ROW EXCLUSIVE MODE")
            with anyio.fail_after(30):
                await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    finally:
        await writer.close()


async def test_a_change_of_the_schema_takes_as_long_as_it_takes_and_the_log_says_so(
    empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "LOOK_TIMEOUT_S", 0.5)
    monkeypatch.setattr(patience, "TELL_EVERY_S", 0.1)
    await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    await run_sql(empty_dsn, "DROP INDEX idx_notes_newest")
    name = urlsplit(empty_dsn).path.removeprefix("/")
    await run_sql(empty_dsn, f"ALTER DATABASE {name} SET statement_timeout = '500ms'")
    writer = await asyncpg.connect(empty_dsn)
    try:
        async with anyio.create_task_group() as tasks, writer.transaction():
            await writer.execute(
                "LOCK TABLE memory_notes IN ROW EXCLUSIVE MODE"
            )  # the new index has to wait for it
            with capture_logs() as told:
                tasks.start_soon(lambda: migration.apply(empty_dsn, steps_on(), vector_dim=8))
                while len(told) < 10:  # noqa: ASYNC110 - a second, twice each of the limits
                    await anyio.sleep(0.05)
            assert {line["event"] for line in told} == {"schema_being_applied"}
        assert await writer.fetchval("SELECT to_regclass('idx_notes_newest')") is not None
    finally:
        await writer.close()


async def test_eight_tasks_at_once_make_it_once(empty_dsn: str) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(lambda: migration.apply(empty_dsn, steps_on(), vector_dim=8))
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval("SELECT count(*) FROM schema_steps") == len(steps_on())
    await connection.close()


async def test_a_failure_leaves_nothing_half_made_and_names_the_step(empty_dsn: str) -> None:
    await run_sql(
        empty_dsn, "CREATE VIEW llm_cache AS SELECT 1 AS cache_kind"
    )  # the last table of the script
    with pytest.raises(StartupError, match=r"common/001-tables failed.*llm_cache"):
        await migration.apply(empty_dsn, steps_on(), vector_dim=8)
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval("SELECT to_regclass('search_traces')") is None
    assert await connection.fetchval("SELECT to_regclass('schema_steps')") is None
    await connection.close()


async def test_a_database_that_does_not_exist_is_refused(postgres_dsn: str) -> None:
    with pytest.raises(StartupError, match="no_such_database"):
        await migration.apply(
            postgres_dsn.replace("/postgres?", "/no_such_database?"), steps_on(), vector_dim=8
        )


async def test_a_server_that_is_away_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable):
        await migration.apply(f"postgresql://elf@/postgres?host={tmp_path}", steps_on(), vector_dim=8)


def test_the_script_of_the_whole_schema_has_the_steps_in_the_order_they_are_applied_in() -> None:
    steps = steps_on()
    included = re.findall(
        r"^\\ir (\w+)/([0-9]\S+)\.sql$", (sql_folder() / "init.sql").read_text(), re.MULTILINE
    )
    assert included == [step.key for step in steps]
    script = schema.render(sql_folder() / "init.sql", vector_dim=8)
    places = [script.index(step.script(vector_dim=8)) for step in steps]
    assert places == sorted(places)


def test_a_step_drops_only_what_older_code_does_not_need() -> None:
    later = [step for step in steps_on() if not step.name.startswith("001-")]
    drops = re.compile(r"^[^-]*\bDROP (?:TABLE|INDEX|COLUMN|FUNCTION)\b", re.MULTILINE)
    assert [str(step) for step in later if drops.search(step.text) and not step.breaks_older] == []


@pytest.mark.parametrize("name", ["1-tables", "002-tables", "tables", "001-Tables", "001_tables"])
def test_a_file_that_is_numbered_wrongly_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.sql").write_text("SELECT 1;")
    with pytest.raises(StartupError, match=f"{name}.sql is no schema step.*would be number 001"):
        schema.schema_steps([("words", tmp_path)])


def test_two_steps_of_one_number_are_refused(tmp_path: Path) -> None:
    for name in ("001-one", "001-two"):
        (tmp_path / f"{name}.sql").write_text("SELECT 1;")
    with pytest.raises(StartupError, match=r"001-two\.sql is no schema step.*would be number 002"):
        schema.schema_steps([("words", tmp_path)])


def test_a_family_of_statements_alone_has_no_steps_and_one_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="the family words has neither a schema step nor a statement"):
        schema.schema_steps([("words", tmp_path)])
    (tmp_path / "read.queries.sql").write_text("-- name: one\n-- One.\nSELECT 1;")
    assert "words" not in {step.family for step in schema.schema_steps([("words", tmp_path)])}


@pytest.mark.parametrize("mark", ["-- breaks older", "-- breaks: everything", "-- breaks:older"])
def test_a_mark_that_is_not_known_is_refused(tmp_path: Path, mark: str) -> None:
    (tmp_path / "001-tables.sql").write_text(f"-- The tables.\n{mark}\nSELECT 1;")
    with pytest.raises(StartupError, match=r"001-tables\.sql: a step may be marked '-- breaks: older', not"):
        schema.schema_steps([("words", tmp_path)])


def test_a_digest_covers_the_included_files_and_not_what_is_filled_in(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "001-tables.sql").write_text("\\ir tables/words.sql\n")
    (tmp_path / "tables" / "words.sql").write_text("vector(<vector_dim>)")
    step = schema.schema_steps([("words", tmp_path)])[-1]
    assert step.digest == blake3(b"vector(<vector_dim>)\n").hexdigest()
    assert step.script(vector_dim=3) == "vector(3)\n"


def test_what_is_there_after_steps_is_what_was_made_and_not_dropped() -> None:
    one = schema.Step(
        "a", "001-x", "CREATE TABLE IF NOT EXISTS x ();\nCREATE INDEX IF NOT EXISTS i ON x (id);\n"
    )
    two = schema.Step(
        "a", "002-y", "DROP INDEX IF EXISTS i;\nCREATE UNIQUE INDEX IF NOT EXISTS j ON x (id);\n"
    )
    assert schema.created_by([one]) == {"x", "i"}
    assert schema.created_by([one, two]) == {"x", "j"}


def test_a_view_is_among_what_is_there() -> None:
    one = schema.Step("a", "001-x", "CREATE OR REPLACE VIEW v AS SELECT 1;\n")
    two = schema.Step("a", "002-y", "DROP VIEW IF EXISTS v;\n")
    assert schema.created_by([one]) == {"v"}
    assert schema.created_by([one, two]) == set()


def test_a_step_says_what_stands_for_names_in_a_file_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    shared = "CREATE TABLE IF NOT EXISTS <what>_words (<key> uuid, vec vector(<vector_dim>));\n"
    (tmp_path / "shared.sql").write_text(shared)
    (tmp_path / "words" / "001-tables.sql").write_text("\\ir ../shared.sql what=talk key=word_id\n")
    step = schema.schema_steps([("words", tmp_path / "words")])[-1]
    assert step.creates == {"talk_words"}
    assert (
        step.script(vector_dim=3)
        == "CREATE TABLE IF NOT EXISTS talk_words (word_id uuid, vec vector(3));\n\n"
    )

    (tmp_path / "words" / "001-tables.sql").write_text("\\ir ../shared.sql what=talk\n")
    with pytest.raises(StartupError, match=r"001-tables\.sql does not say what <key> is"):
        schema.schema_steps([("words", tmp_path / "words")])


def test_includes_are_relative_to_the_file_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "init.sql").write_text("-- start\n\\ir a/one.sql\n-- end\n")
    (tmp_path / "a" / "one.sql").write_text("\\ir b/two.sql\n")
    (tmp_path / "a" / "b" / "two.sql").write_text("vector(<vector_dim>)")
    assert schema.render(tmp_path / "init.sql", vector_dim=3) == "-- start\nvector(3)\n\n-- end\n"


def test_a_file_that_includes_itself_or_a_missing_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "init.sql").write_text("\\ir other.sql\n")
    with pytest.raises(StartupError, match=r"other\.sql cannot be read"):
        schema.render(tmp_path / "init.sql", vector_dim=3)
    (tmp_path / "other.sql").write_text("\\ir init.sql\n")
    with pytest.raises(StartupError, match="includes itself"):
        schema.render(tmp_path / "init.sql", vector_dim=3)


async def _fingerprint_of_catalog(dsn: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT relname, relkind::text, coalesce(pg_get_indexdef(oid), '') FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace ORDER BY relname"
        )
    finally:
        await connection.close()
    return [tuple(row) for row in rows]
