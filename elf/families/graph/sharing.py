"""Carries out what operators decide of users' memories: whether other users are told of one."""

from __future__ import annotations

from collections.abc import Mapping

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.families.graph.api import sharing as a
from elf.families.graph.memory_listing import GotMemory
from elf.families.graph.model import MemoryNode
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.recall.grants import Grants, tell_denied
from elf.families.graph.scope import actor_of, check_scope
from elf.families.graph.store.nodes import need_memory, share
from elf.families.graph.store.statements import Change


class Sharing:
    """Shares memories, and takes that back."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.SHARE: self.run}

    async def run(self, request: a.Share, caller: Caller) -> GotMemory:
        """Say whether other users are told of a memory.

        Raises NoSuchOrchestrator, NoSuchMemory, and ScopeDenied for one whose file is granted no longer.
        """
        await check_scope(self._files, request, caller)
        async with self._files.known(request.tenant_id, request.orchestrator_id) as place:
            grants = Grants(place.is_granted)

            def change(change: Change) -> MemoryNode:
                grants.need(need_memory(change, request.memory_id).memory)
                return share(change, request.memory_id, shared=request.shared)

            try:
                shared = await place.write(change, actor=actor_of(caller))
            finally:
                await tell_denied(place, grants.denied)
        return GotMemory(memory=shared)
