"""Wake-ups across processes: Postgres NOTIFY and a connection of its own that listens.

A notification may be lost whenever the connection is; whoever waits for one polls as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import anyio
from anyio.abc import TaskStatus

from elf.core.errors import DatabaseUnavailable
from elf.db.connect import connect
from elf.db.database import CONNECT_TIMEOUT_S, Connection, Database
from elf.db.errors import map_errors

PING_INTERVAL_S = 5.0
PING_TIMEOUT_S = 5.0
MAX_MESSAGE_BYTES = 7999  # Postgres takes less than 8000


async def notify(database: Database, channel: str, *, sender: str = "") -> None:
    """Wake every process that listens on `channel`; they are told who sent it. Raises DatabaseUnavailable."""
    async with database.connection() as connection:
        await connection.execute("SELECT pg_notify($1, $2)", channel, sender)


async def notify_all(database: Database, channel: str, messages: Sequence[str]) -> None:
    """Send messages of at most MAX_MESSAGE_BYTES each to every process that listens. Raises DatabaseUnavailable."""
    async with database.connection() as connection:
        await connection.execute(
            "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message", channel, messages
        )


async def listen(
    dsn: str,
    channel: str,
    heard: Callable[[str], object],
    *,
    during: Callable[[Connection], AbstractAsyncContextManager[None]] | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Call `heard` with the message of each notification until cancelled; started() once the connection listens.

    The message of `notify` is its sender. `during` is entered first, with the session that listens, and left before
    that session is closed.

    Raises DatabaseUnavailable when the connection is lost, which a ping notices within a few seconds.
    """
    with map_errors():
        connection = await connect(
            dsn, timeout=CONNECT_TIMEOUT_S, server_settings={"application_name": "elf listener"}
        )
        try:
            async with AsyncExitStack() as stack:
                if during is not None:
                    await stack.enter_async_context(during(connection))
                await connection.add_listener(channel, lambda *notification: heard(str(notification[3])))
                task_status.started()
                await _ping_for_ever(connection)
        finally:
            with anyio.move_on_after(CONNECT_TIMEOUT_S, shield=True) as scope:
                await connection.close(timeout=CONNECT_TIMEOUT_S)
            if scope.cancelled_caught:
                connection.terminate()


async def _ping_for_ever(connection: Any) -> None:
    lost = anyio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    while not lost.is_set():
        with anyio.move_on_after(PING_INTERVAL_S):
            await lost.wait()
            break
        await connection.execute("SELECT 1", timeout=PING_TIMEOUT_S)
    raise DatabaseUnavailable("the listening connection was lost")
