"""Keeps what waits for a receiver within bounds: of too many events, and of those that waited for too long, some go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.config.webhooks import Webhook
from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.family import Labels

LOOK_EVERY_S: Final = 5.0
REST_PER_LOOK: Final = 100
"""How many times as long as a look takes the next one waits at least: looks take a hundredth of the time."""
DROPPED_AT_ONCE: Final = 500
"""How many events one transaction removes."""

Bound = Literal["max_backlog", "max_backlog_age_s"]

log = structlog.get_logger()


class Backlog:
    """An actor that drops events of one webhook beyond its `max_backlog` and `max_backlog_age_s`.

    The oldest go first. An event that is being delivered is never dropped. Several processes may do so at once: they
    choose the same events.
    """

    def __init__(self, database: Database, queries: Queries, webhook: Webhook, clock: Clock) -> None:
        """`queries` are those of the outbox of the webhook."""
        self.name = f"webhook_{webhook.name}_backlog"
        self._database = database
        self._sql = queries
        self._webhook = webhook
        self._clock = clock
        self._dropped: Counter[Bound] = Counter({"max_backlog": 0, "max_backlog_age_s": 0})

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            began = anyio.current_time()
            try:
                await self.trim()
            except Unavailable as error:
                log.warning("webhook_backlog_not_read", webhook=self._webhook.name, error=error.message)
            await anyio.sleep(max(LOOK_EVERY_S, REST_PER_LOOK * (anyio.current_time() - began)))

    def dropped(self) -> Mapping[Labels, float]:
        """Return how many events this process has dropped, by webhook and bound."""
        return {(self._webhook.name, bound): float(events) for bound, events in self._dropped.items()}

    async def trim(self) -> Mapping[Bound, int]:
        """Drop what is beyond the bounds now; returns how many events each of them took. Raises Unavailable."""
        oldest = self._clock.now() - timedelta(seconds=self._webhook.max_backlog_age_s)
        took: dict[Bound, int] = {"max_backlog_age_s": await self._drop("max_backlog_age_s", before=oldest)}
        surplus = await self._waiting() - self._webhook.max_backlog
        took["max_backlog"] = await self._drop("max_backlog", most=surplus)
        for bound, events in took.items():
            if events:
                limit = getattr(self._webhook, bound)
                log.warning(
                    "webhook_events_dropped",
                    webhook=self._webhook.name,
                    events=events,
                    bound=bound,
                    limit=limit,
                )
        return took

    async def _waiting(self) -> int:
        async with self._database.connection() as connection:
            return int(await connection.fetchval(self._sql["count_open_events"]))

    async def _drop(self, bound: Bound, *, before: datetime | None = None, most: int | None = None) -> int:
        """Drop the oldest events, page by page: those that were written before a moment, so many at most."""
        dropped, page = 0, DROPPED_AT_ONCE
        while page == DROPPED_AT_ONCE and (most is None or dropped < most):
            limit = DROPPED_AT_ONCE if most is None else min(DROPPED_AT_ONCE, most - dropped)
            page = await retrying(partial(self._drop_page, before, limit))
            self._dropped[bound] += page
            dropped += page
        return dropped

    async def _drop_page(self, before: datetime | None, limit: int) -> int:
        async with self._database.connection() as connection:
            return int(await connection.fetchval(self._sql["drop_oldest"], before, limit))
