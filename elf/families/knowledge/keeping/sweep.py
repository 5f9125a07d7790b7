"""The decay sweep: memories whose confidence has faded are marked as fading, and then expire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal, Self
from uuid import UUID

import structlog

from elf.api.caller import Caller
from elf.db.errors import retrying
from elf.families.knowledge.api import working as w
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import WORKER
from elf.outbox.chores import Due

FIRST: Final = UUID(int=0)
PAGE: Final = 500

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Swept:
    """How many memories of a kind were looked at, and how many came into which state."""

    checked: int = 0
    fading: int = 0
    recovered: int = 0
    expired: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


class DecaySweep:
    """Sweeps the facts and rules of a tenant page by page, each page a statement, while others read and write.

    What is done stays done: a sweep that is cut off is begun again, and finds nothing to do where it was.
    """

    def __init__(self, kit: Kit, *, page: int = PAGE) -> None:
        self._kit = kit
        self._page = page

    async def tenants(self) -> Sequence[str]:
        """Return who has memories that decay."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._kit.queries["decaying_tenants"])
        return [row["tenant_id"] for row in rows]

    async def run(self, due: Due) -> None:
        """Sweep a tenant, because it is due."""
        answer = _answer(*await self.sweep(due.subject, actor=WORKER))
        log.info("knowledge.swept", **answer.model_dump())

    async def on_request(self, request: w.AllTenants, caller: Caller) -> w.SweepAnswer:
        """Sweep one tenant, or all."""
        tenants = await self.tenants() if request.tenant_id is None else [request.tenant_id]
        facts, rules = Swept(), Swept()
        for tenant_id in tenants:
            of_facts, of_rules = await self.sweep(tenant_id, actor=caller.user or caller.client)
            facts, rules = facts + of_facts, rules + of_rules
        return _answer(facts, rules)

    async def sweep(self, tenant_id: str, *, actor: str | None) -> tuple[Swept, Swept]:
        """Return what became of the facts and of the rules of a tenant."""
        facts = await self._sweep("sweep_facts", tenant_id, actor)
        return facts, await self._sweep("sweep_rules", tenant_id, actor)

    async def _sweep(
        self, statement: Literal["sweep_facts", "sweep_rules"], tenant_id: str, actor: str | None
    ) -> Swept:
        swept, after, checked = Swept(), FIRST, self._page
        while checked == self._page:
            found, after = await retrying(lambda: self._next(statement, tenant_id, after, actor))  # noqa: B023
            swept, checked = swept + found, found.checked
        return swept

    async def _next(
        self, statement: str, tenant_id: str, after: UUID, actor: str | None
    ) -> tuple[Swept, UUID]:
        request_id = structlog.contextvars.get_contextvars().get("request_id")
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(
                self._kit.queries[statement], tenant_id, after, self._page, self._kit.now(), actor, request_id
            )
        assert row is not None, "it counts"
        found = Swept(row["checked"], row["fading"], row["recovered"], row["expired"])
        return found, row["last_id"] or after


def _answer(facts: Swept, rules: Swept) -> w.SweepAnswer:
    return w.SweepAnswer(
        facts_checked=facts.checked,
        facts_fading=facts.fading,
        facts_recovered=facts.recovered,
        facts_expired=facts.expired,
        rules_checked=rules.checked,
        rules_fading=rules.fading,
        rules_recovered=rules.recovered,
        rules_expired=rules.expired,
    )
