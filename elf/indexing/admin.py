"""What does the operations of operators on the index of any corpus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
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
from elf.indexing.indexed import IndexedCorpus
from elf.indexing.reconcile import KINDS, Difference


def index_handlers(corpora: Sequence[IndexedCorpus]) -> dict[str, Handler]:
    """Return what does the operations for these corpora. An unknown one is NotFound."""
    admin = _IndexAdmin({one.corpus.name: one for one in corpora})
    done_by: dict[Operation, Callable[[Any], Awaitable[Answer]]] = {
        REBUILD_INDEX: admin.rebuild,
        INDEX_PROGRESS: admin.progress,
        COMPARE_INDEX: admin.compare,
        REPAIR_INDEX: admin.repair,
    }
    return {operation.name: for_anyone(handle) for operation, handle in done_by.items()}


class _IndexAdmin:
    def __init__(self, corpora: Mapping[str, IndexedCorpus]) -> None:
        self._corpora = corpora

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

    def _of(self, request: OfCorpus) -> IndexedCorpus:
        corpus = self._corpora.get(request.corpus)
        if corpus is None:
            known = ", ".join(sorted(self._corpora)) or "none"
            raise NotFound(f"there is no corpus {request.corpus!r}; there are {known}", fields=["$.corpus"])
        return corpus


def _named(differences: Sequence[Difference]) -> list[IndexDifference]:
    return [IndexDifference(chunk_id=one.chunk_id, subject_id=one.subject_id) for one in differences]
