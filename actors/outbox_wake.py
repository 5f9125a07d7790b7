"""Wake-ups of the outbox: from this process to others, and from others to this one.

Both only save time: a lessor polls as well, so a lost wake-up costs one polling interval.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Channel
from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.db.notifications import listen, notify
from elf.outbox.leased import PRESENCE_LOCK

OUTBOX_CHANNEL = "elf_outbox"
RETRY_S = 1.0
# At most one NOTIFY in this time, in seconds: writers that come thick and fast share it.
ANNOUNCE_EVERY_S = 0.02

log = structlog.get_logger()


class OutboxBell:
    """Rung after each commit that left work: wakes the lessor here and, through the ringer, those elsewhere."""

    def __init__(self, wake: Channel[None], announce: Channel[None]) -> None:
        self._wake = wake
        self._announce = announce

    def ring(self) -> None:
        """Wake; never blocks. Rings that come faster than they are heard are one ring."""
        self._wake.send_nowait(None)
        self._announce.send_nowait(None)


class OutboxRinger:
    """Turns the rings of this process into NOTIFY, outside the writers' transactions.

    A NOTIFY inside them would make their commits queue for one lock of the whole database.
    """

    name = "outbox_ringer"

    def __init__(self, database: Database, announce: Channel[None], *, sender: str = "") -> None:
        self._database = database
        self._announce = announce
        self._sender = sender

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            await self._announce.receive()
            try:
                await notify(self._database, OUTBOX_CHANNEL, sender=self._sender)
            except Unavailable as error:
                log.warning("wake_up_not_sent", error=error.message)
            await anyio.sleep(ANNOUNCE_EVERY_S)


class OutboxListener:
    """Turns NOTIFY of other processes into wake-ups of this one, and shows them that this one works.

    What `but_not_from` sent is left out: whoever rang here has woken this process already.
    """

    name = "outbox_listener"

    def __init__(
        self, dsn: Callable[[], str], wake: Channel[None], *, but_not_from: str | None = None
    ) -> None:
        self._dsn = dsn
        self._wake = wake
        self._but_not_from = but_not_from

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            try:
                await listen(
                    self._dsn(),
                    OUTBOX_CHANNEL,
                    self._hear,
                    presence_lock=PRESENCE_LOCK,
                )
            except Unavailable as error:
                log.warning("not_listening", error=error.message)
                await anyio.sleep(RETRY_S)

    def _hear(self, sender: str) -> None:
        if sender != self._but_not_from:
            self._wake.send_nowait(None)
