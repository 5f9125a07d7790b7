"""Has the database know who is to be told: what changes asks there, in whatever process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.config.webhooks import Webhook
from elf.db.database import Database
from elf.db.queries import Queries

DEAD_LETTERS_FOR: Final = timedelta(days=30)

log = structlog.get_logger()


class Registration:
    """An actor that writes the webhooks of the config down when it starts, and takes away what it does not name."""

    name = "webhook_registration"

    def __init__(self, database: Database, queries: Queries, webhooks: Sequence[Webhook]) -> None:
        self._database = database
        self._sql = queries
        self._webhooks = webhooks

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        await self.write()
        task_status.started()
        await anyio.sleep_forever()

    async def write(self) -> None:
        """Write them down. Raises Unavailable."""
        async with self._database.transaction() as connection:
            for webhook in sorted(self._webhooks, key=lambda one: one.name):
                await connection.execute(
                    self._sql["keep_webhook"], webhook.name, webhook.families, webhook.events, webhook.tenants
                )
            gone = await connection.fetch(
                self._sql["drop_other_webhooks"], [webhook.name for webhook in self._webhooks]
            )
        if gone:
            log.info("webhooks.dropped", webhooks=[row["name"] for row in gone])


class LeftOver:
    """Does away with events that nobody is left to be told of, and with old dead letters."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def drop_unknown(self, now: datetime, limit: int) -> int:
        """Remove events of webhooks that there are no more; returns how many."""
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_unknown_events"], limit))

    async def drop_old(self, now: datetime, limit: int) -> int:
        """Remove dead letters that are older than 30 days; returns how many."""
        async with self._database.connection() as connection:
            return len(
                await connection.fetch(self._sql["drop_old_dead_letters"], now - DEAD_LETTERS_FOR, limit)
            )
