"""What operators can ask of the jobs of all queues, as data: a listing, counts, a retry, and a discard."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import GivenIdentifier, Request, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.identity.roles import AUDITOR
from elf.outbox.given_up import JobState

TAG: Final = "jobs"
PATH: Final = "/v1/admin/jobs"
MAX_PAGE: Final = 200
MAX_IDS: Final = 1000

Queue = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="The name of a queue.", examples=["indexing"])
]
TenantIdGiven = Annotated[
    GivenIdentifier, Field(description="Only jobs of this tenant. Left out: of all.", examples=["acme"])
]


class ListJobs(Request):
    """Which jobs: of a queue, in a state, of a tenant; each may be left out."""

    queue: Annotated[Queue, Field(description="Only jobs of this queue. Left out: of all.")] | None = None
    state: (
        Annotated[JobState, Field(description="Only jobs in this state.", examples=["GIVEN_UP"])] | None
    ) = None
    tenant_id: TenantIdGiven | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many at most, 1 to 200.")] = 50
    cursor: (
        Annotated[str, Field(min_length=1, max_length=512, description="Where the page before ended.")] | None
    ) = None


class Job(Response):
    """Work that is left in a queue, and what it is about; never the text of that."""

    queue: str = Field(description="The queue in which it is.")
    id: UUID = Field(description="By which it is retried or discarded.")
    state: JobState = Field(
        description="PENDING: it waits, or is at work; FAILED: it failed, and will be retried; GIVEN_UP: it will not "
        "be retried unless an operator decides so; DISCARDED: an operator decided that it will not be done."
    )
    tenant_id: str | None = Field(description="Whose it is; null where it is nobody's, or that is gone.")
    subject_kind: str = Field(description="What it is about, such as note, entry, fact or value.")
    subject_id: str | None = Field(description="The id of that.")
    attempts: int = Field(description="How often it failed.")
    process_deaths: int = Field(description="How many processes ended while it was all that they were at.")
    last_error: str | None = Field(description="Why it failed last, without credentials.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was leased, failed or decided on last.")


class Jobs(Response):
    """A page of jobs, newest first."""

    items: list[Job] = Field(description="The jobs of this page.")
    next_cursor: str | None = Field(description="Continues the listing; null on the last page.")


class CountJobs(Request):
    """Of whom."""

    tenant_id: TenantIdGiven | None = None


class QueueJobs(Response):
    """How many jobs there are in a queue, by state."""

    queue: str = Field(description="The queue.")
    pending: int = Field(description="Jobs that wait, or are at work.")
    failed: int = Field(description="Jobs that failed, and will be retried.")
    given_up: int = Field(description="Jobs that will not be retried unless an operator decides so.")
    discarded: int = Field(
        description="Jobs that an operator has discarded; they are removed after some time."
    )


class JobCounts(Response):
    """The queues by name."""

    items: list[QueueJobs] = Field(description="How many jobs there are in each queue.")


class _Decide(Request):
    """Names jobs of a queue."""

    queue: Queue
    ids: Annotated[
        list[Annotated[UUID, Field(strict=False, examples=["7c9e6679-7425-40de-944b-e07fc1f90ae7"])]],
        Field(min_length=1, max_length=MAX_IDS, description="The jobs, as the listing names them."),
    ]
    tenant_id: TenantIdGiven | None = None


class RetryJobs(_Decide):
    """Which jobs that were given up are tried again now."""


class DiscardJobs(_Decide):
    """Which jobs that were given up are not done at all."""


class JobsRetried(Response):
    """What came of a retry."""

    retried: int = Field(description="How many jobs are tried again, as if they had never failed.")
    not_given_up: list[UUID] = Field(
        description="Ids that stay as they are: of no job of the queue that was given up, or of one without its work."
    )


class JobsDiscarded(Response):
    """What came of a discard."""

    discarded: int = Field(description="How many jobs are not done.")
    not_given_up: list[UUID] = Field(
        description="Ids that stay as they are: of no job of the queue that was given up."
    )


LIST_JOBS: Final = Operation(
    "list_jobs", "GET", PATH, "List the jobs that wait, failed, were given up or discarded", ListJobs, Jobs,
    tag=TAG, text="any", errors=(NotFound, ScopeDenied),
)  # fmt: skip
COUNT_JOBS: Final = Operation(
    "count_jobs", "GET", f"{PATH}/counts", "Count the jobs of each queue by state", CountJobs, JobCounts,
    tag=TAG, text="any", errors=(ScopeDenied,), role=AUDITOR,
)  # fmt: skip
RETRY_JOBS: Final = Operation(
    "retry_jobs", "POST", f"{PATH}/retry", "Try jobs again that were given up", RetryJobs, JobsRetried,
    tag=TAG, text="any", errors=(NotFound, ScopeDenied), counted=("retried",),
)  # fmt: skip
DISCARD_JOBS: Final = Operation(
    "discard_jobs", "POST", f"{PATH}/discard", "Discard jobs that were given up", DiscardJobs, JobsDiscarded,
    tag=TAG, text="any", errors=(NotFound, ScopeDenied), counted=("discarded",),
)  # fmt: skip

JOB_OPERATIONS: Final = (LIST_JOBS, COUNT_JOBS, RETRY_JOBS, DISCARD_JOBS)
