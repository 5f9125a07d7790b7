"""The work that knowledge needs from time to time, asked for now: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import WHOLE, Request, Response
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f
from elf.families.knowledge.api.writing import InTenant

TAG: Final = "knowledge: work"
MAX_ENTRIES: Final = 10_000_000


class AllTenants(Request):
    """Of one tenant, or of all."""

    tenant_id: f.TenantIdGiven | None = None


class RunConsolidation(InTenant):
    """The shards of one tenant."""


class RunCleanup(InTenant):
    max_entries: (
        Annotated[int, Field(ge=0, le=MAX_ENTRIES, description="How many episodes stay at most."), WHOLE]
        | None
    ) = Field(default=None, description="Null: as the config says.")


class CleanupAll(AllTenants):
    max_entries: Annotated[int, Field(ge=0, le=MAX_ENTRIES), WHOLE] | None = None


class _ConsolidationAnswer(Response):
    episodes_processed: int
    butlers_processed: int
    groups_consolidated: int
    facts_created: int
    facts_updated: int
    rules_created: int
    confirmations_made: int
    episodes_consolidated: int
    errors: list[str]
    remaining: int = Field(description="How many pending episodes are left.")


class ConsolidationAnswer(_ConsolidationAnswer):
    """What one batch of each shard of a tenant came to."""

    groups: dict[str, int] = Field(description="How many episodes of each agent were looked at.")


class TenantsConsolidationAnswer(_ConsolidationAnswer):
    """What one batch of each shard came to."""

    groups: dict[str, dict[str, int]] = Field(
        description="By tenant, how many episodes of each agent were looked at."
    )


class CleanupAnswer(Response):
    expired_deleted: int
    capacity_deleted: int
    remaining: int


class SweepAnswer(Response):
    """How many were looked at, and what changed."""

    facts_checked: int
    facts_fading: int
    facts_recovered: int
    facts_expired: int
    rules_checked: int
    rules_fading: int
    rules_recovered: int
    rules_expired: int


class Requeue(AllTenants):
    """Which dead letters are tried again: of a tenant, or this one, or all."""

    episode_id: UUID | None = None


class Requeued(Response):
    requeued: int


class Reembed(AllTenants):
    dry_run: bool = False


class ReembedAnswer(Response):
    """How many rows have a vector of another model, or none, and whether the work goes on."""

    embedding_version: str
    outdated: dict[str, int] = Field(description="By kind of memory.")
    running: bool


class Erase(Request):
    """What goes for good: one memory, one entity with its facts, or all of a tenant."""

    tenant_id: f.TenantIdGiven
    what: Literal["memory", "entity", "tenant"]
    memory_type: m.MemoryType | None = None
    id: UUID | None = None


class Erased(Response):
    erased: dict[str, int]


class Share(InTenant):
    """A memory from a user, to be seen by the other users of the tenant, or no longer."""

    memory_type: f.MemoryTypeField
    memory_id: f.MemoryId
    shared: bool


class Shared(Response):
    """Whom a memory is from, null where that is nobody, and whether other users see it."""

    memory_type: f.MemoryTypeField
    memory_id: f.MemoryId
    user_id: str | None
    shared: bool


class NoArguments(Request):
    """Nothing."""


class Schedule(Response):
    chore: str
    cron: str = Field(description="Empty: never.")
    timezone: str
    last_done: datetime | None
    next_due: datetime | None


class Schedules(Response):
    items: list[Schedule]


class DeadLetter(Response):
    episode_id: UUID
    tenant_id: str
    butler: str
    retry_count: int
    last_error: str | None
    created_at: datetime


class DeadLetters(Response):
    items: list[DeadLetter]
    next_cursor: f.NextCursor


class ListDeadLetters(Request):
    tenant_id: f.TenantIdGiven | None = None
    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


def _post(
    path: str, name: str, summary: str, request: type[Request], response: type[Response], **more: Any
) -> Operation:
    return Operation(name, "POST", path, summary, request, response, tag=TAG, text="any", **more)


RUN_CONSOLIDATION: Final = _post(
    "/v1/knowledge/consolidation/run", "run_consolidation", "Consolidate a batch of each agent's episodes",
    RunConsolidation, ConsolidationAnswer, is_slow=True,
)  # fmt: skip
RUN_CLEANUP: Final = _post(
    "/v1/knowledge/episodes/cleanup", "run_episode_cleanup", "Delete what is expired, or too much",
    RunCleanup, CleanupAnswer,
)  # fmt: skip
WORKING: Final = (RUN_CONSOLIDATION, RUN_CLEANUP)

ADMIN: Final = "/v1/admin/knowledge"
SWEPT: Final = (
    "facts_fading", "facts_recovered", "facts_expired", "rules_fading", "rules_recovered", "rules_expired",
)  # fmt: skip
SWEEP: Final = _post(
    f"{ADMIN}/decay_sweep", "decay_sweep", "Sweep now", AllTenants, SweepAnswer, counted=SWEPT
)
CONSOLIDATE_ALL: Final = _post(
    f"{ADMIN}/consolidation",
    "consolidate_all",
    "Consolidate now",
    AllTenants,
    TenantsConsolidationAnswer,
    is_slow=True,
    counted=("episodes_consolidated", "facts_created", "facts_updated", "rules_created"),
)
CLEAN_UP_ALL: Final = _post(
    f"{ADMIN}/episode_cleanup",
    "clean_up_all",
    "Clean up now",
    CleanupAll,
    CleanupAnswer,
    counted=("expired_deleted", "capacity_deleted"),
)
REQUEUE: Final = _post(
    f"{ADMIN}/requeue", "requeue_episodes", "Try dead letters again", Requeue, Requeued, counted=("requeued",)
)
REEMBED: Final = _post(f"{ADMIN}/reembed", "reembed_knowledge", "Have vectors made by the configured model", Reembed,
                       ReembedAnswer, counted=("outdated",))  # fmt: skip
ERASE: Final = _post(
    f"{ADMIN}/erase",
    "erase_knowledge",
    "Erase for good",
    Erase,
    Erased,
    errors=(NotFound, Conflict),
    counted=("erased",),
)
SHARE: Final = _post(
    f"{ADMIN}/share",
    "share_knowledge",
    "Have other users see what is from one",
    Share,
    Shared,
    errors=(NotFound,),
)
SCHEDULES: Final = Operation(
    "knowledge_schedules",
    "GET",
    f"{ADMIN}/schedules",
    "See what is due when",
    NoArguments,
    Schedules,
    tag=TAG,
)
DEAD_LETTERS: Final = Operation(
    "dead_letters", "GET", f"{ADMIN}/dead_letters", "List episodes that could not be consolidated", ListDeadLetters,
    DeadLetters, tag=TAG, text="any",
)  # fmt: skip
ADMIN_WORKING: Final = (
    SWEEP, CONSOLIDATE_ALL, CLEAN_UP_ALL, REQUEUE, REEMBED, ERASE, SHARE, SCHEDULES, DEAD_LETTERS,
)  # fmt: skip
