"""Carries out recoveries: a damaged file is put aside, a lost one given up, and what was dropped is taken in again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio.to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.clock import Clock
from elf.families.graph.api import recovering as a
from elf.families.graph.api.ingesting import IngestError
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest.ingestion import IngestRules, home_of
from elf.families.graph.ingest.ledger import Ledger
from elf.families.graph.ingest.reading import FileReader
from elf.families.graph.ingest.rejection import Rejection
from elf.families.graph.ingest.retaking import Retaken, Retaking
from elf.families.graph.losses import Losses
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.ownership import ConversationOwners
from elf.families.graph.scope import actor_of, check_scope
from elf.families.graph.store.damage import Repaired
from elf.families.graph.store.statements import Change, OwnerKey


class Recovering:
    """Recovers what operators ask for; `ring` wakes whoever makes vectors."""

    def __init__(
        self,
        orchestrators: Orchestrators,
        files: OpenFiles,
        losses: Losses,
        extractor: TextExtractor,
        clock: Clock,
        rules: IngestRules,
        owners: ConversationOwners,
        *,
        ring: Callable[[], None],
    ) -> None:
        self._orchestrators = orchestrators
        self._files = files
        self._losses = losses
        self._extractor = extractor
        self._clock = clock
        self._rules = rules
        self._owners = owners
        self._ring = ring

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.RECOVER: self.run}

    async def run(self, request: a.Recover, caller: Caller) -> a.Recovered:
        """Put a damaged file aside and keep its sound rows, or give a lost one up, and take in what the memory does not
        know of the files that were processed.

        Asked again, it does what it was kept from. Raises NoSuchOrchestrator, Conflict for a memory that is kept in
        another root than the one that is given up, FileUnusable for what is wrong otherwise, and Unavailable when
        another process does not let go of the file.
        """
        await check_scope(self._files, request, caller)
        tenant_id, orchestrator_id = request.tenant_id, request.orchestrator_id
        if request.lost_home is not None:
            await self._orchestrators.take_over(OwnerKey(tenant_id, orchestrator_id), request.lost_home)
        repaired, was_lost = await self._files.recover(tenant_id, orchestrator_id)
        async with self._files.known(tenant_id, orchestrator_id) as place:
            if repaired.put_aside or was_lost:
                await place.write(
                    lambda change: _tell(change, repaired, was_lost=was_lost), actor=actor_of(caller)
                )
            retaken = await (await self._retaking(place)).run()
        await self._losses.look()
        self._ring()
        return a.Recovered(
            was_lost=was_lost,
            put_aside=list(repaired.put_aside),
            kept=dict(repaired.kept),
            lost=dict(repaired.lost),
            files=[_told(one) for one in retaken],
        )

    async def _retaking(self, place: MemoryPlace) -> Retaking:
        residence = await self._orchestrators.residence(place.key)
        home = await anyio.to_thread.run_sync(home_of, residence, str(place.layout.memory))
        return Retaking(
            home,
            Ledger(place.file, embedding_version=self._rules.embedding_version, owners=self._owners),
            FileReader(home, self._extractor, indexed_chars=self._rules.indexed_chars),
            self._clock,
            max_bytes=self._rules.max_bytes,
        )


def _tell(change: Change, repaired: Repaired, *, was_lost: bool) -> None:
    change.log(
        "memory.worker.recovered",
        orchestrator_id=change.key.orchestrator_id,
        put_aside=list(repaired.put_aside),
        kept=dict(repaired.kept),
        lost=dict(repaired.lost),
        was_lost=was_lost,
    )


def _told(one: Retaken) -> a.RetakenFile:
    return a.RetakenFile(
        sourcePath=one.source_path,
        memoriesWritten=one.memories_written,
        edgesWritten=one.edges_written,
        error=None if one.failure is None else _error(one.failure),
    )


def _error(failure: Rejection) -> IngestError:
    return IngestError(code=failure.code, message=failure.message, fields=list(failure.fields))
