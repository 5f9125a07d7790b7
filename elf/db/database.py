"""The connection pool and its transactions.

jsonb parameters and results are plain Python values; a vector goes in as a float32 array and comes out as a
`pgvector.Vector`, while `vector[]` takes a list of `pgvector.Vector` (asyncpg reads an array in a list as a
nested one).

A connection is borrowed for as short as possible, every wait is bounded, and every failure leaves as one of
`elf.db.errors`. Sessions are shared, so code that borrows one changes no session state: `SET LOCAL` and
transaction-scoped advisory locks only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, Final, NamedTuple, Protocol

import anyio
import asyncpg
import msgspec
import structlog
from pgvector.asyncpg import register_vector

from elf.core.errors import DatabaseUnavailable, Unavailable
from elf.db.connect import connect
from elf.db.errors import map_errors
from elf.db.queues import Queues

CONNECT_TIMEOUT_S = 5.0
ACQUIRE_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 30.0
TURN_TIMEOUT_S = 30.0
RELEASE_TIMEOUT_S = 1.0  # a search that was cut off at a frozen server waits for this, too
CLOSE_TIMEOUT_S = 5.0
LEAST_WORD_SIMILARITY: Final = 0.3

# A search by pgvector's index goes on, in the order of distance, until it has as many rows as it wants that its other
# conditions let through; and it looks at more than by default, so that it misses fewer. A pgvector that is older than
# these settings does as it always did. The index of pg_trgm gives what has a stretch at least so like what is asked.
SETTINGS: Final = {
    "application_name": "elf",
    "client_min_messages": "warning",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.ef_search": "200",
    "pg_trgm.word_similarity_threshold": str(LEAST_WORD_SIMILARITY),
}

_JSONB_VERSION = b"\x01"  # jsonb's binary format is a version byte before the JSON text

log = structlog.get_logger()


class Connection(Protocol):
    """The part of asyncpg's connection that ELF uses. `timeout` is in seconds."""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Run a statement (or, without arguments, a script) and return its command tag."""
        ...

    async def executemany(
        self, command: str, args: Iterable[Sequence[Any]], *, timeout: float | None = None
    ) -> None:
        """Run a statement once for each tuple of arguments, atomically."""
        ...

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Mapping[str, Any]]:
        """Run a query and return all rows."""
        ...

    async def fetchrow(
        self, query: str, *args: Any, timeout: float | None = None
    ) -> Mapping[str, Any] | None:
        """Run a query and return its first row."""
        ...

    async def fetchval(self, query: str, *args: Any, column: int = 0, timeout: float | None = None) -> Any:
        """Run a query and return one value of its first row."""
        ...

    def after_commit(self, call: Callable[[], object]) -> None:
        """Have something called once the transaction that is open is committed, and not if it is undone.

        It must not fail or block. Raises RuntimeError outside of a `Database.transaction`.
        """
        ...


class _Session(asyncpg.Connection):  # type: ignore[misc]
    """asyncpg's connection, which keeps what is to be called after its transaction; None while it has none.

    The pool's proxy of a connection has methods only.
    """

    _calls: list[Callable[[], object]] | None = None

    def after_commit(self, call: Callable[[], object]) -> None:
        if self._calls is None:
            raise RuntimeError("no transaction is open")
        self._calls.append(call)

    @contextmanager
    def keeping_calls(self) -> Iterator[Sequence[Callable[[], object]]]:
        calls: list[Callable[[], object]] = []
        self._calls = calls
        try:
            yield calls
        finally:
            self._calls = None


class PoolStatistics(NamedTuple):
    """Connections at one moment: those there are, those of them that nobody has borrowed, and how many there may be."""

    size: int
    idle: int
    max_size: int


