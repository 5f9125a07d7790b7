"""What the database layer raises, and the one place where asyncpg's errors become ELF's.

    ServiceError
    ├── ErasureInProgress         an owner of what was to be written is being erased (sql/common/008-erasing.sql)
    ├── InternalError
    │   └── UniqueViolation       a unique index refused a row; `constraint` names it
    └── Unavailable
        ├── Retryable             deadlock, serialization failure, lock timeout: run the transaction again
        └── DatabaseUnavailable   Postgres cannot be reached or cannot take work now

Every other SQL error is an InternalError. Its message is masked: SQLSTATE, condition and the names of the
schema objects, never a value, because Postgres puts the offending values (a note's text) into its details.
The original exception is cut off for the same reason: a logged traceback would print it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio
import asyncpg

from elf.core.errors import DatabaseUnavailable, ErasureInProgress, InternalError, ServiceError, Unavailable

T = TypeVar("T")

# SQLSTATE classes: connection exception, refused credentials, unknown database, insufficient resources (too
# many connections, disk full), system error.
_UNAVAILABLE_CLASSES = ("08", "28", "3D", "53", "58")
_UNAVAILABLE_STATES = frozenset(
    {
        "57P01",  # admin_shutdown
        "57P02",  # crash_shutdown
        "57P03",  # cannot_connect_now: starting up, or recovering from a crash
        "57P05",  # idle_session_timeout
        "57014",  # query_canceled: a server-side time limit
        "25P03",  # idle_in_transaction_session_timeout: the server has closed the session
        "25P04",  # transaction_timeout
        "25006",  # read_only_sql_transaction: a failover left us on a standby
    }
)
_RETRYABLE_STATES = frozenset(
    {"40001", "40P01", "55P03"}
)  # serialization_failure, deadlock, lock_not_available
_UNIQUE_VIOLATION = "23505"
_ERASING = "ELF01"  # what reject_erasing() raises
# Faults of the statement itself quote identifiers, never values, and are useless without their text.
_STATEMENT_FAULT_CLASSES = ("0A", "42")
# What asyncpg says, before it quotes the value, of a parameter that does not fit its SQL type.
_REFUSED_ARGUMENT = re.compile(r"invalid input for query argument \$\d+")
# asyncpg has one class for misuse and for lost connections; only the text tells them apart.
_LOST_CONNECTION_TEXTS = (
    "is closed",
    "is closing",
    "pool is not initialized",
    "pool is being initialized",
    "connection has been released back to the pool",
    "underlying connection is closed",
)


class UniqueViolation(InternalError):
    """A unique index refused a row. `constraint` is the index's name."""

    def __init__(self, message: str, *, constraint: str) -> None:
        super().__init__(message)
        self.constraint = constraint


class Retryable(Unavailable):
    """The transaction was rolled back because it met another one; the same transaction may succeed at
    once.
    """


@contextmanager
def map_errors() -> Iterator[None]:
    """Translate every failure of asyncpg, of the connection and of its timeouts inside the block."""
    try:
        yield
    except asyncpg.PostgresError as error:
        raise _from_postgres(error) from None
    except asyncpg.InterfaceError as error:
        raise _from_interface(error) from None
    except asyncpg.InternalClientError as error:
        # The driver raises this when a connection is lost between two steps of one call, too.
        raise DatabaseUnavailable("the connection to Postgres broke off") from error
    except TimeoutError as error:
        raise DatabaseUnavailable("Postgres did not answer in time") from error
    except OSError as error:
        raise DatabaseUnavailable(f"Postgres cannot be reached: {error.strerror or error}") from error


def _from_postgres(error: asyncpg.PostgresError) -> ServiceError:
    state = str(error.sqlstate or "")
    if state in _RETRYABLE_STATES:
        return Retryable(f"Postgres undid the transaction: {_describe(error)}", retry_after_s=1)
    if state in _UNAVAILABLE_STATES or state.startswith(_UNAVAILABLE_CLASSES):
        return DatabaseUnavailable(f"Postgres is not available: {_describe(error)}")
    if state == _ERASING:
        return ErasureInProgress()
    if state == _UNIQUE_VIOLATION:
        return UniqueViolation(_describe(error), constraint=str(error.constraint_name or ""))
    return InternalError(f"Postgres refused a statement: {_describe(error)}")


def _describe(error: asyncpg.PostgresError) -> str:
    state = str(error.sqlstate or "")
    parts = [f"{type(error).__name__} ({state})" if state else type(error).__name__]
    names = {
        "table": error.table_name,
        "column": error.column_name,
        "constraint": error.constraint_name,
    }
    parts.extend(f"{kind} {name}" for kind, name in names.items() if name)
    text = str(error.args[0]) if error.args else ""
    if state.startswith(_STATEMENT_FAULT_CLASSES):
        parts.append(text)
    elif argument := _REFUSED_ARGUMENT.match(text):
        parts.append(argument.group())
    return ", ".join(parts)


def _from_interface(error: asyncpg.InterfaceError) -> ServiceError:
    text = str(error)
    if any(fragment in text for fragment in _LOST_CONNECTION_TEXTS):
        return DatabaseUnavailable("the connection to Postgres is closed")
    return InternalError(f"the database driver was misused: {text}")


async def retrying(transaction: Callable[[], Awaitable[T]], *, attempts: int = 5) -> T:
    """Run a whole transaction, and again when it raised Retryable, at most `attempts` times in all.

    The wait grows from about 10 ms and is jittered, so that two transactions that met do not meet again.
    Raises the last Retryable when every attempt failed.
    """
    for attempt in range(1, attempts):
        try:
            return await transaction()
        except Retryable:
            await anyio.sleep(0.01 * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    return await transaction()
