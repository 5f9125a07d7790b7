"""Carries out the operations that take memory along, take it in, and erase it."""

from __future__ import annotations

from elf.api.caller import Caller
from elf.api.operation import Events
from elf.core.errors import ScopeDenied
from elf.db.database import Database
from elf.erasing import erasing, named
from elf.families.assistant.access import Access, actor_of
from elf.families.assistant.api import subjects as a
from elf.families.assistant.subjects.erasing import Erasure
from elf.families.assistant.subjects.exporting import Export
from elf.families.assistant.subjects.intake import Intake
from elf.offers import Subject


class SubjectKeeping:
    """What operators do here is logged as all that they do is."""

    def __init__(
        self, database: Database, access: Access, export: Export, intake: Intake, erasure: Erasure
    ) -> None:
        self._database = database
        self._access = access
        self._export = export
        self._intake = intake
        self._erasure = erasure

    async def export_own(self, request: a.ExportOwn, caller: Caller) -> Events:
        """Read all that there is of a user. Raises ScopeDenied for an agent, which has some categories only."""
        if "agent_id" in caller.bound:
            path = "$.agent_id"
            raise ScopeDenied(f"{path}: an agent may not take all of a user's memory along", fields=[path])
        place = self._access.place(request.tenant_id, request.user_id, caller)
        return self._export.of(Subject(tenant_id=place.tenant_id, user=place.user_id))

    async def export(self, request: a.Export, caller: Caller) -> Events:
        """Read all that there is of a tenant, a user, or what an agent has kept."""
        return self._export.of(
            Subject(tenant_id=request.tenant_id, user=request.user_id, agent_id=request.agent_id)
        )

    async def take_in(self, request: a.Import, caller: Caller) -> a.Imported:
        """Take lines of an export in."""
        taken = await self._intake.take_in(
            request.tenant_id, request.user_id, request.items, actor=actor_of(caller)
        )
        return a.Imported(
            new=taken.new,
            known=taken.known,
            proposed=taken.proposed,
            left=taken.left,
            rejected=taken.rejected,
        )

    async def erase(self, request: a.Erase, caller: Caller) -> a.Erased:
        """Erase for good; returns the receipt."""
        subject = Subject(
            tenant_id=request.tenant_id,
            user=request.name if request.what == "user" else None,
            agent_id=request.name if request.what == "agent" else None,
        )
        async with erasing(self._database, named(subject)):
            return a.Erased(erased=dict(await self._erasure.erase(subject)))
