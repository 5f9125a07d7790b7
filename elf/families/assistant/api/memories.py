"""Memories one by one: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound, ScopeDenied, ServiceError
from elf.families.assistant import model as m
from elf.families.assistant.api import fields as f

TAG: Final = "assistant: memories"
PATH: Final = "/v1/assistant/memories"


class AddMemory(f.OfUser):
    """A memory to be kept as it is told. What is kept already, letter for letter, is not added again."""

    text: f.TextGiven
    category: f.CategoryGiven
    type: f.MemoryTypeField = "semantic"
    steps_text: f.StepsGiven | None = None
    tags: f.TagsGiven = Field(default_factory=list)
    importance: f.Importance = m.DEFAULT_IMPORTANCE
    pinned: f.Pinned = False
    agent_id: f.AgentIdGiven | None = None
    run_id: f.RunIdGiven | None = None
    actor_id: f.ActorIdGiven | None = None
    thread_id: f.ThreadIdGiven | None = None
    role: f.RoleGiven | None = None
    evidence: f.EvidenceGiven = Field(default_factory=list)


class OneMemory(f.OfUser):
    """Which memory."""

    memory_id: f.MemoryId


class Quote(Response):
    quote: str
    role: m.Role | None
    turn_id: str | None


class Memory(Response):
    """A memory of a user."""

    id: f.MemoryId
    tenant_id: f.TenantId
    user_id: f.UserId
    agent_id: str | None
    run_id: str | None
    actor_id: str | None
    thread_id: str | None
    role: m.Role | None
    type: f.MemoryTypeField
    category: str
    text: str
    steps_text: str | None
    tags: list[str]
    importance: f.Importance
    pinned: f.Pinned
    state: m.MemoryState = Field(description="soft_deleted: nobody is given it, until it is restored.")
    source: str = Field(description="What made it: manual, or the part of the service that did.")
    evidence: list[Quote]
    created_at: f.Moment
    updated_at: f.Moment
    last_accessed: f.Moment | None = Field(description="When it was last given to an agent.")
    hit_count: int = Field(description="How often it was given to an agent.")
    purge_at: f.Moment | None = Field(description="When a memory that is deleted goes for good.")


Warned = Annotated[
    list[str],
    Field(description="What the text lacks of one that an assistant writes, such as TOO_LONG or PRONOUN."),
]
ReasonCode = Annotated[
    Literal["SIMILARITY_UNCHECKED"] | None,
    Field(description="SIMILARITY_UNCHECKED: the embedding model was away, so that it is compared later."),
]


class AddedMemory(Response):
    """What became of a memory to be kept: ADD, or NONE when it was known."""

    result: Literal["ADD", "NONE"]
    memory: Memory
    warnings: Warned
    reason_code: ReasonCode
    degraded: f.Degraded


class UpdateMemory(OneMemory):
    """What is to be said otherwise of a memory; what is left out stays."""

    text: f.TextGiven | None = None
    category: f.CategoryGiven | None = None
    steps_text: f.StepsGiven | None = None
    tags: f.TagsGiven | None = None
    importance: f.Importance | None = None
    pinned: f.Pinned | None = None


class UpdatedMemory(Response):
    """What became of a memory to be changed: UPDATE, or NONE when it was so already."""

    result: Literal["UPDATE", "NONE"]
    memory: Memory
    warnings: Warned
    reason_code: ReasonCode
    degraded: f.Degraded


class PinMemory(OneMemory):
    """Which memory is to stay, or may go again."""

    pinned: f.Pinned = True


class DeleteMemory(OneMemory):
    """Which memory is to go."""

    hard: bool = Field(default=False, description="Whether it goes for good at once, and cannot be restored.")


class DeletedMemory(Response):
    """What became of a memory to be deleted: DELETE, or NONE when it was so already."""

    id: f.MemoryId
    result: Literal["DELETE", "NONE"]
    purge_at: f.Moment | None = Field(description="Until when it can be restored; null: it is gone.")


class RestoredMemory(Response):
    """What became of a memory to be brought back: RESTORE, or NONE when it was there."""

    result: Literal["RESTORE", "NONE"]
    memory: Memory


class ListMemories(f.OfUser):
    """Which memories, newest first."""

    state: m.MemoryState = "active"
    category: f.CategoryGiven | None = None
    type: f.MemoryTypeField | None = None
    thread_id: f.ThreadIdGiven | None = None
    agent_id: f.AgentIdGiven | None = None
    run_id: f.RunIdGiven | None = None
    actor_id: f.ActorIdGiven | None = None
    role: f.RoleGiven | None = None
    tag: f.Tag | None = None
    pinned: f.Pinned | None = None
    importance_min: f.ImportanceBound | None = None
    importance_max: f.ImportanceBound | None = None
    updated_after: f.MomentGiven | None = Field(default=None, description="Not that moment itself.")
    updated_before: f.MomentGiven | None = Field(default=None, description="Not that moment itself.")
    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class Memories(Response):
    items: list[Memory]
    next_cursor: f.NextCursor


def _one(
    name: str, method: Literal["GET", "POST", "PATCH", "DELETE"], path: str, summary: str, request: type[Request],
    response: type[Response],
    *errors: type[ServiceError],
) -> Operation:  # fmt: skip
    return Operation(
        name, method, f"{PATH}/{{memory_id}}{path}", summary, request, response,
        tag=TAG, text="any", errors=(NotFound, ScopeDenied, *errors),
    )  # fmt: skip


ADD: Final = Operation(
    "add_assistant_memory", "POST", PATH, "Add a memory", AddMemory, AddedMemory,
    tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip
GET: Final = _one("get_assistant_memory", "GET", "", "Read a memory", OneMemory, Memory)

LIST: Final = Operation(
    "list_assistant_memories", "GET", PATH, "List memories", ListMemories, Memories,
    tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip
UPDATE: Final = _one(
    "update_assistant_memory", "PATCH", "", "Change a memory", UpdateMemory, UpdatedMemory, Conflict
)
PIN: Final = _one("pin_assistant_memory", "POST", "/pin", "Pin a memory", PinMemory, UpdatedMemory, Conflict)
DELETE: Final = _one("delete_assistant_memory", "DELETE", "", "Delete a memory", DeleteMemory, DeletedMemory)
RESTORE: Final = _one(
    "restore_assistant_memory", "POST", "/restore", "Bring a deleted memory back", OneMemory, RestoredMemory
)

MEMORIES: Final[tuple[Operation, ...]] = (ADD, LIST, GET, UPDATE, PIN, DELETE, RESTORE)
