"""Who is there for an outbox: what a dead process had leased is given back by the next one only if no other lives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b

import anyio

from elf.db.database import Connection


class Presence:
    """Tells all processes over a database that this one leases from an outbox.

    It is told by an advisory lock of Postgres that is the outbox's own and that each of them holds shared, in a session
    that ends with the process. Whoever leases does so only while it is told: see `wait_told`. Each session tries to
    hold the lock alone first. If it can, nobody else lives, and it calls `take_over` before anybody else can come; it
    then shares the lock without having let go of it.

    A process whose session is gone is dead to the others, so it gives up what it has leased: `lost` is called. Its next
    session may take over what itself had leased: also those leases that Postgres gave in the moment of its death, when
    nobody heard of them. `told` is called whenever others know again that it lives. `leave` is called while the session
    lasts when the process stops on its own accord.
    """

    def __init__(
        self,
        outbox: str,
        *,
        take_over: Callable[[Connection], Awaitable[object]],
        told: Callable[[Connection], Awaitable[object]],
        leave: Callable[[Connection], Awaitable[object]],
        lost: Callable[[], object],
    ) -> None:
        self._lock = int.from_bytes(
            blake2b(f"elf outbox {outbox}".encode(), digest_size=8).digest(), signed=True
        )
        self._take_over = take_over
        self._came_back = told
        self._leave = leave
        self._lost = lost
        self._told = anyio.Event()

    async def tell(self, session: Connection) -> None:
        """Tell it for as long as `session` lives. Raises DatabaseUnavailable."""
        alone = await session.fetchval("SELECT pg_try_advisory_lock($1)", self._lock)
        if alone:
            await self._take_over(session)
        await session.execute("SELECT pg_advisory_lock_shared($1)", self._lock)
        if alone:
            await session.execute("SELECT pg_advisory_unlock($1)", self._lock)
        await self._came_back(session)
        self._told.set()

    async def leave(self, session: Connection) -> None:
        """Tell others that this process stops on its own accord. Raises DatabaseUnavailable."""
        await self._leave(session)

    def untell(self) -> None:
        """The session ends: lose what is leased, and lease nothing until there is another."""
        if self._told.is_set():  # or who waits would wait for an event of the past
            self._told = anyio.Event()
        self._lost()

    async def wait_told(self) -> None:
        """Wait until others know that this process leases."""
        await self._told.wait()
