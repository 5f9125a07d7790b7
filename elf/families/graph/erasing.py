"""Carries out erasures: of the rows of a memory, and of the files beside it that tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from anyio import to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.db.database import Database
from elf.erasing import erasing, named
from elf.families.graph.api import erasing as a
from elf.families.graph.erased_files import remove_files
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.scope import actor_of, check_scope
from elf.families.graph.store.erasing import Erased, Erasure, doomed_by, erase
from elf.offers import Subject


class Erasing:
    """Erases what operators ask for."""

    def __init__(self, database: Database, files: OpenFiles) -> None:
        self._database = database
        self._files = files

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.ERASE: self.run}

    async def run(self, request: a.Erase, caller: Caller) -> a.Erased:
        """Erase what was asked for; what is not there is counted as nothing.

        While everything of an orchestrator is erased, nobody writes what is that agent's. Raises NoSuchOrchestrator,
        and Conflict while somebody else erases the agent.
        """
        await check_scope(self._files, request, caller)
        asked = Erasure(
            memory_ids=request.memory_ids or (),
            conversations=() if request.conversation_id is None else (request.conversation_id,),
            source_path=request.source_path,
            everything=request.everything is not None,
        )
        async with AsyncExitStack() as stack:
            # It is open before its owner is locked: nobody opens it afterwards.
            place = await stack.enter_async_context(
                self._files.known(request.tenant_id, request.orchestrator_id)
            )
            if asked.everything:
                agent = Subject(tenant_id=request.tenant_id, agent_id=request.orchestrator_id)
                await stack.enter_async_context(erasing(self._database, named(agent)))
            erased, truncated = await erase_at(place, asked, actor=actor_of(caller))
        return a.Erased(erased=erased.counts, log_truncated=truncated)


async def erase_at(place: MemoryPlace, asked: Erasure, *, actor: str | None) -> tuple[Erased, bool]:
    """Erase from a memory; return what went, and whether nothing is left in the write-ahead log.

    The files go first: as long as the memories are there it is known which files are theirs, so that a repeat finishes
    what was broken off. They are looked for again afterwards, as more may have come in between.
    """
    doomed = await place.read(lambda snapshot: doomed_by(snapshot, asked))
    before = await to_thread.run_sync(remove_files, place.layout, asked, doomed)
    erased = await place.write(lambda change: erase(change, asked), actor=actor, adds=False)
    after = await to_thread.run_sync(remove_files, place.layout, asked, erased.doomed)
    beside = {kind: count + after[kind] for kind, count in before.items()}
    return replace(erased, counts={**erased.counts, **beside}), await place.file.truncate_log()
