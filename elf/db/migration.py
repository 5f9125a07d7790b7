"""Bringing a database to the schema: its steps are applied in order, each once, and recorded.

Any number of processes may do so at once: an advisory lock lets one work while the others wait and then find the work
done. Each step is a transaction together with its record, so a crash leaves nothing half done. A start that finds every
step recorded, with every table and index in place, runs no DDL, because even `CREATE INDEX IF NOT EXISTS` waits for the
writers of other processes. A database that has the tables but no record of steps was made before there was one:
the first steps, which change nothing there, are applied to it and recorded.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import anyio
import asyncpg
import structlog

from elf.core.errors import InternalError, StartupError
from elf.db.connect import connect
from elf.db.database import CONNECT_TIMEOUT_S
from elf.db.errors import Retryable, map_errors
from elf.db.patience import AS_LONG_AS_IT_TAKES_S, telling
from elf.db.queries import Queries, read_sql, sql_folder
from elf.db.schema import COMMON, Step, created_by, next_steps

LOOK_TIMEOUT_S = 30.0  # of a look at the catalog; what has to be changed takes as long as it takes
LOCK_TIMEOUT_MS: Final = 2000  # a step that waits for a table keeps others from it no longer than this
RETRY_S: Final = 1.0

_LOCK_KEY = int.from_bytes(b"elf:ddl\0")  # any number that no other user of the database takes

_Key = tuple[str, str]  # the family and the name of a step
_Recorded = Mapping[_Key, Mapping[str, Any]]

log = structlog.get_logger()


async def apply(dsn: str, steps: Sequence[Step], *, vector_dim: int) -> None:
    """Apply the steps that the database has no record of, and make again what is lost; it takes its time.

    A database without a vector gets columns for those of the given dimension.

    Raises StartupError when the database holds vectors of another dimension, has no pgvector, does not let this user
    create the schema, was given a step with another text, or has a newer one that this version cannot work with,
    DatabaseUnavailable when Postgres does not answer.
    """
    with map_errors():
        connection = await _connect(dsn)
        try:
            await _Migration(connection, steps, vector_dim).finish()
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


class _Migration:
    """The steps on their way into the database that a connection leads to."""

    def __init__(self, connection: Any, steps: Sequence[Step], vector_dim: int) -> None:
        self._connection = connection
        self._steps = steps
        self._vector_dim = vector_dim
        self._sql = Queries.load(sql_folder() / COMMON)
        self._record_table = read_sql(sql_folder() / COMMON / "tables" / "schema_steps.sql")

    async def finish(self) -> None:
        """Apply what is due until nothing is."""
        with telling("schema_being_applied"):  # or waited for, while another process applies it
            if await self._other_dimensions():
                await self._change_dimension()
            while await self._due():
                try:
                    await self._take_turn()
                except (Retryable, asyncpg.DeadlockDetectedError):
                    await anyio.sleep(RETRY_S)  # a long transaction holds what the step needs

    async def _take_turn(self) -> None:
        """Apply what is due next, if another process has not done so meanwhile."""
        began = time.perf_counter()
        async with self._connection.transaction(isolation="read_committed"):
            await self._connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
            await self._connection.execute(self._sql["take_turn"], _LOCK_KEY, timeout=AS_LONG_AS_IT_TAKES_S)
            if due := await self._due():
                await self._connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
                await self._apply(due)
        if due:
            ms = round((time.perf_counter() - began) * 1000)
            log.info("schema_applied", steps=", ".join(map(str, due)), vector_dim=self._vector_dim, ms=ms)

    async def _apply(self, due: Sequence[Step]) -> None:
        for step in due:
            with _naming(step):
                await self._run(step)
        if missing := await self._missing(created_by(due)):
            raise StartupError(f"the schema step {due[0]} did not make {', '.join(missing)}")

    async def _run(self, step: Step) -> None:
        script = step.script(vector_dim=self._vector_dim)
        await self._connection.execute(self._record_table)
        await self._connection.execute(script, timeout=AS_LONG_AS_IT_TAKES_S)
        record = (step.family, step.name, step.digest, step.breaks_older)
        await self._connection.execute(self._sql["record_step"], *record)

    async def _due(self) -> list[Step]:
        """Return what is to be applied next; raises StartupError when this code does not fit the database."""
        await self._refuse_other_dimension()
        recorded = await self._recorded()
        _refuse_edited(self._steps, recorded)
        _refuse_newer(self._steps, recorded)
        applied = [step for step in self._steps if step.key in recorded]
        missing = await self._missing(created_by(applied))
        return next_steps(self._steps, done=recorded.keys(), missing=missing)

    async def _recorded(self) -> _Recorded:
        if await self._missing(["schema_steps"]):
            return {}
        try:
            rows = await self._connection.fetch(self._sql["recorded_steps"])
        except asyncpg.InsufficientPrivilegeError as error:
            raise StartupError(
                f"this user may not read which schema steps there are: {error.args[0]}"
            ) from error
        return {(row["family"], row["name"]): row for row in rows}

    async def _missing(self, names: Iterable[str]) -> list[str]:
        rows = await self._connection.fetch(self._sql["missing"], list(names))
        return [row["name"] for row in rows]

    async def _change_dimension(self) -> None:
        """Give empty columns the configured dimension; where one holds a vector, all stay as they are."""
        async with self._connection.transaction(isolation="read_committed"):
            await self._connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
            await self._connection.execute(self._sql["take_turn"], _LOCK_KEY, timeout=AS_LONG_AS_IT_TAKES_S)
            columns = [
                (row["table_name"], row["column_name"], row["dim"]) for row in await self._other_dimensions()
            ]
            for table, column, _ in columns:
                await self._connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                if await self._connection.fetchval(
                    f"SELECT EXISTS (SELECT FROM {table} WHERE {column} IS NOT NULL)"
                ):
                    return
            for table, column, dim in columns:
                await self._change_column(table, column, dim)
            recorded = await self._recorded()
            for step in self._steps:  # which makes the indexes again, where the dimension allows for them
                if step.key in recorded and step.family in self._families_with_vectors:
                    await self._connection.execute(
                        step.script(vector_dim=self._vector_dim), timeout=AS_LONG_AS_IT_TAKES_S
                    )
        log.info("schema_dimension_changed", vector_dim=self._vector_dim)

    async def _change_column(self, table: str, column: str, dim: int) -> None:
        for row in await self._connection.fetch(self._sql["indexes_of_column"], table, column):
            await self._connection.execute(f"DROP INDEX {row['name']}")
        for row in await self._connection.fetch(self._sql["checks_of_length"], table, dim):
            await self._connection.execute(
                f"ALTER TABLE {table} DROP CONSTRAINT {row['name']},"
                f" ADD CONSTRAINT {row['name']} CHECK (embedding_dim = {self._vector_dim})"
            )
        await self._connection.execute(
            f"ALTER TABLE {table} ALTER COLUMN {column} TYPE vector({self._vector_dim})"
            f" USING NULL::vector({self._vector_dim})"
        )

    @property
    def _families_with_vectors(self) -> frozenset[str]:
        return frozenset(step.family for step in self._steps if step.vector_columns)

    async def _other_dimensions(self) -> Sequence[Mapping[str, Any]]:
        columns = {name for step in self._steps for name in step.vector_columns}
        rows: Sequence[Mapping[str, Any]] = await self._connection.fetch(
            self._sql["other_dimensions"], list(created_by(self._steps)), self._vector_dim, list(columns)
        )
        return rows

    async def _refuse_other_dimension(self) -> None:
        if rows := await self._other_dimensions():
            raise StartupError(
                f"the database holds vectors of {rows[0]['dim']} dimensions ({rows[0]['table_name']}), but"
                f" storage.qdrant.vector_dim is {self._vector_dim}: use the model they were made with, or another"
                " database"
            )


def _refuse_edited(steps: Sequence[Step], recorded: _Recorded) -> None:
    edited = [step for step in steps if step.key in recorded and recorded[step.key]["digest"] != step.digest]
    if edited:
        raise StartupError(
            f"the schema step {edited[0]} is not the one that was applied to this database: its file was edited since."
            " Install the version of ELF that applied it, or put the text of the file back; a change of the schema is"
            " a new step with the next number"
        )


def _refuse_newer(steps: Sequence[Step], recorded: _Recorded) -> None:
    families = {step.family for step in steps}
    known = {step.key for step in steps}
    for (family, name), row in recorded.items():
        if row["breaks_older"] and family in families and (family, name) not in known:
            raise StartupError(
                f"a newer version of ELF has applied the schema step {family}/{name} to this database, and this"
                " version cannot work with it: install the newer version, or restore the backup that was taken"
                " before it"
            )


@contextmanager
def _naming(step: Step) -> Iterator[None]:
    """Say which step it is that fails, unless it may succeed at another time."""
    try:
        with map_errors():
            try:
                yield
            except (asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFileError) as error:
                raise StartupError(
                    f"this Postgres lacks what the schema step {step} needs (pgvector is a must): {error.args[0]}"
                ) from error
            except asyncpg.InsufficientPrivilegeError as error:
                raise StartupError(
                    f"this user may not apply the schema step {step}: {error.args[0]}. Start one process as the owner"
                    " of the tables first"
                ) from error
    except InternalError as error:
        raise StartupError(f"the schema step {step} failed: {error.message}") from error
