"""What operators ask of the index: a rebuild, how it goes, how far the index has drifted, and a repair of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from elf.families.notes.api.admin_requests import (
    DriftExample,
    DriftExamples,
    DriftRequest,
    DriftResponse,
    RebuildProgress,
    RebuildProgressRequest,
    RebuildRequest,
    RebuildResponse,
    RepairRequest,
    RepairResponse,
)
from elf.indexing.indexed import IndexedCorpus
from elf.indexing.reconcile import KINDS, Difference


class IndexAdmin:
    """The operations of operators on the index."""

    def __init__(self, corpus: IndexedCorpus) -> None:
        self._runs = corpus.runs
        self._drift = corpus.drift

    async def rebuild(self, request: RebuildRequest) -> RebuildResponse:
        """Rebuild the index, even when the client leaves. Raises InvalidRequest when a rebuild runs already."""
        return RebuildResponse(**asdict(await self._runs.ask()))

    async def progress(self, request: RebuildProgressRequest) -> RebuildProgress:
        """Say how far the rebuild is."""
        return RebuildProgress(**self._runs.progress())

    async def drift(self, request: DriftRequest) -> DriftResponse:
        """Compare the index with Postgres."""
        found = await self._drift.look(most_examples=request.examples)
        examples = {kind: _examples(found.examples.get(kind, ())) for kind in KINDS}
        return DriftResponse(**found.counted(), examples=DriftExamples(**examples))

    async def repair(self, request: RepairRequest) -> RepairResponse:
        """Compare the index with Postgres and mend what differs."""
        repair = await self._drift.repair()
        return RepairResponse(**repair.found.counted(), jobs=repair.jobs, open_jobs=repair.open_jobs)


def _examples(differences: Sequence[Difference]) -> list[DriftExample]:
    return [DriftExample(chunk_id=one.chunk_id, note_id=one.subject_id) for one in differences]
