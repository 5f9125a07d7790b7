"""Wake-ups of the queues: from this process to others, and from others to this one.

Both only save time: a dispatcher polls as well, so a lost wake-up costs one polling interval.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Channel
from elf.core.errors import ServiceError, Unavailable
from elf.db.database import Connection, Database
from elf.db.errors import map_errors
from elf.db.notifications import listen, notify
from elf.outbox.presence import Presence

OUTBOX_CHANNEL = "elf_outbox"
RETRY_S = 1.0
LEAVE_TIMEOUT_S = 1.0
# At most one NOTIFY for a queue in this time, in seconds: writers that come thick and fast share it.
ANNOUNCE_EVERY_S = 0.02
QUEUES_AT_ONCE = 64

log = structlog.get_logger()


class OutboxBell:
    """Rung after each commit that left work in a queue: wakes dispatchers here and, through the ringer, elsewhere."""

    def __init__(self, queue: str, wake: Channel[None], announce: Channel[str]) -> None:
        self.wake = wake
        self._queue = queue
        self._announce = announce

    def ring(self) -> None:
        """Wake; never blocks. Rings that come faster than they are heard are one ring."""
        self.wake.send_nowait(None)
        self._announce.send_nowait(self._queue)


class OutboxRinger:
    """Turns the rings of this process into NOTIFY, outside the writers' transactions.

    A NOTIFY inside them would make their commits queue for one lock of the whole database.
    """

    name = "outbox_ringer"

    def __init__(self, database: Database, announce: Channel[str], *, sender: str = "") -> None:
        self._database = database
        self._announce = announce
        self._sender = sender

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            queues = set(await self._announce.receive_many(QUEUES_AT_ONCE))
            try:
                for queue in sorted(queues):
                    await notify(self._database, OUTBOX_CHANNEL, sender=f"{self._sender} {queue}")
            except Unavailable as error:
                log.warning("wake_up_not_sent", error=error.message)
            await anyio.sleep(ANNOUNCE_EVERY_S)


class OutboxListener:
    """Turns NOTIFY of other processes into wake-ups of this one, and tells them which outboxes this one leases from.

    What `but_not_from` sent is left out: whoever rang here has woken this process already.
    """

    name = "outbox_listener"

    def __init__(self, dsn: Callable[[], str], *, but_not_from: str | None = None) -> None:
        self._dsn = dsn
        self._but_not_from = but_not_from
        self._wakes: dict[str, Channel[None]] = {}
        self._presences: list[Presence] = []

    def wake(self, queue: str, wake: Channel[None]) -> None:
        """Wake by this channel what waits for the work of a queue."""
        self._wakes[queue] = wake

    def tell(self, presence: Presence) -> None:
        """Tell others of this presence."""
        self._presences.append(presence)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            try:
                await listen(self._dsn(), OUTBOX_CHANNEL, self._hear, during=self._told)
            except Unavailable as error:
                log.warning("not_listening", error=error.message)
            await anyio.sleep(RETRY_S)

    @asynccontextmanager
    async def _told(self, session: Connection) -> AsyncIterator[None]:
        try:
            for presence in self._presences:
                await presence.tell(session)
            yield
        except anyio.get_cancelled_exc_class():
            await self._leave(session)
            raise
        finally:
            # Before the session is closed: with it goes the lock, and another process may begin.
            for presence in self._presences:
                presence.untell()

    async def _leave(self, session: Connection) -> None:
        """Tell of the stop before anything else does: what the process is at may take longer than it is let live."""
        with anyio.move_on_after(LEAVE_TIMEOUT_S, shield=True), suppress(ServiceError), map_errors():
            for presence in self._presences:
                await presence.leave(session)

    def _hear(self, message: str) -> None:
        sender, _, queue = message.partition(" ")
        if sender != self._but_not_from:
            with suppress(KeyError):  # nobody here works on it
                self._wakes[queue].send_nowait(None)
