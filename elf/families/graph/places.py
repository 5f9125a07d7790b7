"""The memories of all orchestrators, as far as those who use them need to know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from elf.families.graph.recall.place import Folders, Place

T = TypeVar("T")


class Places(Protocol):
    """Opens the memory of an orchestrator for as long as it is used.

    Entering raises NoSuchOrchestrator, GraphDisabled where the config has it off, GraphLivesElsewhere for one on
    another host, FileUnusable for one that is broken, and Unavailable.
    """

    def using(self, tenant_id: str, orchestrator_id: str) -> AbstractAsyncContextManager[Place]:
        """Open a memory; one of an orchestrator that is new is made, where the config allows it."""
        ...

    def found(self, tenant_id: str, orchestrator_id: str) -> AbstractAsyncContextManager[Place]:
        """Open a memory that there is, or else, where the config allows one, a place in which nothing is."""
        ...

    def known(self, tenant_id: str, orchestrator_id: str) -> AbstractAsyncContextManager[Place]:
        """Open a memory that there is."""
        ...

    async def folders(self, tenant_id: str, orchestrator_id: str) -> Folders | None:
        """Return where the files of a memory are; None where there are none, or where they lead is not safe."""
        ...


async def write_at(
    places: Places, tenant_id: str, orchestrator_id: str, write: Callable[[Place], Awaitable[T]]
) -> T:
    """Write to a memory, and return what that returned.

    Of an orchestrator that has none, the memory is made only when it is known that the write succeeds: it is tried in
    an empty place before. Raises what the write does, and what entering `Places` does.
    """
    async with places.found(tenant_id, orchestrator_id) as place:
        written = await write(place)
        if place.is_there:
            return written
    async with places.using(tenant_id, orchestrator_id) as place:
        return await write(place)
