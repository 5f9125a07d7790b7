"""Tells operators which memories there are, and how each is, and warns of those that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.errors import ServiceError
from elf.families.graph.api import overseeing as a
from elf.families.graph.errors import FileUnusable, GraphDisabled, NoSuchOrchestrator
from elf.families.graph.homes import Home
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.paging import behind, next_cursor
from elf.families.graph.store.statements import OwnerKey


class Overseeing:
    """Opens no memory: what this process knows of each is told."""

    def __init__(self, orchestrators: Orchestrators, files: OpenFiles) -> None:
        self._orchestrators = orchestrators
        self._files = files

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.ORCHESTRATORS: self.list}

    def warnings(self) -> Sequence[str]:
        """Return what an operator has to know now."""
        count = len(self._files.broken())
        if not count:
            return []
        memories = "a memory" if count == 1 else f"{count} memories"
        return [
            f"{memories} of the graph cannot be used: GET /v1/admin/graph/orchestrators says which, and why"
        ]

    async def list(self, request: a.ListOrchestrators, caller: Caller) -> a.OrchestratorStates:
        """List the orchestrators that have a memory. Raises Unavailable."""
        last = behind(request, tuple[str, str])
        found = await self._orchestrators.with_memory(request.tenant_id, behind=last, limit=request.limit + 1)
        here, broken = await self._orchestrators.home(), self._files.broken()
        return a.OrchestratorStates(
            items=[self._told(one, here, broken.get(one.key)) for one in found[: request.limit]],
            next_cursor=next_cursor(request, found, lambda one: (one.key.tenant_id, one.key.orchestrator_id)),
        )

    def _told(self, one: Home, here: str, broken: FileUnusable | None) -> a.OrchestratorState:
        disabled = None if one.home != here else self._disabled(one.key) or broken
        return a.OrchestratorState(
            tenant_id=one.key.tenant_id,
            orchestrator_id=one.key.orchestrator_id,
            home=one.home,
            folder=one.folder,
            created_at=one.created_at,
            state=self._state(one, here, disabled),
            error_code=None if disabled is None else disabled.error_code,
            message=None if disabled is None else disabled.message,
        )

    def _disabled(self, key: OwnerKey) -> ServiceError | None:
        """Return why the config has an orchestrator disabled, or no longer knows it; None where it does."""
        try:
            self._orchestrators.configured(key)
        except (GraphDisabled, NoSuchOrchestrator) as error:
            return error
        return None

    def _state(self, one: Home, here: str, disabled: ServiceError | None) -> a.StateName:
        if one.home != here:
            return "elsewhere"
        if disabled is not None:
            return "disabled"
        return "open" if self._files.is_open(one.key) else "closed"
