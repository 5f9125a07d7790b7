"""What operators ask of the index: a rebuild, how it goes, how far the index has drifted, and a repair of that."""

from __future__ import annotations

from collections.abc import Sequence

from elf.families.notes.admin_requests import (
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
from elf.indexing.drift import Comparison, IndexDrift
from elf.indexing.rebuild import RebuildReport
from elf.indexing.rebuild_runs import RebuildRuns
from elf.indexing.reconcile import Difference


class IndexAdmin:
    """The operations of operators on the index."""

    def __init__(self, runs: RebuildRuns, drift: IndexDrift) -> None:
        self._runs = runs
        self._drift = drift

    async def rebuild(self, request: RebuildRequest) -> RebuildResponse:
        """Rebuild the index, even when the client leaves. Raises InvalidRequest when a rebuild runs already."""
        return _report(await self._runs.ask())

    async def progress(self, request: RebuildProgressRequest) -> RebuildProgress:
        """Say how far the rebuild is."""
        run = self._runs.latest
        if run is None:
            return RebuildProgress(state="idle")
        return RebuildProgress(
            state=run.state,
            done=run.tally.done,
            total=max(run.tally.total, run.tally.done),  # notes may be written meanwhile
            started_at=run.started_at,
            finished_at=run.finished_at,
            report=None if run.report is None else _report(run.report),
            last_error=None if run.failure is None else run.failure.message,
        )

    async def drift(self, request: DriftRequest) -> DriftResponse:
        """Compare the index with Postgres."""
        found = await self._drift.look(most_examples=request.examples)
        examples = DriftExamples(
            missing=_examples(found.examples.get("missing", ())),
            stale=_examples(found.examples.get("stale", ())),
            orphaned=_examples(found.examples.get("orphaned", ())),
        )
        return DriftResponse(**_counts(found), examples=examples)

    async def repair(self, request: RepairRequest) -> RepairResponse:
        """Compare the index with Postgres and mend what differs."""
        repair = await self._drift.repair()
        return RepairResponse(**_counts(repair.found), jobs=repair.jobs, open_jobs=repair.open_jobs)


def _report(report: RebuildReport) -> RebuildResponse:
    return RebuildResponse(
        rebuilt_count=report.rebuilt_count,
        missing_vector_count=report.missing_vector_count,
        error_count=report.error_count,
        removed_count=report.removed_count,
    )


def _counts(found: Comparison) -> dict[str, int]:
    kinds = {f"{kind}_count": found.counts[kind] for kind in ("missing", "stale", "orphaned")}
    return kinds | {"moving_count": found.moving}


def _examples(differences: Sequence[Difference]) -> list[DriftExample]:
    return [DriftExample(chunk_id=one.chunk_id, note_id=one.subject_id) for one in differences]
