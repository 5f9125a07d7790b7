"""What operators see of webhooks, and can have sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import structlog

from elf.api.binding import refuse_bound_to_less
from elf.api.caller import Caller
from elf.api.cursor import sealed, unsealed
from elf.api.operation import Handler
from elf.core.errors import InvalidRequest, NotFound
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.webhooks import api as a

LISTING: Final = "webhook dead letters"

log = structlog.get_logger()


class WebhookService:
    """Carries out the operations. `ring` wakes what delivers to a webhook of this config, by its name."""

    def __init__(self, database: Database, queries: Queries, ring: Mapping[str, Callable[[], None]]) -> None:
        self._database = database
        self._sql = queries
        self._ring = ring

    def handlers(self) -> Mapping[str, Handler]:
        """Return what carries out each operation, by its name."""
        return {
            a.LIST.name: self.list_webhooks,
            a.DEAD_LETTERS.name: self.dead_letters,
            a.RETRY.name: self.retry,
        }

    async def list_webhooks(self, request: a.ListWebhooks, caller: Caller) -> a.Webhooks:
        """Return all webhooks, by name. Raises ScopeDenied for who is bound to less than a tenant."""
        refuse_bound_to_less(caller, "$.tenant_id")
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["list_webhooks"], request.tenant_id)
        return a.Webhooks(items=[a.Webhook(**dict(row)) for row in rows])

    async def dead_letters(self, request: a.ListDeadLetters, caller: Caller) -> a.DeadLetters:
        """Return a page of what a webhook never took, the oldest first. Raises NotFound, and ScopeDenied as above."""
        refuse_bound_to_less(caller, "$.tenant_id")
        of = LISTING, request.name, request.tenant_id
        async with self._database.connection() as connection:
            await self._known(connection, request.name)
            rows = await connection.fetch(
                self._sql["list_events_given_up"], request.name, _place(request.cursor, of), request.tenant_id,
                request.limit + 1,
            )  # fmt: skip
        page = rows[: request.limit]
        more = sealed(str(page[-1]["seq"]), *of) if len(rows) > request.limit else None
        items = [
            a.DeadLetter(**{name: value for name, value in row.items() if name != "seq"}) for row in page
        ]
        return a.DeadLetters(items=items, next_cursor=more)

    async def retry(self, request: a.Retry, caller: Caller) -> a.Retried:
        """Have sent now what was given up or put off; returns how much. Raises NotFound, and ScopeDenied as above."""
        refuse_bound_to_less(caller, "$.tenant_id")
        async with self._database.transaction() as connection:
            await self._known(connection, request.name)
            rows = await connection.fetch(
                self._sql["retry_events"], request.name, request.tenant_id, request.event_ids
            )
        log.info("webhooks.retried", webhook=request.name, events=len(rows), by=caller.client or None)
        if request.name in self._ring:
            self._ring[request.name]()
        return a.Retried(retried=len(rows))

    async def _known(self, connection: Connection, name: str) -> None:
        if not await connection.fetchval(self._sql["is_webhook"], name):
            raise NotFound(f"$.name: there is no webhook {name}", fields=["$.name"])


def _place(cursor: str | None, of: tuple[str, str, str | None]) -> int:
    if cursor is None:
        return -1
    try:
        return int(unsealed(cursor, *of))
    except ValueError as error:
        raise InvalidRequest(
            "$.cursor: it is not one that this listing returned", fields=["$.cursor"]
        ) from error
