"""Carries out erasures: first in the file, then among the files beside it, so that a repeat finishes what was broken
off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anyio import to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.families.graph.api import erasing as a
from elf.families.graph.erased_files import remove_bulletins, remove_damaged, remove_sources
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.scope import actor_of, check_scope
from elf.families.graph.store.erasing import Erased, Erasure, erase
from elf.families.graph.store.layout import Layout


class Erasing:
    """Erases what operators ask for."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.ERASE: self.run}

    async def run(self, request: a.Erase, caller: Caller) -> a.Erased:
        """Erase what was asked for; what is not there is counted as nothing. Raises NoSuchOrchestrator."""
        await check_scope(self._files, request, caller)
        asked = Erasure(
            memory_ids=request.memory_ids or (),
            conversations=() if request.conversation_id is None else (request.conversation_id,),
            source_path=request.source_path,
            everything=request.everything is not None,
        )
        async with self._files.known(request.tenant_id, request.orchestrator_id) as place:
            erased, truncated = await erase_at(place, asked, actor=actor_of(caller))
        return a.Erased(erased=erased.counts, log_truncated=truncated)


async def erase_at(place: MemoryPlace, asked: Erasure, *, actor: str | None) -> tuple[Erased, bool]:
    """Erase from a memory; return what went, and whether nothing is left in the write-ahead log."""
    erased = await place.write(lambda change: erase(change, asked), actor=actor)
    beside = await to_thread.run_sync(_beside, place.layout, asked, erased)
    return replace(erased, counts={**erased.counts, **beside}), await place.file.truncate_log()


def _beside(layout: Layout, asked: Erasure, erased: Erased) -> dict[str, int]:
    """Remove what stands beside the file. Blocks."""
    paths = erased.source_paths | ({asked.source_path} if asked.source_path else frozenset())
    ids = erased.memory_ids | frozenset(asked.memory_ids)
    return {
        "files": remove_sources(layout, paths, everything=asked.everything) + remove_damaged(layout),
        "bulletins": remove_bulletins(layout, ids, everything=asked.everything, user=asked.user),
    }
