"""What operators can ask of the index of any corpus, as data: a rebuild, how it goes, its drift, and a repair."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from elf.api.operation import Operation
from elf.identity.roles import AUDITOR

MAX_EXAMPLES: Final = 100
PATH: Final = "/v1/admin/index/{corpus}"
RebuildState: TypeAlias = Literal["idle", "running", "done", "failed"]


class OfCorpus(BaseModel):
    """Names a corpus, such as notes; the body may be left out."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    corpus: str = Field(max_length=64, description="Whose index it is.", examples=["notes"])


class CompareIndex(OfCorpus):
    """Names a corpus, and how many examples of each kind to give."""

    examples: int = Field(
        default=10, ge=0, le=MAX_EXAMPLES, description="Most examples of each kind.", examples=[10]
    )


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True)


class IndexRebuilt(_Said):
    """What a rebuild of an index did."""

    rebuilt_count: int = Field(description="Points written.")
    missing_vector_count: int = Field(
        description="Live subjects that wait for the configured model with some of their text; the indexers mend them."
    )
    error_count: int = Field(description="Points that the index refused.")
    removed_count: int = Field(description="Points deleted, being no text of live subjects.")


class IndexProgress(_Said):
    """The rebuild of this corpus and process that runs, or ended last."""

    state: RebuildState = Field(description="idle: there was none since the start.")
    done: int = Field(default=0, description="Points written so far.")
    total: int = Field(default=0, description="Points there are to write.")
    started_at: datetime | None = Field(default=None, description="When it began.")
    finished_at: datetime | None = Field(default=None, description="When it ended; null while it runs.")
    report: IndexRebuilt | None = Field(default=None, description="What it did, once it ended well.")
    last_error: str | None = Field(default=None, description="Why it failed, if it did.")


class IndexDifference(_Said):
    """One chunk of a subject, or a point that says it is one."""

    chunk_id: UUID = Field(description="The chunk, whose id is that of its point.")
    subject_id: UUID = Field(description="What it is cut from.")


class IndexDifferences(_Said):
    """Some differences of each kind."""

    missing: list[IndexDifference] = Field(description="Live chunks without a point or without their vector.")
    stale: list[IndexDifference] = Field(description="Points older than their subject.")
    orphaned: list[IndexDifference] = Field(description="Points that are no chunks of live subjects.")


class _Counts(_Said):
    missing_count: int = Field(description="Live chunks without a point or without their vector.")
    stale_count: int = Field(description="Points older than their subject.")
    orphaned_count: int = Field(description="Points that are no chunks of live subjects.")
    moving_count: int = Field(
        description="Differences of subjects with an open indexing job, which will be gone by themselves."
    )
    given_up_count: int = Field(
        description="Differences of subjects whose indexing was given up or discarded; they stay until it is retried."
    )


class IndexCompared(_Counts):
    """Differences between Postgres and an index, in points."""

    examples: IndexDifferences = Field(description="Some differences of each kind.")


class IndexRepaired(_Counts):
    """What was found in an index and given to the indexers."""

    jobs: int = Field(description="Jobs made of it, one a subject.")
    open_jobs: int = Field(description="Those still to be done when the answer was given.")


REBUILD_INDEX: Final = Operation(
    "rebuild_index", "POST", f"{PATH}/rebuild", "Write the index of a corpus anew from the vectors in Postgres",
    OfCorpus, IndexRebuilt, tag="index", counted=("rebuilt_count", "removed_count"),
)  # fmt: skip
INDEX_PROGRESS: Final = Operation(
    "index_progress", "GET", f"{PATH}/progress", "Say how far the rebuild of a corpus is",
    OfCorpus, IndexProgress, tag="index",
)  # fmt: skip
COMPARE_INDEX: Final = Operation(
    "compare_index", "GET", f"{PATH}/drift", "Compare the index of a corpus with Postgres",
    CompareIndex, IndexCompared, tag="index", role=AUDITOR,
)  # fmt: skip
REPAIR_INDEX: Final = Operation(
    "repair_index", "POST", f"{PATH}/repair", "Mend what differs between the index of a corpus and Postgres",
    OfCorpus, IndexRepaired, tag="index", counted=("jobs",),
)  # fmt: skip

INDEX_OPERATIONS: Final = (REBUILD_INDEX, INDEX_PROGRESS, COMPARE_INDEX, REPAIR_INDEX)
