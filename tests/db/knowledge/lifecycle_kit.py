"""The life of memories, around a knowledge family that a test has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.families.knowledge.api import lifecycle as lc
from elf.families.knowledge.api import rows
from elf.families.knowledge.api import working as w
from elf.families.knowledge.keeping.cleanup import EpisodeCleanup
from elf.families.knowledge.keeping.jobs import MemoryJobs
from elf.families.knowledge.keeping.sweep import DecaySweep
from elf.families.knowledge.lifecycle.marks import RuleMarks
from elf.families.knowledge.lifecycle.states import MemoryStates
from elf.families.knowledge.model import MemoryType
from elf.outbox.leases import Job
from tests.db.knowledge.conftest import ANA, TENANT, KnowledgeHouse

BOB: Final = Caller(user="bob")


class Life:
    """What changes memories after they were stored. Sweeps and cleanups go by pages of `page`."""

    def __init__(self, house: KnowledgeHouse, *, page: int = 500) -> None:
        self.house = house
        self.clock = house.clock
        self.states = MemoryStates(house.kit)
        self.marks = RuleMarks(house.kit)
        self.sweep = DecaySweep(house.kit, page=page)
        self.cleanup = EpisodeCleanup(house.kit, batch=page)
        self.jobs = MemoryJobs(house.kit)

    async def fact(self, content: str = "by the window", **more: Any) -> UUID:
        """Store a fact about a subject that is its content, so that it supersedes no other."""
        return (await self.house.fact(**({"subject": content, "content": content} | more))).id

    async def confirm(
        self, kind: MemoryType, id: UUID, caller: Caller = ANA, tenant_id: str = TENANT
    ) -> lc.Confirmed:
        request = lc.OneMemory(tenant_id=tenant_id, memory_type=kind, memory_id=id)
        return await self.states.confirm(request, caller)

    async def forget(
        self, kind: MemoryType, id: UUID, caller: Caller = ANA, tenant_id: str = TENANT
    ) -> lc.Forgotten:
        request = lc.OneMemory(tenant_id=tenant_id, memory_type=kind, memory_id=id)
        return await self.states.forget(request, caller)

    async def helpful(self, id: UUID, caller: Caller = ANA, times: int = 1, **more: Any) -> rows.Rule:
        request = lc.MarkHelpful(**({"tenant_id": TENANT, "rule_id": id} | more))
        for _ in range(times - 1):
            await self.marks.mark_helpful(request, caller)
        return await self.marks.mark_helpful(request, caller)

    async def harmful(self, id: UUID, caller: Caller = ANA, times: int = 1, **more: Any) -> rows.Rule:
        request = lc.MarkHarmful(**({"tenant_id": TENANT, "rule_id": id} | more))
        for _ in range(times - 1):
            await self.marks.mark_harmful(request, caller)
        return await self.marks.mark_harmful(request, caller)

    async def swept(self, tenant_id: str | None = TENANT) -> w.SweepAnswer:
        return await self.sweep.on_request(w.AllTenants(tenant_id=tenant_id), ANA)

    async def cleaned_up(self, max_entries: int | None = None, tenant_id: str = TENANT) -> w.CleanupAnswer:
        request = w.RunCleanup(tenant_id=tenant_id, max_entries=max_entries)
        return await self.cleanup.on_request(request, ANA)

    async def lease(self) -> list[Job]:
        return await self.house.kit.outbox.lease(100)

    async def do_jobs(self) -> None:
        """Do what is due until nothing is."""
        while jobs := await self.lease():
            await self.jobs.handle(jobs)

    async def open_jobs(self) -> list[tuple[str, str, UUID]]:
        found = await self.house.rows(
            "SELECT kind, memory_type, memory_id FROM knowledge_outbox WHERE status <> 'DONE' ORDER BY created_at"
        )
        return [(row["kind"], row["memory_type"], row["memory_id"]) for row in found]

    async def last_event(self, id: UUID) -> Mapping[str, Any]:
        found = await self.house.rows(
            "SELECT * FROM knowledge_events WHERE memory_id = $1 ORDER BY seq DESC LIMIT 1", id
        )
        return found[0]

    async def snapshot(self) -> list[list[Mapping[str, Any]]]:
        """All that is stored, to see that something changed nothing."""
        tables = ("episodes", "facts", "rules", "rule_applications", "events", "outbox")
        return [
            await self.house.rows(f"SELECT t.*::text FROM knowledge_{table} AS t ORDER BY 1")
            for table in tables
        ]


def path_of(error: InvalidRequest) -> str:
    (path,) = error.fields
    return path
