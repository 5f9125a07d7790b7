"""The memories of all orchestrators, as far as those who use them need to know."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from elf.families.graph.recall.place import Folders, Place


class Places(Protocol):
    """Opens the memory of an orchestrator for as long as it is used.

    Entering raises NoSuchOrchestrator, GraphDisabled where the config has it off, GraphLivesElsewhere for one on
    another host, FileUnusable for one that is broken, and Unavailable.
    """

    def using(self, tenant_id: str, orchestrator_id: str) -> AbstractAsyncContextManager[Place]:
        """Open a memory; one of an orchestrator that is new is made, where the config allows it."""
        ...

    def known(self, tenant_id: str, orchestrator_id: str) -> AbstractAsyncContextManager[Place]:
        """Open a memory that there is."""
        ...

    async def folders(self, tenant_id: str, orchestrator_id: str) -> Folders | None:
        """Return where the files of a memory are; None where there are none, or where they lead is not safe."""
        ...
