"""Carries out exports and imports of one orchestrator's memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from functools import partial
from typing import Final

from anyio import to_thread

from elf.api.caller import Caller
from elf.api.operation import Events, Handler, Operation
from elf.core.structs import read_value
from elf.families.graph.api import transferring as a
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.places import write_at
from elf.families.graph.recall.place import Place
from elf.families.graph.scope import actor_of, check_scope
from elf.families.graph.transfer.exporting import lines_of
from elf.families.graph.transfer.intake import Intake
from elf.families.graph.transfer.line import Line

AT_ONCE: Final = 200
ITEMS: Final = "$.items"


class TransferService:
    """`embedding_version` is that of the vectors to be made, and `ring` wakes whoever makes them."""

    def __init__(self, files: OpenFiles, *, embedding_version: str, ring: Callable[[], None]) -> None:
        self._files = files
        self._version = embedding_version
        self._ring = ring

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.EXPORT: self.export, a.IMPORT: self.take_in}

    async def export(self, request: a.Export, caller: Caller) -> Events:
        """Read all of a memory, as it is at one moment. Raises NoSuchOrchestrator where there is none."""
        await check_scope(self._files, request, caller)
        async with self._files.known(request.tenant_id, request.orchestrator_id):
            return self._exported(request)

    async def take_in(self, request: a.Import, caller: Caller) -> a.Imported:
        """Write lines, all or none; one that tells what is there already changes nothing."""
        await check_scope(self._files, request, caller)

        async def write(place: Place) -> int:
            folder = place.layout.memory
            intake = await to_thread.run_sync(
                lambda: Intake(_lines(request), request.orchestrator_id, folder, at=ITEMS)
            )
            return await place.write(
                lambda change: intake.write(change, embedding_version=self._version),
                actor=actor_of(caller),
                owners=intake.owners,
            )

        new = await write_at(self._files, request.tenant_id, request.orchestrator_id, write)
        self._ring()
        return a.Imported(new=new, known=len(request.items) - new)

    async def _exported(self, request: a.Export) -> Events:
        async with (
            self._files.known(request.tenant_id, request.orchestrator_id) as place,
            aclosing(lines_at(place)) as lines,
        ):
            async for line in lines:
                yield line


async def lines_at(
    place: MemoryPlace, user: str | None = None, conversations: Collection[str] = ()
) -> AsyncGenerator[Line]:
    """Yield the lines of a memory, or of what is a user's or from conversations of that user, all of one moment."""
    look = partial(lines_of, folder=place.layout.memory, user=user, conversations=conversations)
    async with aclosing(place.file.read_on(look, size=AT_ONCE)) as pages:
        async for page in pages:
            for line in page:
                yield line


def _lines(request: a.Import) -> list[Line]:
    return read_value([one.model_dump() for one in request.items], list[Line])
