"""Carries out what operators decide of users' memories: whether other users are told of one."""

from __future__ import annotations

from collections.abc import Mapping

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.families.graph.api import sharing as a
from elf.families.graph.memory_listing import GotMemory
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.scope import actor_of, check_scope
from elf.families.graph.store.nodes import share


class Sharing:
    """Shares memories, and takes that back."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.SHARE: self.run}

    async def run(self, request: a.Share, caller: Caller) -> GotMemory:
        """Say whether other users are told of a memory. Raises NoSuchOrchestrator and NoSuchMemory."""
        await check_scope(self._files, request, caller)
        async with self._files.known(request.tenant_id, request.orchestrator_id) as place:
            shared = await place.write(
                lambda change: share(change, request.memory_id, shared=request.shared), actor=actor_of(caller)
            )
        return GotMemory(memory=shared)
