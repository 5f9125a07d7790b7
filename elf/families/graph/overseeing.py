"""Tells operators which memories there are, and how each is, and warns of those that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.errors import ServiceError
from elf.families.graph.api import overseeing as a
from elf.families.graph.errors import (
    FileUnusable,
    GraphDisabled,
    GraphRootLost,
    MemoryDbLost,
    NoSuchOrchestrator,
)
from elf.families.graph.homes import Home
from elf.families.graph.losses import Loss, Losses
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.paging import behind, next_cursor
from elf.families.graph.store.statements import OwnerKey


class Overseeing:
    """Opens no memory: what this process knows of each is told, and whether its file is there."""

    def __init__(self, orchestrators: Orchestrators, files: OpenFiles, losses: Losses) -> None:
        self._orchestrators = orchestrators
        self._files = files
        self._losses = losses

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.ORCHESTRATORS: self.list}

    def warnings(self) -> Sequence[str]:
        """Return what an operator has to know now."""
        unusable = self.unusable().values()
        lost = sum(isinstance(error, MemoryDbLost | GraphRootLost) for error in unusable)
        whose = "its" if lost == 1 else "their"
        counts = {"cannot be used": len(unusable) - lost, f"lost {whose} files": lost}
        return [
            f"{_memories(count)} of the graph {what}: GET /v1/admin/graph/orchestrators says which, and why"
            for what, count in counts.items()
            if count
        ]

    def unusable(self) -> Mapping[OwnerKey, FileUnusable]:
        """Return what is wrong with the memories of this host that cannot be used, as far as it is known."""
        return {**self._losses.known(), **self._files.broken()}

    async def list(self, request: a.ListOrchestrators, caller: Caller) -> a.OrchestratorStates:
        """List the orchestrators that have a memory. Raises Unavailable."""
        last = behind(request, tuple[str, str])
        found = await self._orchestrators.with_memory(request.tenant_id, behind=last, limit=request.limit + 1)
        shown = found[: request.limit]
        here, lost, broken = (
            await self._orchestrators.home(), await self._losses.among(shown), self._files.broken(),
        )  # fmt: skip
        return a.OrchestratorStates(
            items=[self._told(one, here, lost.get(one.key), broken.get(one.key)) for one in shown],
            next_cursor=next_cursor(request, found, lambda one: (one.key.tenant_id, one.key.orchestrator_id)),
        )

    def _told(
        self, one: Home, here: str, loss: Loss | None, broken: FileUnusable | None
    ) -> a.OrchestratorState:
        lost = None if loss is None else loss.error
        disabled = lost if one.home != here else self._disabled(one.key) or lost or broken
        return a.OrchestratorState(
            tenant_id=one.key.tenant_id,
            orchestrator_id=one.key.orchestrator_id,
            home=one.home,
            folder=one.folder,
            created_at=one.created_at,
            lost_at=one.lost_at if loss is None else loss.since,
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
        if disabled is not None:
            return "disabled"
        if one.home != here:
            return "elsewhere"
        return "open" if self._files.is_open(one.key) else "closed"


def _memories(count: int) -> str:
    return "a memory" if count == 1 else f"{count} memories"
