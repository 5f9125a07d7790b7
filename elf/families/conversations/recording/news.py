"""Ids of recordings, told between processes: of which there is more, which ended, and which are to end.

They only save time: whoever waits for them looks from time to time as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.db.notifications import listen, notify_all

CHANNEL: Final = "elf_recordings"
RETRY_S: Final = 1.0

log = structlog.get_logger()


class RecordingNews:
    """Tells other processes; as an actor, it has each of `hearers` called with what they tell."""

    name = "recording_news"

    def __init__(self, database: Database, dsn: Callable[[], str], *, process_id: UUID) -> None:
        self._database = database
        self._dsn = dsn
        self._sender = process_id.hex
        self._next = anyio.Event()
        self.hearers: list[Callable[[UUID], object]] = []

    async def tell(self, ids: Sequence[UUID]) -> None:
        """Have every other process look at these recordings soon."""
        if not ids:
            return
        try:
            await notify_all(self._database, CHANNEL, [f"{self._sender} {id.hex}" for id in ids])
        except Unavailable as error:
            log.info("recordings_not_told", error=error.message)

    async def next(self) -> None:
        """Wait until something is heard."""
        await self._next.wait()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            try:
                await listen(self._dsn(), CHANNEL, self._hear)
            except Unavailable as error:
                log.warning("not_listening", error=error.message)
            await anyio.sleep(RETRY_S)

    def _hear(self, message: str) -> None:
        sender, _, text = message.partition(" ")
        if sender == self._sender:
            return
        try:
            id = UUID(hex=text)
        except ValueError:
            log.info("news_not_understood")
            return
        self._next.set()
        self._next = anyio.Event()
        for hear in self.hearers:
            hear(id)
