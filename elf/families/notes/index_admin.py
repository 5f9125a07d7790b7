"""What operators ask of the index: a rebuild, how it goes, how far the index has drifted, and a repair of that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from elf.families.notes import fields as f
from elf.families.notes.requests import Request, Response
from elf.indexing.drift import Comparison, IndexDrift
from elf.indexing.rebuild import RebuildReport
from elf.indexing.rebuild_runs import RebuildRuns, State
from elf.indexing.reconcile import Difference

MAX_EXAMPLES = 100


class RebuildRequest(Request):
    """Asks for nothing; the body may be left out."""


class RebuildResponse(Response):
    """What a rebuild did."""

    rebuilt_count: int = Field(description="Points written.")
    missing_vector_count: int = Field(
        description="Live notes that wait for the configured model with some of their text; the indexers mend them."
    )
    error_count: int = Field(description="Points that the index refused.")
    removed_count: int = Field(description="Points deleted, being no text of live notes.")


class RebuildProgressRequest(Request):
    """Asks for nothing."""


class RebuildProgress(Response):
    """The rebuild of this process that runs, or ended last."""

    state: State = Field(description="idle: there was none since the start.")
    done: int = Field(default=0, description="Points written so far.")
    total: int = Field(default=0, description="Points there are to write.")
    started_at: datetime | None = Field(default=None, description="When it began.")
    finished_at: datetime | None = Field(default=None, description="When it ended; null while it runs.")
    report: RebuildResponse | None = Field(default=None, description="What it did, once it ended well.")
    last_error: str | None = Field(default=None, description="Why it failed, if it did.")


class DriftRequest(Request):
    """How many examples of each kind to name."""

    examples: Annotated[int, Field(ge=0, le=MAX_EXAMPLES)] = Field(
        default=10, description="Most examples of each kind.", examples=[10]
    )


class DriftExample(Response):
    """One chunk of a note, or a point that says it is one."""

    chunk_id: UUID = Field(description="The chunk, whose id is that of its point.")
    note_id: f.NoteId


class DriftExamples(Response):
    """Some differences of each kind."""

    missing: list[DriftExample] = Field(description="Live chunks without a point or without their vector.")
    stale: list[DriftExample] = Field(description="Points older than their note.")
    orphaned: list[DriftExample] = Field(description="Points that are no chunks of live notes.")


class DriftCounts(Response):
    """Differences between Postgres and the index, in points."""

    missing_count: int = Field(description="Live chunks without a point or without their vector.")
    stale_count: int = Field(description="Points older than their note.")
    orphaned_count: int = Field(description="Points that are no chunks of live notes.")
    moving_count: int = Field(
        description="Differences of notes with an open indexing job, which will be gone by themselves."
    )


class DriftResponse(DriftCounts):
    examples: DriftExamples = Field(description="Some differences of each kind.")


class RepairRequest(Request):
    """Asks for nothing; the body may be left out."""


class RepairResponse(DriftCounts):
    """What was found and given to the indexers."""

    jobs: int = Field(description="Jobs made of it, one a note.")
    open_jobs: int = Field(description="Those still to be done when the answer was given.")


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
