"""Bringing a database to the schema of sql/init.sql.

Any number of processes may do so at once: an advisory lock lets one work while the others wait and then find
the work done. The form a database has is known by a fingerprint of the DDL; a start that finds its own, with
every table and index in place, runs none of it, because even `CREATE INDEX IF NOT EXISTS` waits for the
writers of other processes.
"""

from __future__ import annotations

import re
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import structlog

from elf.core.errors import InternalError, StartupError
from elf.db.connect import connect
from elf.db.database import CONNECT_TIMEOUT_S, Connection
from elf.db.errors import map_errors
from elf.db.patience import AS_LONG_AS_IT_TAKES_S, telling
from elf.db.queries import read_sql, sql_folder

LOOK_TIMEOUT_S = 30.0  # of a look at the catalog; what has to be changed takes as long as it takes

_LOCK_KEY = int.from_bytes(b"elf:ddl\0")  # any number that no other user of the database takes
_INCLUDE = re.compile(r"^\\ir[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_CREATED = re.compile(r"^CREATE (?:TABLE|(?:UNIQUE )?INDEX) IF NOT EXISTS (\w+)", re.MULTILINE)
_VECTOR_TABLES = ("note_chunk_embeddings", "note_embeddings")

log = structlog.get_logger()


async def apply(dsn: str, *, vector_dim: int) -> None:
    """Create whatever is missing, in one transaction that takes its time: a large table may need a new index.

    Raises StartupError when the database holds vectors of another dimension, has no pgvector or does not let
    this user create the schema, DatabaseUnavailable when Postgres does not answer.
    """
    script = render(sql_folder() / "init.sql", vector_dim=vector_dim)
    with map_errors():
        connection = await _connect(dsn)
        try:
            await _refuse_other_dimension(connection, vector_dim)
            if not await _is_current(connection, script):
                await _bring_up_to_date(connection, script, vector_dim=vector_dim)
        except (asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFileError) as error:
            raise StartupError(f"this Postgres has no pgvector: {error.args[0]}") from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise StartupError(f"this user may not create the schema: {error.args[0]}") from error
        finally:
            await connection.close(timeout=CONNECT_TIMEOUT_S)


async def _connect(dsn: str) -> Any:
    try:
        return await connect(
            dsn,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=LOOK_TIMEOUT_S,
            server_settings={"application_name": "elf schema", "client_min_messages": "warning"},
        )
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as error:
        raise StartupError(f"Postgres refuses the connection: {error.args[0]}") from error


async def _bring_up_to_date(connection: Any, script: str, *, vector_dim: int) -> None:
    began = time.perf_counter()
    async with connection.transaction():
        with telling("schema_being_applied"):  # or waited for, while another process applies it
            await connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
            await connection.execute(
                "SELECT pg_advisory_xact_lock($1)", _LOCK_KEY, timeout=AS_LONG_AS_IT_TAKES_S
            )
            if await _is_current(connection, script):
                return
            await _refuse_other_dimension(connection, vector_dim)
            await connection.execute(script, timeout=AS_LONG_AS_IT_TAKES_S)
        await _remember(connection, script, vector_dim)
    ms = round((time.perf_counter() - began) * 1000)
    log.info("schema_applied", fingerprint=_fingerprint(script)[:12], vector_dim=vector_dim, ms=ms)


async def _remember(connection: Connection, script: str, vector_dim: int) -> None:
    await connection.execute(
        "INSERT INTO schema_state (fingerprint, vector_dim) VALUES ($1, $2)"
        " ON CONFLICT (only_row) DO UPDATE SET fingerprint = $1, vector_dim = $2, applied_at = now()",
        _fingerprint(script),
        vector_dim,
    )


def _fingerprint(script: str) -> str:
    return sha256(script.encode()).hexdigest()


async def _refuse_other_dimension(connection: Connection, vector_dim: int) -> None:
    rows = await connection.fetch(
        "SELECT attrelid::regclass::text AS name, atttypmod AS dim FROM pg_attribute"
        " WHERE attrelid IN (SELECT to_regclass(t) FROM unnest($1::text[]) AS t) AND attname = 'vec'"
        " AND atttypmod <> $2",
        _VECTOR_TABLES,
        vector_dim,
    )
    if rows:
        raise StartupError(
            f"the database holds vectors of {rows[0]['dim']} dimensions ({rows[0]['name']}), but"
            f" storage.qdrant.vector_dim is {vector_dim}: use the model they were made with, or another"
            " database"
        )


async def _is_current(connection: Connection, script: str) -> bool:
    missing = await connection.fetchval(
        "SELECT count(*) FROM unnest($1::text[]) AS t WHERE to_regclass(t) IS NULL", created_names(script)
    )
    if missing:
        return False
    stored = await connection.fetchval("SELECT fingerprint FROM schema_state")
    return bool(stored == _fingerprint(script))


def render(path: Path, *, vector_dim: int) -> str:
    r"""Return the script of a file with its `\ir` lines replaced by the files they name, relative to it.

    Raises StartupError for a file that cannot be read or includes itself.
    """
    return _resolve(path, including=()).replace("<vector_dim>", str(vector_dim))


def _resolve(path: Path, *, including: tuple[Path, ...]) -> str:
    if path in including:
        raise StartupError(f"the SQL file {path} includes itself")

    def included(match: re.Match[str]) -> str:
        return _resolve((path.parent / match.group(1)).resolve(), including=(*including, path))

    return _INCLUDE.sub(included, read_sql(path))


def created_names(script: str) -> list[str]:
    """Return the names of the tables and indexes a script creates. Raises InternalError when it creates
    none.
    """
    names = _CREATED.findall(script)
    if not names:
        raise InternalError("the schema creates nothing")
    return names
