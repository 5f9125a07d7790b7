"""What does the operations of operators on the index of any corpus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elf.api.operation import Answer, Handler, Operation, for_anyone
from elf.core.errors import NotFound
from elf.indexing.admin_operations import (
    COMPARE_INDEX,
    INDEX_PROGRESS,
    REBUILD_INDEX,
    REPAIR_INDEX,
    CompareIndex,
    IndexCompared,
    IndexDifference,
    IndexDifferences,
    IndexProgress,
    IndexRebuilt,
    IndexRepaired,
    OfCorpus,
)
from elf.indexing.drift import IndexDrift
from elf.indexing.rebuild_runs import RebuildRuns
from elf.indexing.reconcile import KINDS, Difference


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """What keeps the index of a corpus at the word of operators."""

    runs: RebuildRuns
    drift: IndexDrift


def index_handlers(kept: Mapping[str, KeptIndex]) -> dict[str, Handler]:
    """Return what does the operations for these corpora, by name. An unknown one is NotFound."""
    admin = _IndexAdmin(kept)
    done_by: dict[Operation, Callable[[Any], Awaitable[Answer]]] = {
        REBUILD_INDEX: admin.rebuild,
        INDEX_PROGRESS: admin.progress,
        COMPARE_INDEX: admin.compare,
        REPAIR_INDEX: admin.repair,
    }
    return {operation.name: for_anyone(handle) for operation, handle in done_by.items()}


class _IndexAdmin:
    def __init__(self, kept: Mapping[str, KeptIndex]) -> None:
        self._kept = kept

    async def rebuild(self, request: OfCorpus) -> IndexRebuilt:
        return IndexRebuilt(**asdict(await self._of(request).runs.ask()))

    async def progress(self, request: OfCorpus) -> IndexProgress:
        return IndexProgress(**self._of(request).runs.progress())

    async def compare(self, request: CompareIndex) -> IndexCompared:
        found = await self._of(request).drift.look(most_examples=request.examples)
        examples = {kind: _named(found.examples.get(kind, ())) for kind in KINDS}
        return IndexCompared(**found.counted(), examples=IndexDifferences(**examples))

    async def repair(self, request: OfCorpus) -> IndexRepaired:
        repair = await self._of(request).drift.repair()
        return IndexRepaired(**repair.found.counted(), jobs=repair.jobs, open_jobs=repair.open_jobs)

    def _of(self, request: OfCorpus) -> KeptIndex:
        kept = self._kept.get(request.corpus)
        if kept is None:
            known = ", ".join(sorted(self._kept))
            raise NotFound(f"there is no corpus {request.corpus!r}; there are {known}", fields=["$.corpus"])
        return kept


def _named(differences: Sequence[Difference]) -> list[IndexDifference]:
    return [IndexDifference(chunk_id=one.chunk_id, subject_id=one.subject_id) for one in differences]