class Database:
    """A pool of at most `max_conns` connections to one Postgres. May be opened again after it was closed."""

    def __init__(self, *, max_conns: int) -> None:
        self._max_conns = max_conns
        self._pool: Any = None
        self._queues = Queues()
        self._competing = anyio.Semaphore(max(1, max_conns * 3 // 4))

    @property
    def queued(self) -> int:
        """How many things there are that transactions compete for now."""
        return len(self._queues)

    async def open(self, dsn: str) -> None:
        """Connect, and have one connection ready. Raises DatabaseUnavailable when Postgres does not
        answer.
        """
        if self._pool is not None:
            raise RuntimeError("the database is already open")
        with map_errors():
            self._pool = await asyncpg.create_pool(
                dsn,
                connect=connect,
                connection_class=_Session,
                min_size=1,
                max_size=self._max_conns,
                init=_prepare_connection,
                reset=_reset_nothing,
                timeout=CONNECT_TIMEOUT_S,
                command_timeout=COMMAND_TIMEOUT_S,
                server_settings=SETTINGS,
            )

    async def close(self) -> None:
        """Close every connection: gracefully while there is time, else by dropping them. Cannot be
        cancelled.
        """
        pool, self._pool = self._pool, None
        if pool is None:
            return
        with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True) as scope:
            await pool.close()
        if scope.cancelled_caught:
            pool.terminate()
            log.warning("database_close_forced", after_s=CLOSE_TIMEOUT_S)

    def statistics(self) -> PoolStatistics:
        """Count the connections; there are none while the pool is not open."""
        if self._pool is None:
            return PoolStatistics(0, 0, self._max_conns)
        return PoolStatistics(self._pool.get_size(), self._pool.get_idle_size(), self._max_conns)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Borrow a connection in autocommit mode. Raises DatabaseUnavailable, also from the body's
        queries.
        """
        if self._pool is None:
            raise DatabaseUnavailable("the connection pool is not open")
        pool = self._pool
        with map_errors():
            connection = await pool.acquire(timeout=ACQUIRE_TIMEOUT_S)
            try:
                yield connection
            finally:
                # The time limit is asyncpg's own: when it runs out, the connection is dropped, not leaked.
                with anyio.CancelScope(shield=True):
                    await pool.release(connection, timeout=RELEASE_TIMEOUT_S)

    @asynccontextmanager
    async def transaction(self, *, competing_for: Collection[str] = ()) -> AsyncIterator[Connection]:
        """Borrow a connection in a READ COMMITTED transaction: committed when the body ends, else rolled
        back.

        The commit cannot be cancelled. When Postgres goes away during it, DatabaseUnavailable is raised
        although the transaction may have been committed: a caller that tries again must write idempotently.

        `competing_for` names what its locks are about. Transactions of this process that compete for the same
        come one after the other, and wait for that without a connection: a flood of them takes one. All that
        compete take three quarters of the connections at most, as other processes may keep them waiting, too.
        Raises Unavailable when its turn does not come within TURN_TIMEOUT_S.
        """
        async with AsyncExitStack() as stack:
            if competing_for:
                await self._take_turn(stack, competing_for)
            yield await stack.enter_async_context(self._transaction())

    async def _take_turn(self, stack: AsyncExitStack, things: Collection[str]) -> None:
        try:
            with anyio.fail_after(TURN_TIMEOUT_S):
                await stack.enter_async_context(self._queues.alone_with(things))
                await stack.enter_async_context(self._competing)
        except TimeoutError:
            raise Unavailable("too many others write the same at this moment", retry_after_s=1) from None

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        async with self.connection() as connection:
            transaction = connection.transaction()  # type: ignore[attr-defined]
            with connection.keeping_calls() as calls:  # type: ignore[attr-defined]
                try:
                    await transaction.start()  # when it is cut off, nobody knows whether the server has begun
                    yield connection
                except BaseException:
                    await _roll_back(connection, transaction)
                    raise
                with anyio.CancelScope(shield=True):
                    await transaction.commit()
            for call in calls:
                call()


async def _roll_back(connection: Any, transaction: Any) -> None:
    if connection.is_closed():
        return  # the server has rolled back already
    try:
        with anyio.fail_after(RELEASE_TIMEOUT_S, shield=True):
            await transaction.rollback()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        # The body's own error matters more; the session is ended, and Postgres rolls back with it.
        log.info("rollback_failed", error=type(error).__name__)
        connection.terminate()


async def _prepare_connection(connection: Any) -> None:
    await register_vector(connection)
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=lambda value: _JSONB_VERSION + msgspec.json.encode(value),
        decoder=lambda data: msgspec.json.decode(memoryview(data)[1:]),
    )


async def _reset_nothing(connection: Any) -> None:
    """Skip asyncpg's reset script, a round trip for each borrowing: no borrower changes session state."""
