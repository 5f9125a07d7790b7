"""Rewriting all of a Postgres, so that no file of it has what was deleted any more; nobody else is at work in it."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from elf.core.errors import StartupError
from elf.db.connect import connect
from elf.db.database import SETTINGS

SWITCHES: Final = 4096
"""More segments of the log than any server keeps ahead."""


async def rewrite(dsn: str, *, owns_the_server: bool) -> None:
    """Rewrite every table with its indexes, and what is known of their values.

    Where the server is ours alone (`owns_the_server`), its log begins anew, too. Raises StartupError while somebody
    else is connected, and when the server does not let us.
    """
    connection = await _connected(dsn)
    try:
        await _refuse_others(connection)
        # Statistics tell the most common values, and the catalog that they are in is rewritten, too.
        for statement in ("ANALYZE", "VACUUM (FULL)", "CHECKPOINT"):
            await connection.execute(statement)
        if owns_the_server:
            await _begin_log_anew(connection)
    except asyncpg.PostgresError as error:
        raise StartupError(f"Postgres cannot be compacted: {error}") from error
    finally:
        await connection.close()


async def _connected(dsn: str) -> Any:
    try:
        return await connect(
            dsn, server_settings={"application_name": f"{SETTINGS['application_name']} compacting"}
        )
    except (OSError, asyncpg.PostgresError) as error:
        raise StartupError(f"Postgres does not answer: {error}") from error


async def _refuse_others(connection: Any) -> None:
    others = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    if others:
        raise StartupError(
            f"{others} sessions are open in Postgres: stop the service first, and whatever else uses it"
        )


async def _begin_log_anew(connection: Any) -> None:
    """Use up all segments of the log that have been written to before, and have them removed and not used again."""
    await connection.execute("ALTER SYSTEM SET wal_recycle = off")
    await connection.execute("SELECT pg_reload_conf()")
    try:
        last = await connection.fetchval("SELECT max(name) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'")
        for _ in range(SWITCHES):
            await connection.execute("SELECT pg_logical_emit_message(false, 'elf', '')")
            await connection.execute("SELECT pg_switch_wal()")
            if await connection.fetchval("SELECT pg_walfile_name(pg_current_wal_lsn())") > last:
                break
        await connection.execute("SELECT pg_logical_emit_message(false, 'elf', '')")
        await connection.execute("CHECKPOINT")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.execute("ALTER SYSTEM RESET wal_recycle")
        await connection.execute("SELECT pg_reload_conf()")
