"""What operators send, and what they get back (beyond the audit)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.families.notes.api import fields as f
from elf.indexing.admin_operations import RebuildState

FORGET_BATCH: Final = 200
MAX_EXAMPLES: Final = 100


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

    state: RebuildState = Field(description="idle: there was none since the start.")
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
    given_up_count: int = Field(
        description="Differences of notes whose indexing was given up or discarded; they stay until it is retried."
    )


class DriftResponse(DriftCounts):
    examples: DriftExamples = Field(description="Some differences of each kind.")


class RepairRequest(Request):
    """Asks for nothing; the body may be left out."""


class RepairResponse(DriftCounts):
    """What was found and given to the indexers."""

    jobs: int = Field(description="Jobs made of it, one a note.")
    open_jobs: int = Field(description="Those still to be done when the answer was given.")


class ForgetRequest(Request):
    """Whose notes: all of a project, private ones of every agent among them; with an agent, those that it wrote."""

    tenant_id: f.TenantIdGiven
    project_id: f.ProjectIdGiven
    agent_id: f.AgentIdGiven | None = None


class ForgetCount(Response):
    notes: int = Field(description="How many notes there are that are not deleted yet.")


class ForgetResponse(Response):
    """What one request did; whoever wants all to be forgotten asks until there are no more."""

    deleted: int = Field(description=f"How many notes were deleted now, at most {FORGET_BATCH}.")
    more: bool = Field(description="Whether there may be more of them.")


class OverviewRequest(Request):
    """Asks for nothing."""


class Overview(Response):
    """Figures over all tenants, read when they are asked for."""

    version: str = Field(description="The version of ELF that answers.")
    embedding_version: str = Field(description="The embedding model: provider, model and dimensions.")
    notes: int = Field(description="Notes that can be found.")
    deleted_notes: int = Field(description="Deleted and expired notes that were not purged yet.")
    notes_to_embed: int = Field(description="Of the notes, those that wait for vectors of this model.")
    waiting_jobs: int = Field(description="Jobs that wait, of all queues of all families.")
    failed_jobs: int = Field(description="Of them, those that failed before and will be tried again.")
    oldest_job_seconds: float | None = Field(description="How long the oldest waits; null when none does.")
    disk_bytes: dict[str, int] = Field(
        description="What the data takes on disk, by postgres, index and model; what is elsewhere is left out."
    )
